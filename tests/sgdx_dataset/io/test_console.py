"""What a command owes its user when it fails, is stopped, or is not listened to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls, run

from ...conftest import ROOT
from ..test_faults import start, stop_when

PRINTS = """
import sys
from sgdx_dataset.io.console import run
sys.exit(run("program", lambda: print(100_000 * "\u2013 ")))
"""


def printing(stdout: int, **environment: str) -> subprocess.Popen[bytes]:
    """A process that prints 300 kB, none of them ASCII."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-c", PRINTS]
    return subprocess.Popen(command, env=environment, stdout=stdout, stderr=subprocess.PIPE)


def test_nobody_reads_standard_output() -> None:
    read, write = os.pipe()
    os.close(read)
    process = printing(write)
    os.close(write)
    assert (process.communicate()[1], process.returncode) == (b"", 1)


@pytest.mark.posix
def test_standard_output_on_a_full_disk() -> None:
    with Path("/dev/full").open("wb") as full:
        process = printing(full.fileno())
    assert process.communicate()[1] == b"program: error: No space left on device\n"
    assert process.returncode == 2


def test_standard_output_that_is_ascii_alone() -> None:
    process = printing(subprocess.PIPE, PYTHONIOENCODING="ascii")
    out, errors = process.communicate()
    assert (out[:7], errors, process.returncode) == (b"\\u2013 ", b"", 0)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_that_is_stopped_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    process = start("build", "--source", "sample", "--output", tmp_path / "hub")
    assert stop_when(process, tmp_path, ".hub.*.incomplete/hub/data", number) == status
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


def fail() -> None:
    raise SgdxError("file:\n\x1b[2J \x9b \u202e \udcff é")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (fail, "file: \\x1b[2J \\x9b \\u202e \\udcff é"),
        (lambda: len(bytes(1 << 62)) and None, "found too little memory for this input"),
        # A byte of the command line that is no UTF-8 reaches Python as half a character.
        (
            lambda: len("\udcff/0/Cabs_1".encode()),
            "found '\\udcff/0/Cabs_1', expected Unicode text",
        ),
    ],
    ids=["fault", "memory", "text"],
)
def test_an_error_is_one_line_without_control_characters(
    command: Callable[[], int | None], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("program", command) == 2
    assert capsys.readouterr().err == f"program: error: {line}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é, 日本, 😀, e\u0301", "plain, é, 日本, 😀, e\u0301"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\r\nb\tc\x00", "a\\r\\nb\\tc\\x00"),
        ("\x9b\u202e\u2066\u2028", "\\x9b\\u202e\\u2066\\u2028"),
        ("\ud800", "\\ud800"),
        ("👩\u200d👧 \u200f", "👩\u200d👧 \u200f"),  # These only join and mark.
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_break_off_the_cleaning_up(
    tmp_path: Path, number: signal.Signals
) -> None:
    """As ``timeout`` and launchers send it."""

    def command() -> None:
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)
            (tmp_path / "cleaned up").touch()

    assert run("program", command) == 128 + number
    assert (tmp_path / "cleaned up").exists()


@pytest.mark.posix
def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run("program", lambda: signal.raise_signal(signal.SIGINT)) == 0
    finally:
        signal.signal(signal.SIGINT, before)
