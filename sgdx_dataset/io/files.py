"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import platform
import select
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .console import escape_controls
from .errors import SgdxError

# The largest file of the release has 6 MB. What is far larger is no file of its kind, and would
# fill the memory.
MAX_FILE_BYTES = 1 << 26
# Bytes. The unfinished write of a file with a longer name has a digest in its name instead.
_LONGEST_NAME = 100
# So long a pipe may take to have its first byte before somebody who waits is told.
_SECONDS_TO_BEGIN = 2


def read_file(path: Path) -> bytes:
    """Read a whole file that a user names, or that is in a folder that a user names.

    Raises:
        SgdxError: It cannot be read, has over ``MAX_FILE_BYTES``, or is no regular file: a pipe
            or a device may have no end.
    """
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
    """Read a file of any size, or a pipe, that a user names on a command line.

    Raises:
        SgdxError: It cannot be read, or is a device, which may have no end.
    """
    try:
        if path.is_char_device() or path.is_block_device():
            raise SgdxError(f"{path}: found a device, expected a file")
        return _read_pipe(path) if path.is_fifo() else path.read_bytes()
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror or error}") from None


def _read_pipe(path: Path) -> bytes:
    """Read a pipe to its end; where nobody begins to write, a line says what is waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # else opening would wait, in silence
    with os.fdopen(descriptor, "rb") as file:
        if not select.select([file], [], [], _SECONDS_TO_BEGIN)[0]:
            where = escape_controls(str(path))
            print(
                f"note: waiting for another program to write to the pipe {where}", file=sys.stderr
            )
            select.select([file], [], [])
        os.set_blocking(descriptor, True)
        return file.read()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Give a path beside ``target`` to write to; what is written becomes ``target`` at the end.

    The block writes a file, or makes a folder, at the path that it is given, whose name
    (``.NAME.HOST-PROCESS.incomplete``) no other process uses. Where the block raises an error, what
    it wrote is removed and ``target`` is as it was before. Where two processes make the same
    folder, the second to end gets an error. What killed runs have left is removed first. Missing
    parent folders are made. Where ``target`` is a link, what it points to is replaced, and the link
    stays.

    Raises:
        SgdxError: The file or folder cannot be written, or ``target`` is a device or a pipe.
    """
    try:
        destination = target.resolve()
        staging = destination.with_name(f"{_prefix(destination)}{os.getpid()}.incomplete")
        if destination.exists() and not (destination.is_file() or destination.is_dir()):
            raise SgdxError(f"{target}: found no regular file there, expected one or none")
        destination.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(destination)
    except OSError as error:
        raise _cannot_be_written(target, error) from None
    try:
        yield staging
        flush(staging)
        staging.replace(destination)
    except OSError as error:
        raise _cannot_be_written(target, error) from None
    finally:
        _remove(staging)


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file completely or not at all.

    Raises:
        SgdxError: The file cannot be written.
    """
    with staged(target) as staging:
        staging.write_bytes(content)


def _cannot_be_written(target: Path, error: OSError) -> SgdxError:
    return SgdxError(f"{target}: cannot be written: {error}")


def _prefix(target: Path) -> str:
    """What the names of unfinished writes of a file begin with, on this machine.

    File systems limit names to 255 bytes, so that a long name is represented by its digest.
    """
    name = target.name
    if len(name.encode(errors="replace")) > _LONGEST_NAME:
        name = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]
    return f".{name}.{platform.node()}-"


def flush(path: Path) -> None:
    """Have the disk hold a file, or all files of a folder, before the name says that it is there.

    Otherwise a machine that loses power may keep the name and lose the content.
    """
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        if os.name == "posix" or file.is_file():
            descriptor = os.open(file, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _remove_abandoned(target: Path) -> None:
    """Remove what earlier processes of this machine have left, if they run no more."""
    prefix = _prefix(target)
    for path in target.parent.iterdir():
        process = path.name.removeprefix(prefix).removesuffix(".incomplete")
        if path.name != f"{prefix}{process}.incomplete" or not process.isdecimal():
            continue
        if int(process) == os.getpid() or not _is_running(int(process)):
            _remove(path)


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless way to ask
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is another user's
        return True
    return True


def _remove(path: Path) -> None:
    """Remove a file or folder if it is there; what cannot be removed is left."""
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
