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
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls

from .answer_file import AnswerFile
from .calls import read_answer_line
from .requests import Request

HOST = "command:"  # stands before the command line where a program is the host of answers
MOST_BYTES = 10_000_000  # of a line
_MOMENT = 2.0  # seconds for the last lines of a program that has ended
_FORM = "an object with the custom_id of a request and its state, calls or response"


def split_command(line: str) -> list[str]:
    """The words of a command line."""
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise SgdxError(f"--command: cannot be read: {error}") from None
    if not arguments:
        raise SgdxError("--command: found no program, expected one with its arguments")
    return arguments


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
    keys: dict[str, str] = {}  # of what was asked, by the request's name
    strange: list[bytes] = []  # the first line that answers nothing
    faults: list[Exception] = []

    def feed() -> None:
        assert program.stdin  # noqa: S101 - it is a pipe
        try:
            for request in requests:
                keys[request.custom_id] = request.key
                counts["requests"] += 1
                written = json.dumps(request.line(), ensure_ascii=False).encode() + b"\n"
                try:
                    program.stdin.write(written)
                except OSError:  # the program has ended, or closed its input
                    break
        except Exception as error:  # it is raised below, in the main thread
            faults.append(error)
        finally:
            with suppress(OSError):
                program.stdin.close()

    def read() -> None:
        assert program.stdout  # noqa: S101 - it is a pipe
        try:
            # A longer line comes in parts, none of which is an answer.
            while written := program.stdout.readline(MOST_BYTES):
                asked, body = read_answer_line(written)
                key = keys.get(asked) if isinstance(asked, str) else None
                if key is not None and body is not None and key not in answers:
                    answers.add(key, asked, body)
                    counts["answered"] += 1
                    advance()
                elif written.strip():
                    counts["strange_lines"] += 1
                    strange.extend([written] if not strange else [])
        except Exception as error:  # such as of a full disk
            faults.append(error)
            program.kill()

    with tempfile.TemporaryFile() as errors:
        try:
            program = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise SgdxError(f"--command {name}: cannot be started: {error.strerror}") from None
        # Threads, as program and reader could wait for each other with full pipes.
        feeder = threading.Thread(target=feed, daemon=True)
        reader = threading.Thread(target=read, daemon=True)
        feeder.start()
        reader.start()
        try:
            status = program.wait()
            reader.join(_MOMENT)  # longer where a child of the program holds its output open
        finally:
            with suppress(OSError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            reader.join(_MOMENT)  # what has a session of its own may hold the pipes open still
            feeder.join(_MOMENT)
        if faults:
            raise faults[0]
        if status:
            errors.seek(max(errors.seek(0, os.SEEK_END) - 4096, 0))
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2] or "nothing"
            raise SgdxError(f"--command {name}: exit status {status}; it said: {last[:300]}")
    if strange:
        found = f"found the line {strange[0][:1000].decode(errors='replace').strip()[:200]!r}"
        if not counts["answered"]:
            raise SgdxError(f"--command {name}: {found}, expected {_FORM}")
        print(f"note: {escape_controls(found)}, expected {_FORM}", file=sys.stderr)
