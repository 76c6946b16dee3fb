"""Digests of programs: of the code of systems, and of modules that are asked."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from sgdx_dataset.io.files import file_digest


def source_files(file: Path) -> list[Path]:
    """A Python file and what it imports from its own folder, and what that imports from there.

    Packages in the folder count, with those of their modules that are imported.

    Args:
        file: The file. One that is not Python source imports nothing.
    """
    files, unread = {file}, [file]
    while unread:
        for imported in _imported_files(unread.pop()):
            if imported not in files and imported.is_file():
                files.add(imported)
                unread.append(imported)
    return [file, *sorted(files - {file})]


def _imported_files(file: Path) -> Iterator[Path]:
    """Files beside a Python file, and below, that its imports may name; not all of them exist."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # such as compiled code
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        module = (node.module if isinstance(node, ast.ImportFrom) else "") or ""
        for alias in node.names:
            parts = [part for part in f"{module}.{alias.name}".split(".") if part]
            folder = file.parent
            for part in parts:
                yield file.with_name(f"{part}.py")  # the file's package may be named in full
                yield folder / f"{part}.py"
                yield folder / part / "__init__.py"
                folder /= part


def module_file(name: str) -> Path | None:
    """The file that ``python -m NAME`` runs, without importing anything; None where there is none.

    Args:
        name: The module's name, such as ``package.module``.
    """
    spec, folders = None, None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, folders)
        if spec is None:
            return None
        folders = spec.submodule_search_locations
    if folders:  # a package, of which the module __main__ is run
        spec = PathFinder.find_spec("__main__", folders)
    return Path(spec.origin) if spec and spec.origin and Path(spec.origin).is_file() else None


def class_digest(system_class: type) -> str:
    """A digest of the code of a class: of its module's file and of ``source_files`` of it.

    The modules of the classes that it inherits from count too, but for Python's own and those of
    interfaces (``typing.Protocol``).

    Args:
        system_class: The class.

    Returns:
        The first 16 hexadecimal digits of a SHA-256.
    """
    modules = [
        base.__module__
        for base in system_class.__mro__
        if base.__module__.partition(".")[0] not in sys.stdlib_module_names
        and not vars(base).get("_is_protocol")
    ]
    paths = [getattr(sys.modules[module], "__file__", None) for module in modules]
    files = [file for path in paths if path for file in source_files(Path(path))]
    return files_digest(dict.fromkeys(files))


def files_digest(files: Iterable[Path]) -> str:
    """The first 16 hexadecimal digits of a SHA-256 of the contents of files, in order."""
    return hashlib.sha256("".join(map(file_digest, files)).encode()).hexdigest()[:16]
