"""A program asked instead of a server: request lines in, answer lines out.

The program is started once, without a shell. It gets all requests on its standard input and may
answer them in any order, while it reads or at the end. An answer line has the ``custom_id`` of its
request, and either the ``state`` (or ``calls``, a list of name and arguments) or a chat completion,
as ``{"response": {"body": {...}}}``.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls

from .answer_file import AnswerFile
from .batch_files import read_answer_line
from .endpoint import MOST_BYTES
from .functions import Json
from .plan import Request
from .sending import RequestSource

HOST = "command:"  # stands before the command line where a program is the host of answers


def run_program(
    line: str,
    plan: RequestSource,
    answers: AnswerFile,
    advance: Callable[[], None] = lambda: None,
    line_of: Callable[[Any], Json] | None = None,
) -> Counter[str]:
    """Ask a program everything that has no answer yet, and keep what it answers."""
    arguments, name = split_command(line), public_name(line)
    keys: dict[str, str] = {}
    counts: Counter[str] = Counter()
    strange = b""
    with tempfile.TemporaryFile() as errors:
        try:
            program = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            raise SgdxError(f"--command {name}: cannot be started: {error.strerror}") from None
        assert program.stdin and program.stdout  # noqa: S101 - as they are pipes
        lines = _lines(plan, answers, keys, counts, line_of or request_line, advance)
        feeder = _Feeder(lines, program.stdin)
        feeder.start()
        try:
            for written in program.stdout:
                if _keep(written, keys, answers):
                    counts["answered"] += 1
                    advance()
                elif written.strip():
                    counts["strange_lines"] += 1
                    strange = strange or written
            status = program.wait()
        finally:
            program.kill()
            program.wait()
            feeder.join()
        if feeder.fault is not None:
            raise feeder.fault
        if status:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2] or "nothing"
            raise SgdxError(f"--command {name}: exit status {status}; it said: {last[:300]}")
    if strange:
        found = f"found the line {strange.decode(errors='replace').strip()[:200]!r}"
        form = "an object with the custom_id of a request and its state, calls or response"
        if not counts["answered"]:
            raise SgdxError(f"--command {name}: {found}, expected {form}")
        print(f"note: {escape_controls(found)}, expected {form}", file=sys.stderr)
    return counts


def public_name(line: str) -> str:
    """What files say of a command line: its programs without folders, and a digest of the rest.

    Keys and private folders may stand in a command line, and files are published.
    """
    program, *others = split_command(line)
    known = [program, *(word for word in others[:1] if Path(word).is_file())]
    names = " ".join(Path(word).name for word in known)
    return f"{names}@{hashlib.sha256(line.encode()).hexdigest()[:8]}"


def split_command(line: str) -> list[str]:
    """The words of a command line."""
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise SgdxError(f"--command: cannot be read: {error}") from None
    if not arguments:
        raise SgdxError("--command: found no program, expected one with its arguments")
    return arguments


def request_line(request: Request) -> Json:
    """The line that a program reads: the request's name, the frame row and the body for a model."""
    # The frame row has only what a tracker may see.
    frame = {name: value for name, value in request.rows[0].items() if name != "asked"}
    return {"custom_id": request.custom_id, "frame": frame, "body": request.bodies[0]}


def _lines(
    plan: RequestSource,
    answers: AnswerFile,
    keys: dict[str, str],
    counts: Counter[str],
    line_of: Callable[[Any], Json],
    advance: Callable[[], None],
) -> Iterator[Json]:
    """The lines of requests without an answer; adds the key of each answer to ``keys``."""
    asked = set()
    for request in plan.requests():
        key = request.keys[0]
        if key in asked:
            advance()
            continue
        asked.add(key)
        if key in answers:
            counts["cached"] += 1
            advance()
            continue
        keys[request.custom_id] = key
        counts["requests"] += 1
        yield line_of(request)


def _keep(written: bytes, keys: dict[str, str], answers: AnswerFile) -> bool:
    """Keep the answer in a line; False if the line has none, or none to a request of this run."""
    if len(written) > MOST_BYTES:
        return False
    name, body = read_answer_line(written)
    if not isinstance(name, str) or name not in keys or body is None or keys[name] in answers:
        return False
    answers.add(keys[name], name, body)
    return True


class _Feeder(threading.Thread):
    """Writes lines to a program while its answers are read."""

    # Without a thread of its own, program and reader could wait for each other with full pipes.

    def __init__(self, lines: Iterator[Json], to: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._lines = lines
        self._to = to
        self.fault: SgdxError | None = None

    def run(self) -> None:
        try:
            for line in self._lines:
                self._to.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        except SgdxError as error:
            self.fault = error
        except (OSError, ValueError):  # the program has ended, or closed its input
            pass
        finally:
            with suppress(OSError, ValueError):
                self._to.close()
