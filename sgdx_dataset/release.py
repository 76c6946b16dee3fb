"""Where the data comes from: a directory, an archive, the sample, or the pinned download."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .errors import SgdxError
from .schema import SPLITS, VARIANTS, Schema, check_aligned, read_schema

COMMIT = "e852981ae34990f4358979625854259302feaa78"  # 2023-08-07, the fixed converter's
URL = (
    f"https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/{COMMIT}.zip"
)
SAMPLE = Path(__file__).parent / "sample"
MAX_FILE_BYTES = 1 << 28  # the release's largest file has 6 MB: what is over 256 MB is an attack

_Member = TypeVar("_Member")
_WANTED = re.compile(
    r"(?:[^/]+/)?((?:sgd_x/data/v\d+/)?(?:train|dev|test)/schema\.json"
    r"|(?:train|dev|test)/dialogues_\d+\.json)"
)


@dataclass(frozen=True)
class Release:
    """A readable copy of the release.

    Attributes:
        name: What the user called it, for messages.
        fingerprint: Hex digest that changes when the copy does.
        files: The release's own relative paths, such as ``test/dialogues_001.json``.
    """

    name: str
    fingerprint: str
    files: frozenset[str]
    _read: Callable[[str], bytes] = field(repr=False)

    def read(self, path: str) -> bytes:
        """The bytes of one of ``files``; ``SgdxError`` where it is missing or unreadable."""
        if path not in self.files:
            raise SgdxError(f"{self.name}: has no {path}, expected the release's layout")
        try:
            return self._read(path)
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise SgdxError(f"{self.name}: {path}: cannot be read: {error}") from None

    def dialogue_files(self, split: str) -> list[str]:
        """Sorted paths of a split's dialogue files; a partial copy may have few or none."""
        return sorted(f for f in self.files if f.startswith(f"{SPLITS[split]}/dialogues_"))

    def schema(self, split: str, config: str) -> Schema:
        """A split's schema under a config, checked to line up with the original's."""
        schema = self._schema(self.schema_file(split, config))
        if config != "original":
            check_aligned(self.schema(split, "original"), schema)
        return schema

    def schema_file(self, split: str, config: str) -> str:
        """Where the release keeps a split's schema under a config."""
        folder = "" if config == "original" else f"sgd_x/data/{config}/"
        return f"{folder}{SPLITS[split]}/schema.json"

    def seen_services(self) -> set[str]:
        """Original names of the services in the original train split."""
        return set(self.schema("train", "original").service_names())

    def _schema(self, path: str) -> Schema:
        return read_schema(self.read(path), f"{self.name}: {path}")


def open_release(source: str | os.PathLike[str] | None = None) -> Release:
    """Open ``source``: a directory, an archive (.zip, .tar.*), ``"sample"``, or None.

    None means ``$SGDX_SOURCE`` and, where that is unset, the pinned archive, downloaded once.

    Raises:
        SgdxError: The source does not exist, is no archive, or lacks ``test/schema.json``.
    """
    source = source or os.environ.get("SGDX_SOURCE") or _download()
    path = SAMPLE if source == "sample" else Path(source)
    if path.is_dir():
        release = _open_directory(str(source), path)
    elif path.is_file():
        release = _open_archive(str(source), path)
    else:
        raise SgdxError(f"{source}: no such source, expected a directory, an archive or 'sample'")
    for split in SPLITS.values():
        release.read(f"{split}/schema.json")
    return release


def _download() -> str:
    from datasets import DownloadManager

    try:
        return str(DownloadManager(dataset_name="sgdx").download(URL))
    except (OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise SgdxError(f"{URL}: cannot be downloaded ({reason}); give a copy's path") from None


def _open_directory(name: str, root: Path) -> Release:
    parts = ["", *(f"sgd_x/data/{variant}/" for variant in VARIANTS)]
    folders = [f"{part}{split}" for part in parts for split in SPLITS.values()]
    found = {
        f"{folder}/{path.name}": path
        for folder in folders
        for path in (root / folder).glob("*.json")
        if _WANTED.fullmatch(f"{folder}/{path.name}")
    }
    stats = {file: path.stat() for file, path in sorted(found.items())}
    state = "".join(f"{file} {stat.st_size} {stat.st_mtime_ns}\n" for file, stat in stats.items())
    digest = hashlib.sha256(state.encode()).hexdigest()
    return Release(name, digest, frozenset(found), lambda file: found[file].read_bytes())


def _open_archive(name: str, path: Path) -> Release:
    if tarfile.is_tarfile(path):
        return _open_tar(name, path)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise SgdxError(f"{name}: neither a directory nor a whole archive: {error}") from None
    members = _wanted(name, ((i.filename, i.file_size, i) for i in archive.infolist()))
    return Release(name, _digest(path), frozenset(members), lambda f: archive.read(members[f]))


def _open_tar(name: str, path: Path) -> Release:
    """Unpack what the release has into a temporary folder: a tar cannot be read at random."""
    folder = tempfile.TemporaryDirectory(prefix="sgdx-")
    unpacked = Path(folder.name)
    try:
        with tarfile.open(path) as archive:
            members = _wanted(name, ((m.name, m.size, m) for m in archive))
            for file, member in members.items():
                content = archive.extractfile(member) if member.isreg() else None
                if content is None:
                    raise SgdxError(f"{name}: {member.name}: is a link or device, expected a file")
                (unpacked / file).parent.mkdir(parents=True, exist_ok=True)
                (unpacked / file).write_bytes(content.read())
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise SgdxError(f"{name}: not a whole archive: {error}") from None

    def read(file: str) -> bytes:
        return (Path(folder.name) / file).read_bytes()  # keeps the folder as long as the release

    return Release(name, _digest(path), frozenset(members), read)


def _wanted(name: str, members: Iterable[tuple[str, int, _Member]]) -> dict[str, _Member]:
    """Archive members that the release's layout knows, by their path below the top folder."""
    wanted: dict[str, _Member] = {}
    for path, size, member in members:
        if path.startswith("/") or ".." in path.split("/"):
            raise SgdxError(f"{name}: {path}: leads out of the archive, expected paths inside it")
        match = _WANTED.fullmatch(path)
        if match is None:
            continue
        if match[1] in wanted or size > MAX_FILE_BYTES:
            fault = "is there twice" if match[1] in wanted else f"claims {size} bytes"
            expected = f"expected one copy under {MAX_FILE_BYTES} bytes"
            raise SgdxError(f"{name}: {path} {fault}, {expected}")
        wanted[match[1]] = member
    return wanted


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
