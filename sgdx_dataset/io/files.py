"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from glob import glob
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, BinaryIO

from .errors import SgdxError
from .json import pretty_json
from .secrets import has_keys, take_out_of_bytes

# The largest file of the release has 6 MB. What is far larger is no file of its kind, and would
# fill the memory.
MAX_FILE_BYTES = 1 << 26
_PART = 1 << 24  # bytes of a file in which keys are looked for at once
# The files that the running command reads, by device and number, so that none of them is written
# over; None outside of a command, where a caller may well replace what it read before.
_read: set[tuple[int, int]] | None = None
# What is read in a folder that is given, of a release or of tools.
_LAYOUT = ("schema.json", "dialogues_*.json", "tools.json", "cases.jsonl", "source.json")
# In a run folder, the list of what was written there: a line with SHA-256 and name for each.
_WRITTEN = ".sgdx-written"
JSON_MARK = b"{\n"  # with which an object begins as people read it; nothing else begins so
PARQUET_MARK = b"PAR1"  # with which a file of Parquet begins
HTML_MARK = b'<meta name="generator" content="sgdx">'  # of pages that sgdx has written
ANSWERS_BEGIN = b'{"key":"'  # each line of a file of answers, which are paid for


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
        return in_utf8(path.read_bytes(), path)
    except OSError as error:
        raise SgdxError(f"{path}: cannot be read: {error}") from None


def open_input(path: Path) -> BinaryIO:
    """Open a file of any size, or a pipe, that a user names on a command line."""
    try:
        if path.is_char_device() or path.is_block_device():
            raise SgdxError(f"{path}: found a device, expected a file")
        note_read(path)
        if path.is_fifo():
            from .progress import lines_of_progress

            with lines_of_progress(f"opening {path}"):
                return path.open("rb")
        return path.open("rb")
    except OSError as error:
        raise SgdxError(f"{path}: {error.strerror or error}") from None


def read_input(path: Path) -> bytes:
    """Read such a file whole."""
    with open_input(path) as file:
        try:
            return in_utf8(file.read(), path)
        except OSError as error:
            raise SgdxError(f"{path}: {error.strerror or error}") from None


def in_utf8(data: bytes, path: Path) -> bytes:
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
    """Keep a file from being written over by the command that reads it, or will."""
    if _read is not None:
        with suppress(OSError, ValueError):  # such as of a name that is too long
            status = path.stat()
            _read.add((status.st_dev, status.st_ino))


