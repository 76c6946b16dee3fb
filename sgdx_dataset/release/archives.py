"""Reading a release's files from a directory, a zip or a tar file, without trusting any of them."""

from __future__ import annotations

import hashlib
import mmap
import re
import stat
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ..io.errors import SgdxError
from ..io.files import MAX_FILE_BYTES, file_digest, read_file
from .tar_stream import TarStream, opened_tar

# All files of the release have half a GB together, in some 200 entries. An archive that claims far
# more is an attack.
MAX_TOTAL_BYTES = 1 << 31
MAX_ENTRIES = 10_000

Read = Callable[[str], bytes]

_SPLIT = "(?:train|dev|test)"
_RELEASE_FILE = re.compile(
    rf"([^/]+/)?((?:sgd_x/data/v[0-9]+/)?{_SPLIT}/schema\.json"
    rf"|{_SPLIT}/dialogues_[0-9]+\.json|backtrans/[a-z]+\.json)"
)
_FOLDERS = ("", "*/", "sgd_x/data/*/*/")


def read_directory(root: Path) -> tuple[str, set[str], Read]:
    """List a release directory."""
    path_of = {
        file: path
        for folder in _FOLDERS
        for path in root.glob(f"{folder}*.json")
        if _RELEASE_FILE.fullmatch(f"top/{(file := path.relative_to(root).as_posix())}")
    }
    digests = {file: digest(read_file(path)) for file, path in sorted(path_of.items())}
    state = "".join(f"{file} {sha256}\n" for file, sha256 in digests.items())

    def read(file: str) -> bytes:
        content = read_file(path_of[file])
        if digest(content) != digests[file]:
            raise SgdxError(f"{path_of[file]}: has changed since it was opened, try again")
        return content

    return digest(state.encode()), set(path_of), read


def read_archive(name: str, path: Path) -> tuple[str, set[str], Read]:
    """List a release archive."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        files, read = (_read_zip if is_zip else _read_tar)(name, path)
        return file_digest(path), files, read
    except SgdxError:
        raise
    except Exception as error:  # Damaged archives make the standard library raise of all kinds.
        raise SgdxError(f"{name}: neither a directory nor a whole archive: {error}") from None


def digest(content: bytes) -> str:
    """The SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


class _Listing:
    """The release's files among the entries of an archive that have been looked at so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: set[str] = set()
        self.entries = self.total = 0
        self.top: str | None = None  # the folder that has the release, if it is in one

    def file_of(self, path: str, size: int) -> str | None:
        """The release's path of an entry, or None for one that is no file of the release."""
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            raise SgdxError(f"{self.name}: has over {MAX_ENTRIES} entries, expected some hundreds")
        if path.startswith("/") or ".." in path.split("/"):
            expected = "leads out of the archive, expected paths inside it"
            raise SgdxError(f"{self.name}: {path}: {expected}")
        match = _RELEASE_FILE.fullmatch(
            "/".join(part for part in path.split("/") if part not in ("", "."))
        )
        if match is None:
            return None
        self.total += size
        if not 0 <= size <= MAX_FILE_BYTES or self.total > MAX_TOTAL_BYTES:
            limits = f"at most {MAX_FILE_BYTES} bytes a file and {MAX_TOTAL_BYTES} in all"
            raise SgdxError(f"{self.name}: {path}: claims {size} bytes, expected {limits}")
        top, file = match.groups(default="")
        if file in self.files:
            raise SgdxError(f"{self.name}: {path}: appears twice, expected one copy")
        if self.top not in (None, top):
            expected = f"expected all files in {self.top or 'no folder'}, as one release has them"
            raise SgdxError(f"{self.name}: {path}: is of another release, {expected}")
        self.top = top
        self.files.add(file)
        return file


def _read_zip(name: str, path: Path) -> tuple[set[str], Read]:
    archive = zipfile.ZipFile(path)
    with path.open("rb") as file:
        _check_entries(name, archive, file)
    listing = _Listing(name)
    members = {}
    for info in archive.infolist():
        if release_file := listing.file_of(info.filename, info.file_size):
            if stat.S_ISLNK(info.external_attr >> 16):
                raise SgdxError(f"{name}: {info.filename}: is a link, expected a file")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                method = f"compressed by method {info.compress_type}"
                raise SgdxError(f"{name}: {info.filename}: is {method}, expected deflate or none")
            members[release_file] = info

    def read(release_file: str) -> bytes:
        # Reading without a limit, or by other methods, unpacks more than an entry says it has.
        with archive.open(members[release_file]) as entry:
            return entry.read(members[release_file].file_size + 1)

    return set(members), read


def _check_entries(name: str, archive: zipfile.ZipFile, file: BinaryIO) -> None:
    """Raise ``SgdxError`` unless the entries that the directory lists fill the zip, end to end."""
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        _check_gap(name, end, info.header_offset)
        file.seek(info.header_offset)
        signature, name_length, extra_length = struct.unpack("<4s22xHH", file.read(30))
        encoding = "utf-8" if info.flag_bits & 0x800 else "cp437"
        header_name = file.read(name_length)
        if signature != b"PK\x03\x04" or header_name != info.orig_filename.encode(encoding):
            expected = f"found an entry {header_name.decode('ascii', 'replace')!r} in its place"
            raise SgdxError(f"{name}: {info.filename}: {expected}, expected what its list says")
        end = info.header_offset + 30 + name_length + extra_length + info.compress_size
    _check_gap(name, end, archive.start_dir)


def _check_gap(name: str, end: int, start: int) -> None:
    # An entry may have a record of its sizes behind it, of at most 24 bytes.
    if not 0 <= start - end <= 24:
        raise SgdxError(
            f"{name}: has {start - end} bytes at byte {end} that belong to no entry of its list,"
            " expected a zip whose entries follow each other"
        )


def _read_tar(name: str, path: Path) -> tuple[set[str], Read]:
    """Unpack the release's files to one nameless file, as a tar has no index to read them by."""
    spans: dict[str, tuple[int, int]] = {}
    listing = _Listing(name)
    unpacked = tempfile.TemporaryFile(prefix="sgdx-")  # noqa: SIM115  # the function below reads it
    limit = min(MAX_TOTAL_BYTES, max(MAX_FILE_BYTES, 250 * path.stat().st_size))
    with opened_tar(path) as file:
        stream = TarStream(file, limit)
        with tarfile.TarFile(fileobj=stream) as archive:  # type: ignore[arg-type]
            for member in archive:
                if release_file := listing.file_of(member.name, member.size):
                    if not member.isreg() or member.issparse():
                        raise SgdxError(f"{name}: {member.name}: is a link or device, not a file")
                    spans[release_file] = unpacked.tell(), member.size
                    content = archive.extractfile(member)
                    while content and (chunk := content.read(1 << 16)):
                        unpacked.write(chunk)
            stream.check_end()
    unpacked.flush()
    if not unpacked.tell():
        return set(), lambda release_file: b""
    data = mmap.mmap(unpacked.fileno(), 0, access=mmap.ACCESS_READ)

    def read(release_file: str) -> bytes:
        start, size = spans[release_file]
        return data[start : start + size]

    return set(spans), read
