"""A project from where it is: a folder of tools, or all that a file ``sgdx.yaml`` asks for."""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import run_folder

from .data import Project
from .folder import CASES, TOOLS, read_cases, read_lock, read_project, with_variants, write_lock
from .importing import import_source, kind_of
from .keys import KeysFile, run_of
from .rewording import new_variants


def load(path: Path, limit: int | None = None) -> Project:
    """A folder of tools, or what a file asks for in other words than its tools have.

    Words by a model are asked for unless they are kept; ``SgdxError`` where answers are missing.
    """
    project = load_tools(path)
    made = reworded(project)
    if made is None:
        raise SgdxError(f"{path}: the model that rewords has not answered everything; try again")
    return made.first(limit)


def load_tools(path: Path | KeysFile, is_locked: bool = False) -> Project:
    """The same without the other words that a file asks for, or with the tools of its lock."""
    if isinstance(path, Path):
        if not path.is_file():
            return read_project(path)
        path = KeysFile(path)
    file, keys = path, path.keys
    project = import_tools(file) if not is_locked else _locked(file)
    with contextlib.chdir(file.path.parent):
        cases_file = Path(keys.cases or project.cases_file)
        cases = read_cases(cases_file, project.tools) if cases_file.exists() else ()
        if keys.steps > 1:
            cases = tuple(replace(c, steps=keys.steps) if c.steps == 1 else c for c in cases)
        rules, leaves_out = keys.rules or project.source.rules, file.gate.left_out == "allow"
        return with_variants(
            replace(
                project,
                path=str(file.path),
                source=replace(project.source, rules=rules, leaves_out=leaves_out),
                file=file,
                cases_file=file.path.parent / cases_file,
            ),
            [] if keys.variants else project.variants.values(),
            cases,
        )


def lock(path: Path) -> tuple[Path, int]:
    """Write the tools that a file names beside it; returns where, and how many there are."""
    project = import_tools(KeysFile(path))
    write_lock(lock_of(path), project.tools, project.source.servers)
    return lock_of(path), len(project.tools)


def lock_of(path: Path) -> Path:
    """Where the lock of a file stands: beside it, as sgdx.lock of sgdx.yaml."""
    return path.with_suffix(".lock")


def _locked(file: KeysFile) -> Project:
    return Project(str(file.path), read_lock(lock_of(file.path)), cases_file=Path(CASES))


def reworded(project: Project) -> Project | None:
    """A project in the words that its file asks for; None where answers of a model are missing.

    A folder is returned as it is.
    """
    words = project.file and project.file.keys.variants
    if not words:
        return project
    run = run_of(Path(project.path))
    with contextlib.chdir(project.folder), run_folder(run):
        made = new_variants(project, words, run / "words")
        return None if made is None else with_variants(project, made)


def import_tools(file: KeysFile) -> Project:
    """The tools of a file, without its cases; what is lost is said."""
    given = file.keys.source()
    sources = given.sources()
    with contextlib.chdir(file.path.parent):
        if len(sources) == 1 and (Path(sources[0]) / TOOLS).exists():
            return read_project(Path(sources[0]))
        for key in ("start", "env", "headers"):
            if getattr(given, key) and any(kind_of(source) != "server" for source in sources):
                raise file.fault("found no server, expected its command or URL", "tools", key)
        collection = import_source(given)
    collection.report_losses(None)
    tools, source = collection.tools, collection.source()
    return Project(str(file.path), tools, source=source, cases_file=Path(CASES))
