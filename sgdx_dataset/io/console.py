"""Running a command: an error is one line, and a command that is stopped leaves nothing behind.

The command lines of all packages use it, so that they end alike.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from .errors import SgdxError
from .files import inputs_are_kept
from .secrets import keys_are_taken_out, take_out

CLOSED_OUTPUT, BAD_INPUT = 1, 2  # exit statuses
# Seconds in which a second signal is the first one's repetition, as launchers send two; a later one
# ends the process wherever it is.
REPEATED = 2.0
_LONGEST = 1000  # characters; a longer message is cut in its middle, as it quotes what was found
# Characters that a terminal obeys instead of showing them: control characters, among them the
# escape that begins a command, separators of lines, and those that turn the direction of the text.
# Halves of characters, which cannot be written, are with them.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


# What Python says of input that it does not take, wherever it comes from, and what it takes.
_OF_INPUT = {
    "embedded null": "the path of a file or folder",
    "Symlink loop": "the path of a file or folder",
    "integer string conversion": "a number of fewer digits",
}


def is_first() -> bool:
    """Whether this is the first of the launched processes, the only one to print and write."""
    return os.environ.get("RANK", "0") == "0"


class _OwnPackages:
    """A finder that finds the packages of this project where this file is."""

    names = frozenset(
        "baselines sgdx_dataset sgdx_eval sgdx_llm sgdx_metric sgdx_space sgdx_tools "
        "sgsacc_metric".split()
    )

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The package, if it is one of ours; other finders look for all others."""
        own = name in cls.names and path is None
        return PathFinder.find_spec(name, [str(Path(__file__).parents[2])]) if own else None


class Terminated(BaseException):
    """The signal SIGTERM, which schedulers send; as an exception it lets files be cleaned up."""


_SIGNALS: dict[int, type[BaseException]] = {
    signal.SIGINT: KeyboardInterrupt,
    signal.SIGTERM: Terminated,
}


@keys_are_taken_out()
def run(
    program: str,
    command: Callable[[], int | None],
    faults: tuple[type[Exception], ...] = (SgdxError,),
    is_main_process: bool = True,
) -> int:
    """Run a command, and end in one line on standard error where it does not end well."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # such as one that is ASCII alone
            stream.reconfigure(errors="backslashreplace")
    # A folder ``baselines`` of the user's own, as many repositories have one, would hide ours: in
    # the current folder, with ``python -m``, and in one of ``PYTHONPATH``.
    if _OwnPackages not in sys.meta_path:
        sys.meta_path.insert(0, _OwnPackages)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(program, f"warning: {message}")  # without the line of code that gives it

    # The status is the command's own (None is 0); 2 for input or a place that cannot be used; 1
    # where nobody reads standard output; 130 after Ctrl-C and 143 after SIGTERM. Of processes that
    # run one command, the main one prints. Notes of an exception say where it can go on.
    status, line = 0, ""
    try:
        with _signals_raise(), warnings.catch_warnings(), inputs_are_kept():
            warnings.showwarning = show
            status = command() or 0
            if sys.stdout is not None:
                sys.stdout.flush()
    except faults as error:
        status, line = BAD_INPUT, f"error: {error}"
    except UnicodeEncodeError as error:  # such as of a path with a byte that is no UTF-8
        text = error.object[max(0, error.start - 30) : error.end + 30]
        status, line = BAD_INPUT, f"error: found {text!a}, expected Unicode text"
    except (KeyboardInterrupt, Terminated) as stop:
        is_asked = isinstance(stop, KeyboardInterrupt)
        status = 128 + (signal.SIGINT if is_asked else signal.SIGTERM)
        notes = getattr(stop, "__notes__", ())  # of how far it came
        line = " ".join(["interrupted" if is_asked else "terminated", *notes])
    except RecursionError:
        status, line = BAD_INPUT, "error: found too many parts in each other for this input"
    except MemoryError:
        status, line = BAD_INPUT, "error: found too little memory for this input"
    except (ValueError, RuntimeError) as error:
        expected = [value for said, value in _OF_INPUT.items() if said in str(error)]
        if not expected:  # it is a fault of the program, which Python shows
            raise
        status, line = BAD_INPUT, f"error: {error}, expected {expected[0]}"
    except BrokenPipeError:
        _discard_output()
        status = CLOSED_OUTPUT
    except OSError as error:  # such as a name that is too long, or a disk that is full
        _discard_output()
        from ..source import home_remedy

        file = f"{error.filename}: " if error.filename else ""
        status, line = BAD_INPUT, f"error: {file}{error.strerror or error}{home_remedy(error)}"
    if line and is_main_process:
        say(program, line)
    return status


def say(program: str, message: str) -> None:
    """Print a message about a command on standard error, in one line without control characters."""
    line = escape_controls(take_out(" ".join(message.split())))  # whole, before it is cut
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    print(f"{program}: {line}", file=sys.stderr)


def _discard_output() -> None:
    """Drop what is left of standard output, or Python prints an error of its own at the end."""
    with suppress(OSError, ValueError, AttributeError):  # standard output may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def escape_controls(text: str) -> str:
    """Escape the characters of a text that a terminal would obey instead of showing them.

    >>> print(escape_controls("a\x1b[31mb"))
    a\\x1b[31mb
    """
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Let SIGTERM, as SIGINT does, raise an exception, so that what is half-written is removed."""
    # Only the first counts, as a second would break off the cleaning up, unless it comes later.
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in _SIGNALS}

    first = 0.0

    def end(number: int, _: Any) -> None:
        nonlocal first
        now = time.monotonic()
        if not first:
            first = now
            raise _SIGNALS[number]
        if now - first > REPEATED:
            os._exit(128 + number)

    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as SIGINT is where a shell starts a command in background
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
