"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from .errors import SgdxError

# The largest file of the release has 6 MB. What is far larger is no file of its kind, and would
# fill the memory.
MAX_FILE_BYTES = 1 << 26
# The files that the running command has read, by device and number, so that none of them is written
# over; None outside of a command, where a caller may well replace what it read before.
_read: set[tuple[int, int]] | None = None


def read_file(path: Path) -> bytes:
    """Read a whole file that a user names, or that is in a folder that a user names."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SgdxError(f"{path}: found something other than a file, expected a regular file")
        if status.st_size > MAX_FILE_BYTES:
            expected = f"expected at most {MAX_FILE_BYTES}"
            raise SgdxError(f"{path}: found {status.st_size} bytes, {expected}")
        note_read(path)
        return _in_utf8(path.read_bytes(), path)
    except OSError as error:
        raise SgdxError(f"{path}: cannot be read: {error}") from None


def read_input(path: Path) -> bytes:
    """Read a file of any size, or a pipe, that a user names on a command line."""
    try:
        if path.is_char_device() or path.is_block_device():
            raise SgdxError(f"{path}: found a device, expected a file")
        note_read(path)
        return _in_utf8(path.read_bytes(), path)
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror or error}") from None


def _in_utf8(data: bytes, path: Path) -> bytes:
    """What a file has, in UTF-8 where a byte order mark says that it is UTF-8 or UTF-16.

    Windows' shells and editors write such marks.
    """
    marks = {
        codecs.BOM_UTF8: "utf-8-sig",
        codecs.BOM_UTF16_LE: "utf-16",
        codecs.BOM_UTF16_BE: "utf-16",
    }
    for mark, encoding in marks.items():
        if data.startswith(mark):
            try:
                return data.decode(encoding).encode()
            except ValueError as error:
                raise SgdxError(f"{path}: found a byte order mark, and no text: {error}") from None
    return data


@contextmanager
def inputs_are_kept() -> Iterator[None]:
    """While the context is open, a file that was read is not written over, whatever names it."""
    global _read
    before, _read = _read, set()
    try:
        yield
    finally:
        _read = before


def note_read(path: Path) -> None:
    """Keep a file from being written over by the command that reads it."""
    if _read is not None:
        status = path.stat()
        _read.add((status.st_dev, status.st_ino))


def file_digest(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staged(target: Path, renews: bool = False) -> Iterator[Path]:
    """Give a path beside ``target`` to write to; what is written becomes ``target`` at the end."""
    # An error removes what was written and leaves the target as it was. Where the target is a link,
    # what it points to is replaced. Where two processes make one folder, the second gets an error.
    # A file that the command has read is refused, unless it renews a file of its own.
    try:
        destination = target.resolve()
        if destination.exists() and not (destination.is_file() or destination.is_dir()):
            raise SgdxError(f"{target}: found no regular file there, expected one or none")
        if destination.is_file() and _read and not renews:
            status = destination.stat()
            if (status.st_dev, status.st_ino) in _read:
                raise SgdxError(
                    f"{target}: found a file that the command reads, expected another name"
                )
        destination.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(
            prefix=f".{destination.name[:40]}.",
            suffix=".incomplete",
            dir=destination.parent,
            ignore_cleanup_errors=True,
        ) as folder:
            staging = Path(folder) / destination.name
            yield staging
            flush(staging)
            staging.replace(destination)
    except OSError as error:
        raise SgdxError(f"{target}: cannot be written: {error}") from None


def write_bytes(target: Path, content: bytes, renews: bool = False) -> None:
    """Write a file completely or not at all, as ``staged`` does."""
    with staged(target, renews) as staging:
        staging.write_bytes(content)


def flush(path: Path) -> None:
    """Have the disk hold a file or folder whole before its name says that it is there."""
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        if os.name == "posix" or file.is_file():
            descriptor = os.open(file, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a folder for one run while the context is open; the first process of a run does so."""
    from filelock import FileLock, Timeout  # slow to import

    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise SgdxError(
            f"{folder}: another run is writing here, expected a folder of its own; wait until it "
            "has ended, or give another --output"
        ) from None
    try:
        yield
    finally:
        (folder / ".lock").unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # a folder with files stays
            for parent in created:
                parent.rmdir()
