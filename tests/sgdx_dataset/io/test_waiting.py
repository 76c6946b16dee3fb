"""Who waits says for what, and a signal ends the waiting, wherever it is."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

# A command that waits in C, where no signal reaches Python, as a launch does for its processes.
STUCK = """
import hashlib, sys
from sgdx_dataset.io.console import run
from sgdx_dataset.io.waiting import waiting_for
def command():
    with waiting_for("the other half"):
        print("begun", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
sys.exit(run("program", command))
"""
# One that waits for a lock, and one whose cleaning up takes for ever.
LOCKED = """
import sys
from pathlib import Path
from sgdx_dataset.io.console import run
from sgdx_dataset.io.waiting import locked_file
def command():
    print("begun", flush=True)
    with locked_file(Path(sys.argv[1])):
        pass
sys.exit(run("program", command))
"""
ENDLESS = """
import sys, time
from sgdx_dataset.io.console import run
def command():
    try:
        print("begun", flush=True)
        time.sleep(600)
    finally:
        print("cleaning", flush=True)
        time.sleep(600)
sys.exit(run("program", command))
"""


def begun(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that has printed its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    return process


@pytest.mark.posix
def test_who_waits_says_for_what_and_one_signal_ends_it(tmp_path: Path) -> None:
    """Four processes that wait beside each other."""
    waiting = []
    with FileLock(tmp_path / "a.lock"):
        for number in (signal.SIGTERM, signal.SIGINT):
            for code, part in ((STUCK, "the other half"), (LOCKED, "a.lock")):
                waiting.append((begun(code, tmp_path / "a.lock"), part, number))
        for process, part, number in waiting:
            assert process.stderr is not None and part in process.stderr.readline()
            process.send_signal(number)
        for process, _, number in waiting:
            _, rest = process.communicate(timeout=60)
            assert (process.returncode, len(rest.splitlines())) == (128 + number, 1)


@pytest.mark.posix
def test_a_second_signal_ends_what_the_first_one_did_not() -> None:
    process = begun(ENDLESS)
    assert process.stdout is not None
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "cleaning\n"
    process.send_signal(signal.SIGTERM)  # a launcher's repetition, which does nothing
    time.sleep(3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
