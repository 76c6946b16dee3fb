"""The file of answers: what each request was answered with, one JSON object a line.

Answers are only ever appended, so a run that is killed loses at most the line that it was writing,
and the next run asks only for what is missing.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import ANSWERS_BEGIN, note_read
from sgdx_dataset.io.secrets import take_out_of

Json = dict[str, Any]


def _is_begun(line: bytes) -> bool:
    """Whether a line is the beginning of one of ours."""
    return not line.endswith(b"\n") and line.startswith(ANSWERS_BEGIN[: len(line)])


def keep_answers(path: Path, days: float) -> datetime | None:
    """Keep the answers of the last days, and drop the others; returns when the oldest was given.

    Lines that are none stay, as ``AnswerFile`` says what is wrong with them.
    """
    if not path.is_file():
        return None
    since, times, kept, dropped = datetime.now(UTC) - timedelta(days=days), [], [], False
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            at = datetime.fromisoformat(json.loads(line)["at"])
            is_old = at < since
        except (ValueError, KeyError, TypeError, RecursionError):
            kept.append(line)
            continue
        dropped |= is_old
        if not is_old:
            times.append(at)
            kept.append(line)
    if not kept:
        path.unlink()
    elif dropped:
        beside = path.with_name(f".{path.name}.incomplete")
        beside.write_bytes(b"".join(kept))
        beside.replace(path)
    return min(times, default=None)


class _Line(msgspec.Struct):
    """A line: the answer to a request, when it came and after how long."""

    key: str
    body: Any
    custom_id: str = ""
    at: str = ""
    seconds: float | None = None


class AnswerFile:
    """Answers on disk, by the key of their request (``requests.request_key``)."""

    # Only the offset of each line is kept in memory. There is no file before the first answer.

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[str, int] = {}
        self._end = 0  # of the whole lines; behind it is what a run was writing when it was killed
        self._file: BinaryIO | None = None
        # Of a program one thread keeps the answers, and another reads them for its next steps: both
        # move the one place in the file.
        self._lock = threading.Lock()
        if path.exists() and not path.is_file():
            raise SgdxError(f"{path}: found no regular file, expected a file of answers")
        note_read(path)
        if path.exists():
            self._open("r+b")
            try:
                self._read_offsets()
            except BaseException:
                self.__exit__()
                raise

    def _open(self, mode: Literal["r+b", "x+b"]) -> BinaryIO:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open(mode)
        except OSError as error:
            raise SgdxError(f"{self._path}: cannot be opened: {error.strerror}") from None
        note_read(self._path)
        return self._file

    def _read_offsets(self) -> None:
        assert self._file  # noqa: S101 - it was opened
        for number, line in enumerate(self._file, 1):
            try:
                answer = msgspec.convert(json.loads(line), _Line)
                self._offsets.setdefault(answer.key, self._end)
            except (ValueError, RecursionError) as error:
                is_json = not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
                if not is_json and _is_begun(line):
                    return  # a line of ours, whose place the next answer takes
                raise SgdxError(
                    f"{self._path}:{number}: found no answer, expected an object with key and body;"
                    " remove the line to have it asked again"
                ) from None
            self._end += len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def get(self, key: str) -> Json | None:
        """The line of an answer: ``key``, ``custom_id``, ``at`` and ``body``; None without one.

        Where it is known, ``seconds`` says how long the answer took.
        """
        if key not in self._offsets or self._file is None:
            return None
        with self._lock:
            self._file.seek(self._offsets[key])
            answer: Json = json.loads(self._file.readline())
        return answer

    def add(self, key: str, custom_id: str, body: Any, seconds: float | None = None) -> None:
        """Keep an answer, unless the key has one."""
        if key in self._offsets:
            return
        at = datetime.now(UTC).isoformat(timespec="seconds")
        # A server or a program may say a key back.
        line = {"key": key, "custom_id": custom_id, "at": at, "body": take_out_of(body)}
        if seconds is not None:
            line["seconds"] = round(seconds, 3)
        # As ASCII, since a model's text may hold lone surrogates, which UTF-8 cannot encode.
        written = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            file = self._file or self._open("x+b")
            try:
                file.truncate(self._end)
                file.seek(max(self._end - 1, 0))
                if self._end and file.read(1) != b"\n":  # a last line that is whole
                    self._end += file.write(b"\n")
                file.write(written)
                file.flush()
            except OSError as error:
                with suppress(OSError):
                    file.truncate(self._end)
                raise SgdxError(f"{self._path}: cannot be written: {error.strerror}") from None
            self._offsets[key] = self._end
            self._end += len(written)
