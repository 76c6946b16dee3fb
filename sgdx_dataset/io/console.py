"""What a command line owes its user: one line for an error, no trace of a run that is stopped.

The command lines of all packages use it, so that they end alike.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .errors import SgdxError

NOBODY_READS, BAD_INPUT = 1, 2
_LONGEST = 1000  # a longer message is cut in its middle, as what was found may be of any length


class _Terminated(BaseException):
    """The signal SIGTERM, which schedulers send; as an exception it lets files be cleaned up."""


_ENDS: dict[int, type[BaseException]] = {
    signal.SIGINT: KeyboardInterrupt,
    signal.SIGTERM: _Terminated,
}


def run(
    program: str,
    command: Callable[[], int | None],
    faults: tuple[type[Exception], ...] = (SgdxError,),
    speaks: bool = True,
) -> int:
    """Run a command, and end in one line on standard error where it does not end well.

    Args:
        program: What error messages begin with.
        command: Does the work, and prints to standard output. It returns its exit status, or None
            for 0.
        faults: The errors that say what is wrong with the input. An ``OSError`` is one too.
        speaks: Whether to print how the command ended; of several processes only one does.

    Returns:
        The exit status: the command's own; 2 when the input cannot be used, something cannot be
        written, or there is too little memory; 1 where nobody reads standard output any more, as in
        ``| head``; 130 after Ctrl-C and 143 after SIGTERM, when what was being written has been
        removed.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # such as one that is ASCII alone
            stream.reconfigure(errors="backslashreplace")
    end = 0
    line = ""
    try:
        with _ending_in_order(), _warning_in_one_line(program):
            end = command() or 0
            if sys.stdout is not None:
                sys.stdout.flush()
    except faults as error:
        end, line = BAD_INPUT, f"error: {error}"
    except KeyboardInterrupt:
        end, line = 128 + signal.SIGINT, "interrupted"
    except _Terminated:
        end, line = 128 + signal.SIGTERM, "terminated"
    except MemoryError:
        end, line = BAD_INPUT, "error: found too little memory for this input"
    except BrokenPipeError:
        _discard_output()
        end = NOBODY_READS
    except OSError as error:  # such as a name that is too long, or a disk that is full
        _discard_output()
        place = f"{error.filename}: " if error.filename else ""
        end, line = BAD_INPUT, f"error: {place}{error.strerror or error}"
    if line and speaks:
        say(program, line)
    return end


def say(program: str, message: str) -> None:
    """Print a message about a command on standard error, in one line that no terminal obeys."""
    line = harmless(" ".join(message.split()))
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    print(f"{program}: {line}", file=sys.stderr)


def _discard_output() -> None:
    """Give what is still to be written to standard output a place to go.

    Python would complain at the end of the process where it has none.
    """
    with suppress(OSError, ValueError, AttributeError):  # it may be no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Characters that a terminal obeys instead of showing them: control characters, among them the
# escape that begins a command, separators of lines, and those that turn the direction of the text.
# Halves of characters, which cannot be written, are with them.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """Text of a file or an argument as a terminal may show it: what it would obey is escaped.

    >>> print(harmless("a\x1b[31mb"))
    a\\x1b[31mb
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM, as SIGINT does, raise an exception, so that what is half-written is removed.

    Only the first signal counts, as a second one would break off the cleaning up. Programs such as
    ``timeout`` and launchers of several processes send each process two.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in _ENDS}

    def end(number: int, _: Any) -> None:
        for one in _ENDS:
            signal.signal(one, signal.SIG_IGN)
        raise _ENDS[number]

    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as SIGINT is where a shell starts a command in background
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _warning_in_one_line(program: str) -> Iterator[None]:
    """Print warnings without the line of code that gives them."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(program, f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