def note_named(value: Any, folder: Path = Path()) -> None:
    """Note the files that a value of options or of a yaml names, in words of commands too."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str | Path):
        text = str(value)
        for word in {text, *re.split(r"[\s=:,'\"]+", text)} - {""}:
            with suppress(OSError, ValueError):  # such as of a name that is too long
                found = glob(str(folder / word))  # noqa: PTH207 - a pattern may be absolute
                for place in map(Path, found or [str(folder / word)]):
                    inside = (place.glob(deep + name) for deep in ("", "*/") for name in _LAYOUT)
                    for file in chain(*inside) if place.is_dir() else [place]:
                        note_read(file)
    elif isinstance(value, list | tuple):
        for part in value:
            note_named(part, folder)


def _is_read(path: Path) -> bool:
    status = path.stat()
    return (status.st_dev, status.st_ino) in (_read or ())


def file_digest(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- writing


def check_output(
    target: Path, option: str = "", renews: bool = False, mark: bytes = b"", is_file: bool = False
) -> Path:
    """Where a file or folder would be written; ``SgdxError`` where something of others stands.

    Refused are a file that the command reads, unless it ``renews`` it; a file of answers; in a run
    folder what sgdx has not written there, or somebody has changed since; a link that leads out of
    it; and where there is a ``mark``, which all such files have near their beginning, one without.
    """
    shown = f"{option} {target}".strip()
    try:
        destination, run = target.resolve(), _run_of(target)
        found = ""
        if run and not destination.is_relative_to(run.resolve()):
            found = f"a link out of {run}"
        elif destination.is_dir():
            found = "a folder" if mark or is_file else ""
        elif destination.is_file():
            with destination.open("rb") as file:
                beginning = file.read(4096)
            if _is_read(destination) and not renews:
                found = "a file that the command reads"
            elif beginning.startswith(ANSWERS_BEGIN):
                found = "a file of answers"
            elif run and not renews and not is_written(target):
                found = "a file that sgdx has not written, or that was changed since"
            elif beginning and not (
                beginning.startswith(mark) if mark == JSON_MARK else mark in beginning
            ):
                found = "another file"
        elif destination.exists():
            found = "no regular file"
        if found:
            raise SgdxError(f"{shown}: found {found}, expected another name")
        parents = destination.parents or [destination]
        nearest = next(place for place in parents if place.exists())
        if not nearest.is_dir():
            raise SgdxError(f"{shown}: {nearest} is a file, expected a folder")
        if not os.access(nearest, os.W_OK):
            raise SgdxError(f"{shown}: found no right to write to {nearest}")
        return destination
    except OSError as error:
        raise SgdxError(f"{shown}: cannot be written: {error.strerror or error}") from None


@contextmanager
def staged(target: Path, renews: bool = False, mark: bytes = b"") -> Iterator[Path]:
    """Give a path beside ``target`` to write to; what is written becomes ``target`` at the end.

    All that sgdx writes is written so. An error leaves the target as it was. Where it is a link,
    what that points to is replaced. Of two processes that make one folder, the second gets an
    error. ``check_output`` says what is refused. Keys are taken out of texts.
    """
    destination = check_output(target, renews=renews, mark=mark)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(
            prefix=f".{destination.name[:40]}.",
            suffix=".incomplete",
            dir=destination.parent,
            ignore_cleanup_errors=True,
        ) as folder:
            staging = Path(folder) / destination.name
            yield staging
            for file in _files(staging):
                _take_keys_out(file)
            flush(staging)
            check_output(target, renews=renews, mark=mark)  # what has come meanwhile
            for file in _files(staging):
                _note_written(target / file.relative_to(staging), file)
            staging.replace(destination)
    except OSError as error:
        raise SgdxError(f"{target}: cannot be written: {error}") from None


def write_bytes(target: Path, content: bytes, renews: bool = False, mark: bytes = b"") -> None:
    """Write a file completely or not at all, as ``staged`` does."""
    check_output(target, renews=renews, mark=mark, is_file=True)
    with staged(target, renews, mark) as staging:
        staging.write_bytes(content)


def write_json(target: Path, value: Any, renews: bool = False) -> None:
    """Write indented JSON completely or not at all, for people and for programs."""
    write_bytes(target, pretty_json(value, 2), renews, JSON_MARK)


@contextmanager
def run_folder(folder: Path) -> Iterator[None]:
    """Keep a list in a folder of what is written into it, so that nothing else is ever replaced."""
    whole = folder.resolve()
    if whole in (Path(whole.anchor), Path.home().resolve()):  # all folders below would be of it
        raise SgdxError(f"{folder}: found the folder of all others, expected one of its own")
    is_new = not folder.exists()
    if _run_of(folder / _WRITTEN) is not None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _WRITTEN).touch()
    try:
        yield
    finally:
        written = folder / _WRITTEN
        if written.is_file() and not written.stat().st_size:
            written.unlink()
        if is_new:
            with suppress(OSError):  # a folder with files stays
                folder.rmdir()


def is_written(path: Path) -> bool:
    """Whether sgdx wrote a file into a run folder, and nobody has changed it since."""
    run = _run_of(path)
    if run is None or not path.is_file() or path.is_symlink():
        return False
    return _line_of(path, path, run) in _written_in(run)


def remove(path: Path) -> None:
    """Remove a file that sgdx wrote into a run folder; another one stays, and one that is read."""
    if is_written(path) and not _is_read(path):
        path.unlink()


def _run_of(path: Path) -> Path | None:
    """The outermost folder around a path that has a list of what was written."""
    around = [place for place in _plain(path).parents if (place / _WRITTEN).is_file()]
    return around[-1] if around else None


def _plain(path: Path) -> Path:
    """The whole path of a file, without `..`, whose links are not followed."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - which `absolute` leaves in


def _line_of(content: Path, target: Path, run: Path) -> str:
    """The line about a file in the list of a run folder, in which it has a name."""
    return f"{file_digest(content)} {_plain(target).relative_to(run).as_posix()}"


def _note_written(target: Path, content: Path) -> None:
    """Before a file gets its name, say in the list of its run folder that it is ours."""
    if run := _run_of(target):
        line = _line_of(content, target, run)
        if line not in _written_in(run):
            with (run / _WRITTEN).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")


def _written_in(run: Path) -> frozenset[str]:
    """The lines of a run folder's list."""
    status = (run / _WRITTEN).stat()
    return _lines(run / _WRITTEN, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1)
def _lines(file: Path, _size: int, _time: int) -> frozenset[str]:
    return frozenset(file.read_text(encoding="utf-8").splitlines())


def _files(path: Path) -> list[Path]:
    """A file, or all files of a folder."""
    return sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]


def _take_keys_out(file: Path) -> None:
    """Take keys out of a file that is text, some lines at a time."""

    def parts() -> Iterator[tuple[bytes, bytes]]:
        with file.open("rb") as source:
            is_binary = b"\0" in source.read(8192)
            source.seek(0)
            while not is_binary and (part := source.read(_PART) + source.readline()):
                yield part, take_out_of_bytes(part)

    if has_keys() and any(part != cleaned for part, cleaned in parts()):
        with TemporaryFile(dir=file.parent) as whole:
            whole.writelines(cleaned for _, cleaned in parts())
            whole.seek(0)
            with file.open("wb") as target:
                shutil.copyfileobj(whole, target)


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
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise SgdxError(
            f"{folder}: another run is writing here, expected a folder of its own; wait until it "
            "has ended, or give another --output"
        ) from None
    except OSError as error:
        raise SgdxError(f"{folder}: cannot be written: {error.strerror or error}") from None
    try:
        yield
    finally:
        (folder / ".lock").unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # a folder with files stays
            for parent in created:
                parent.rmdir()
