"""What a command line owes its user: one line for an error, no trace of a run that is stopped."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .errors import SgdxError

BAD_INPUT, STOPPED, BROKEN_PIPE = 2, 128 + signal.SIGINT, 128 + 13


def run(program: str, command: Callable[[], None]) -> int:
    """Run a command.

    Args:
        program: What error messages begin with.
        command: Does the work, and prints to standard output.

    Returns:
        The exit status: 0, or 2 when the input cannot be used or something cannot be written; one
        line on standard error then says what was found and what was expected. 130 after Ctrl-C, and
        141 where nobody reads standard output any more, as in ``| head``.

    Raises:
        SystemExit: The process was asked to end (SIGTERM); what it was writing has been removed.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # such as one that is ASCII alone
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ending_in_order(), _warning_in_one_line(program):
            command()
            sys.stdout.flush()
    except SgdxError as error:
        print(f"{program}: error: {harmless(' '.join(str(error).split()))}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print(f"{program}: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:  # such as a name that is too long, or a disk that is full
        _discard_output()
        print(f"{program}: error: {harmless(str(error))}", file=sys.stderr)
        return BAD_INPUT
    return 0


def _discard_output() -> None:
    """Give what is still to be written to standard output a place to go.

    Python would complain at the end of the process where it has none.
    """
    with suppress(OSError, ValueError):  # it may be no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def harmless(text: str) -> str:
    """Text of a file or an argument as it may be shown at a terminal.

    Control characters, with which a text could move the cursor, change colours or hide itself, are
    shown by their codes, as in ``\\x1b[2J``.
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM raise ``SystemExit``, so that what is half-written is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _warning_in_one_line(program: str) -> Iterator[None]:
    """Print warnings without the line of code that gives them."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"{program}: warning: {harmless(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
