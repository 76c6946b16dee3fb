"""A program asked instead of a server: request lines in, answer lines out.

The program is started once, without a shell. It gets all requests on its standard input and may
answer them in any order, while it reads or at the end. An answer line has the ``custom_id`` of its
request, and either the ``state`` (or ``calls``, a list of name and arguments) or a chat completion,
as ``{"response": {"body": {...}}}``.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.secrets import split_command, take_out

from .answer_file import AnswerFile
from .calls import read_answer_line
from .requests import Request

MOST_BYTES = 10_000_000  # of a line
MOST_SHOWN = 10_000  # of a line that answers nothing
_MOMENT = 2.0  # seconds for the last lines of a program that has ended
_FORM = "an object with the custom_id of a request and its state, calls or response"


def public_name(line: str) -> str:
    """What files say of a command line: its programs without folders, and a digest of the rest.

    Keys and private folders may stand in a command line, and files are published.
    """
    program, *others = split_command(line)
    known = [program, *(word for word in others[:1] if Path(word).is_file())]
    names = " ".join(Path(word).name for word in known)
    return f"{names}@{hashlib.sha256(line.encode()).hexdigest()[:8]}"


def run_program(
    line: str,
    requests: Iterable[Request],
    answers: AnswerFile,
    counts: Counter[str],
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Ask a program all of these requests, and keep what it answers."""
    arguments, name = split_command(line), public_name(line)
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise SgdxError(f"--command {name}: cannot be started: {error.strerror}") from None
        program = _Program(process, answers, counts, advance)
        # Threads, as program and reader could wait for each other with full pipes.
        feeder = threading.Thread(target=program.feed, args=(requests,), daemon=True)
        reader = threading.Thread(target=program.read, daemon=True)
        feeder.start()
        reader.start()
        try:
            status = process.wait()
            reader.join(_MOMENT)  # longer where a child of the program holds its output open
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            reader.join(_MOMENT)  # what has a session of its own may hold the pipes open still
            feeder.join(_MOMENT)
        if program.fault:
            raise program.fault
        if status:
            errors.seek(max(errors.seek(0, os.SEEK_END) - 4096, 0))
            said = take_out(errors.read().decode(errors="replace"))
            last = said.strip().rpartition("\n")[2] or "nothing"
            raise SgdxError(f"--command {name}: exit status {status}; it said: {last[:300]}")
    if program.strange:
        line = take_out(program.strange[:MOST_SHOWN].decode(errors="replace"))
        found = f"found the line {line.strip()[:200]!r}"
        if not counts["answered"]:
            raise SgdxError(f"--command {name}: {found}, expected {_FORM}")
        print(f"note: {escape_controls(found)}, expected {_FORM}", file=sys.stderr)


@dataclass
class _Program:
    """A program that runs, what it was asked, and what it has answered."""

    process: subprocess.Popen[bytes]
    answers: AnswerFile
    counts: Counter[str]
    advance: Callable[[], None]
    keys: dict[str, str] = field(default_factory=dict)  # of what was asked, by the request's name
    strange: bytes = b""  # the first line that answers nothing
    fault: Exception | None = None  # which the main thread raises

    def feed(self, requests: Iterable[Request]) -> None:
        """Write a line for each request."""
        pipe = self.process.stdin
        assert pipe  # noqa: S101 - it was asked for
        try:
            for request in requests:
                self.keys[request.custom_id] = request.key
                self.counts["requests"] += 1
                written = json.dumps(request.line(), ensure_ascii=False).encode() + b"\n"
                try:
                    pipe.write(written)
                except OSError:  # the program has ended, or closed its input
                    break
        except Exception as error:
            self.fault = self.fault or error
        finally:
            with suppress(OSError):
                pipe.close()

    def read(self) -> None:
        """Keep the answers in its lines; a line that is too long comes in parts."""
        pipe = self.process.stdout
        assert pipe  # noqa: S101 - it was asked for
        try:
            while written := pipe.readline(MOST_BYTES):
                name, body = read_answer_line(written)
                key = self.keys.get(name) if isinstance(name, str) else None
                if key is not None and body is not None and key not in self.answers:
                    self.answers.add(key, name, body)
                    self.counts["answered"] += 1
                    self.advance()
                elif written.strip():
                    self.counts["strange_lines"] += 1
                    self.strange = self.strange or written
        except Exception as error:  # such as of a full disk
            self.fault = self.fault or error
            self.process.kill()
