"""Files and folders that appear whole or not at all."""

from __future__ import annotations

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


def read_file(path: Path) -> bytes:
    """Read a whole file that a user names, or that is in a folder that a user names."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SgdxError(f"{path}: found something other than a file, expected a regular file")
        if status.st_size > MAX_FILE_BYTES:
            expected = f"expected at most {MAX_FILE_BYTES}"
            raise SgdxError(f"{path}: found {status.st_size} bytes, {expected}")
        return path.read_bytes()
    except OSError as error:
        raise SgdxError(f"{path}: cannot be read: {error}") from None


def read_input(path: Path) -> bytes:
    """Read a file of any size, or a pipe, that a user names on a command line."""
    try:
        if path.is_char_device() or path.is_block_device():
            raise SgdxError(f"{path}: found a device, expected a file")
        return path.read_bytes()
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror or error}") from None


def file_digest(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Give a path beside ``target`` to write to; what is written becomes ``target`` at the end."""
    # An error removes what was written and leaves the target as it was. Where the target is a link,
    # what it points to is replaced. Where two processes make one folder, the second gets an error.
    try:
        destination = target.resolve()
        if destination.exists() and not (destination.is_file() or destination.is_dir()):
            raise SgdxError(f"{target}: found no regular file there, expected one or none")
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


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with staged(target) as staging:
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
