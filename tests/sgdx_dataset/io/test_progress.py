"""Progress bars, as a user sees them on a terminal: one for all the work, and none when quick."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ...conftest import ROOT

pytestmark = pytest.mark.posix
LOAD_SIX = """
import sgdx_dataset.io.progress
sgdx_dataset.io.progress.DELAY = 600
from sgdx_dataset import VARIANTS, frames, load
for config in ("original", *VARIANTS):
    frames(load(config, "test", "sample"))
"""
SLOW = """
import sgdx_dataset.io.progress
sgdx_dataset.io.progress.DELAY = 0
from sgdx_dataset import prepare
prepare("sample", cache_dir="cache")
"""


def shown(program: str, folder: Path, **environment: str) -> str:
    """What a program writes to a terminal."""
    import pty  # which Windows lacks
    import termios

    terminal, inside = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    variables = {k: v for k, v in os.environ.items() if k != "HF_DATASETS_DISABLE_PROGRESS_BARS"}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**variables, "PYTHONPATH": str(ROOT), "HF_HOME": str(folder / "hf"), **environment},
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    text = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(terminal)
    assert process.wait() == 0, text.decode()
    return text.decode()


def test_work_that_is_done_quickly_shows_no_bar(tmp_path: Path) -> None:
    assert shown(LOAD_SIX, tmp_path) == ""


def test_seven_configs_share_one_bar(tmp_path: Path) -> None:
    text = shown(SLOW, tmp_path)
    assert "Preparing: 100%" in text
    assert "42/42" in text  # 6 files under 6 variants; 2 under 3 back-translations
    assert "Generating" not in text
    assert text.count("\n") == 1


def test_bars_are_off_where_the_user_says_so(tmp_path: Path) -> None:
    assert shown(SLOW, tmp_path, HF_DATASETS_DISABLE_PROGRESS_BARS="1") == ""


def test_without_a_terminal_there_is_no_bar(tmp_path: Path) -> None:
    variables = {k: v for k, v in os.environ.items() if k != "HF_DATASETS_DISABLE_PROGRESS_BARS"}
    done = subprocess.run(
        [sys.executable, "-c", SLOW],
        cwd=tmp_path,
        env={**variables, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
