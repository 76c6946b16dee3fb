"""The file of answers: what each request was answered with, one JSON object a line.

Answers are only ever appended, so a run that is killed loses at most the line that it was writing,
and the next run asks only for what is missing.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sgdx_dataset import SgdxError

Json = dict[str, Any]
_BEGINNING = b'{"key":"'  # of each line


class AnswerFile:
    """Answers on disk, by the key of their request (``requests.request_key``)."""

    # Only the offset of each line is kept in memory. A new file without answers is removed.

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[str, int] = {}
        self._is_new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._is_new and not path.is_file():
                raise SgdxError(f"{path}: found no regular file, expected a file of answers")
            self._file = path.open("a+b")
        except OSError as error:
            raise SgdxError(f"{path}: cannot be opened: {error.strerror}") from None
        try:
            self._read_offsets()
        except BaseException:
            self._file.close()
            raise

    def _read_offsets(self) -> None:
        self._file.seek(0)
        offset = 0
        for number, line in enumerate(self._file, 1):
            try:
                answer = json.loads(line)
                if "body" not in answer:
                    raise KeyError("body")
                self._offsets.setdefault(answer["key"], offset)
            except (ValueError, KeyError, TypeError, RecursionError):
                # A line of ours that was being written when the run was killed.
                if not line.endswith(b"\n") and line.startswith(_BEGINNING[: len(line)]):
                    self._file.truncate(offset)
                    return
                raise SgdxError(
                    f"{self._path}:{number}: found no answer, expected an object with key and body;"
                    " remove the line to have it asked again"
                ) from None
            if not line.endswith(b"\n"):
                self._file.write(b"\n")
            offset += len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._is_new and not self._offsets:
            self._path.unlink(missing_ok=True)

    def __contains__(self, key: str) -> bool:
        return key in self._offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def get(self, key: str) -> Json | None:
        """The line of an answer: ``key``, ``custom_id``, ``at`` and ``body``; None without one.

        Where it is known, ``seconds`` says how long the answer took.
        """
        if key not in self._offsets:
            return None
        self._file.seek(self._offsets[key])
        answer: Json = json.loads(self._file.readline())
        return answer

    def add(self, key: str, custom_id: str, body: Any, seconds: float | None = None) -> None:
        """Keep an answer, unless the key has one."""
        if key in self._offsets:
            return
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"key": key, "custom_id": custom_id, "at": at, "body": body}
        if seconds is not None:
            line["seconds"] = round(seconds, 3)
        # As ASCII, since a model's text may hold lone surrogates, which UTF-8 cannot encode.
        written = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        offset = self._file.seek(0, 2)
        try:
            self._file.write(written)
            self._file.flush()
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(offset)
            raise SgdxError(f"{self._path}: cannot be written: {error.strerror}") from None
        self._offsets[key] = offset
