"""What a command owes its user when it fails, is stopped, or is not listened to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import run

from ...conftest import ROOT

PRINTS = """
import sys
from sgdx_dataset.io.console import run
sys.exit(run("program", lambda: print(100_000 * "\u2013 ")))
"""


@pytest.mark.posix
def test_standard_output_is_closed_full_or_ascii_alone() -> None:
    def printing(stdout: int, **environment: str) -> tuple[bytes, bytes, int]:
        """What a process that prints 300 kB, none of them ASCII, writes, and its status."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        done = subprocess.run(
            [sys.executable, "-c", PRINTS], env=environment, stdout=stdout, stderr=subprocess.PIPE
        )
        return (done.stdout or b"")[:7], done.stderr, done.returncode

    read, write = os.pipe()
    os.close(read)
    assert printing(write) == (b"", b"", 1)
    os.close(write)
    with Path("/dev/full").open("wb") as full:
        line = b"program: error: No space left on device\n"
        assert printing(full.fileno()) == (b"", line, 2)
    ascii_alone = printing(subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert ascii_alone == (b"\\u2013 ", b"", 0)


def failing(error: BaseException | str) -> Callable[[], int | None]:
    def command() -> None:
        raise SgdxError(error) if isinstance(error, str) else error

    return command


ODD = "file:\n\x1b[2J \x9b \u202e \u2066 \u2028x \x00 \udcff é 日本 😀 e\u0301 👩\u200d👧 \u200f"
SHOWN = r"\x1b[2J \x9b \u202e \u2066 x \x00 \udcff" " é 日本 😀 e\u0301 👩\u200d👧 \u200f"


@pytest.mark.parametrize(
    ("command", "status", "line"),
    [
        (failing(ODD), 2, f"error: file: {SHOWN}"),
        (failing("ab" * 600), 2, f"error: {'ab' * 246}a ... {'ab' * 250}"),
        (lambda: len(bytes(1 << 62)) and None, 2, "error: found too little memory for this input"),
        # A byte of the command line that is no UTF-8 reaches Python as half a character.
        (lambda: len("\udcff/1".encode()), 2, "error: found '\\udcff/1', expected Unicode text"),
        (failing(RecursionError()), 2, "error: found too many parts in each other for this input"),
        (lambda: len(Path("/none").read_bytes()), 2, "error: /none: No such file or directory"),
        (failing(KeyboardInterrupt()), 130, "interrupted"),
        (lambda: print("7") or 7, 7, ""),
        (lambda: warnings.warn("a\nb", stacklevel=1), 0, "warning: a b"),
    ],
)
def test_a_command_ends_in_one_line_without_control_characters(
    command: Callable[[], int | None],
    status: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("program", command) == status
    assert capsys.readouterr().err == (f"program: {line}\n" if line else "")
    run("program", command, is_main_process=False)
    assert line.startswith("warning") or capsys.readouterr().err == ""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)  # as in a program without a console
        assert run("program", command) == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_only_the_first_signal_counts_and_one_that_is_ignored_does_not(
    tmp_path: Path, number: signal.Signals
) -> None:
    """``timeout`` and launchers send two: the second does not break off the cleaning up."""

    def command() -> None:
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)
            (tmp_path / "cleaned up").touch()

    assert run("program", command) == 128 + number
    assert (tmp_path / "cleaned up").exists()
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert run("program", lambda: signal.raise_signal(number)) == 0
    finally:
        signal.signal(number, before)
