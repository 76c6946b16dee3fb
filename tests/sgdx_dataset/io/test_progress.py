"""Progress bars, as a user sees them on a terminal: one for all the work, and none when quick."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ...conftest import ROOT

pytestmark = pytest.mark.posix
SLOW = """
import sgdx_dataset.io.progress
sgdx_dataset.io.progress.DELAY = 0
from sgdx_dataset import prepare
prepare("sample", cache_dir="cache")
"""
# Quick work shows no bar, of ``datasets`` neither; where the user wants none, slow work shows none.
SILENT = (
    """
import os
import sgdx_dataset.io.progress
sgdx_dataset.io.progress.DELAY = 600
from sgdx_dataset import VARIANTS, frames, load
for config in ("original", *VARIANTS):
    frames(load(config, "test", "sample"))
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
"""
    + SLOW
)


def shown(program: str, folder: Path) -> str:
    """What a program writes to a terminal."""
    import pty  # which Windows lacks
    import termios

    terminal, inside = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    process = start(program, folder, inside)
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


def start(program: str, folder: Path, output: int) -> subprocess.Popen[bytes]:
    kept = {k: v for k, v in os.environ.items() if k != "HF_DATASETS_DISABLE_PROGRESS_BARS"}
    environment = {**kept, "PYTHONPATH": str(ROOT), "HF_HOME": str(folder / "hf")}
    words = [sys.executable, "-c", program]
    return subprocess.Popen(words, cwd=folder, env=environment, stdout=output, stderr=output)


def test_seven_configs_share_one_bar_on_a_terminal(tmp_path: Path) -> None:
    text = shown(SLOW, tmp_path)
    assert "Preparing: 100%" in text
    assert "42/42" in text  # 6 files under 6 variants; 2 under 3 back-translations
    assert "Generating" not in text
    assert text.count("\n") == 1


def test_quick_work_and_a_user_who_wants_none_see_no_bar(tmp_path: Path) -> None:
    assert shown(SILENT, tmp_path) == ""
