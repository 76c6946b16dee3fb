"""Reading a release's files from a directory, a zip or a tar file, without trusting archives."""

from __future__ import annotations

import hashlib
import lzma
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from ..errors import SgdxError

# The release's largest file has 6 MB and all of its files have half a GB together. An archive that
# claims far more is an attack.
MAX_FILE_BYTES = 1 << 28
MAX_TOTAL_BYTES = 1 << 32

Read = Callable[[str], bytes]
# The errors that the standard library raises when it reads a damaged archive.
DAMAGE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)

_Member = TypeVar("_Member")
_SPLIT = "(?:train|dev|test)"
_WANTED = re.compile(
    rf"(?:[^/]+/)?((?:sgd_x/data/v\d+/)?{_SPLIT}/schema\.json"
    rf"|{_SPLIT}/dialogues_\d+\.json|backtrans/[a-z]+\.json)"
)
_FOLDERS = ("", "*/", "sgd_x/data/*/*/")


def read_directory(root: Path) -> tuple[str, set[str], Read]:
    """List a release directory.

    Returns:
        A fingerprint of the files' sizes and times, their paths relative to ``root``, and a
        function that reads one of them.
    """
    found = {
        file: path
        for folder in _FOLDERS
        for path in root.glob(f"{folder}*.json")
        if _WANTED.fullmatch(f"top/{(file := path.relative_to(root).as_posix())}")
    }
    stats = {file: path.stat() for file, path in sorted(found.items())}
    state = "".join(f"{file} {stat.st_size} {stat.st_mtime_ns}\n" for file, stat in stats.items())
    digest = hashlib.sha256(state.encode()).hexdigest()
    return digest, set(found), lambda file: found[file].read_bytes()


def read_archive(name: str, path: Path) -> tuple[str, set[str], Read]:
    """List a release archive.

    Args:
        name: What the user called the archive, for error messages.
        path: The archive: a zip, or a tar with any compression that Python reads.

    Returns:
        The archive's SHA-256, the release's files in it as relative paths, and a function that
        reads one of them.

    Raises:
        SgdxError: The file is no archive, is cut off, or is hostile: it has paths that lead out of
            it, links or devices, sizes beyond reason, or two copies of a file.
    """
    files, read = (_read_tar if tarfile.is_tarfile(path) else _read_zip)(name, path)
    return sha256(path), files, read


def sha256(path: Path) -> str:
    """A file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_zip(name: str, path: Path) -> tuple[set[str], Read]:
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        raise SgdxError(f"{name}: neither a directory nor a whole archive: {error}") from None
    members = _wanted(name, ((i.filename, i.file_size, i) for i in archive.infolist()))
    return set(members), lambda file: archive.read(members[file])


def _read_tar(name: str, path: Path) -> tuple[set[str], Read]:
    """Unpack the release's files to a temporary folder, as a tar has no index to read them by."""
    folder = tempfile.TemporaryDirectory(prefix="sgdx-")
    try:
        with tarfile.open(path) as archive:
            members = _wanted(name, ((m.name, m.size, m) for m in archive))
            for file, member in members.items():
                content = archive.extractfile(member) if member.isreg() else None
                if content is None:
                    raise SgdxError(f"{name}: {member.name}: is a link or device, expected a file")
                place = Path(folder.name) / file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content.read())
    except (tarfile.TarError, *DAMAGE) as error:
        raise SgdxError(f"{name}: not a whole archive: {error}") from None
    # The function refers to `folder`, so that the folder is removed when the function is.
    return set(members), lambda file: (Path(folder.name) / file).read_bytes()


def _wanted(name: str, members: Iterable[tuple[str, int, _Member]]) -> dict[str, _Member]:
    """The archive's members that are files of the release, by their path below the top folder."""
    wanted: dict[str, _Member] = {}
    total = 0
    for path, size, member in members:
        if path.startswith("/") or ".." in path.split("/"):
            raise SgdxError(f"{name}: {path}: leads out of the archive, expected paths inside it")
        match = _WANTED.fullmatch(path)
        if match is None:
            continue
        total += size
        if size > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
            limits = f"under {MAX_FILE_BYTES} bytes a file and {MAX_TOTAL_BYTES} in all"
            raise SgdxError(f"{name}: {path}: claims {size} bytes, expected {limits}")
        if match[1] in wanted:
            raise SgdxError(f"{name}: {path}: is there twice, expected one copy")
        wanted[match[1]] = member
    return wanted
