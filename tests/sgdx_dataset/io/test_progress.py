"""Progress bars, as a user sees them on a terminal: one for all the work, and none when quick."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ...conftest import ROOT

# Quick work shows no bar, of ``datasets`` neither.
PROGRAM = """
import sgdx_dataset.io.progress
from sgdx_dataset import frames, load, prepare
sgdx_dataset.io.progress.DELAY = 600
frames(load("v1", "test", "sample"))
sgdx_dataset.io.progress.DELAY = 0
print("no bar until here")
prepare("sample")
"""


@pytest.mark.posix
def test_seven_configs_share_one_bar_on_a_terminal_and_quick_work_has_none(tmp_path: Path) -> None:
    import pty  # which Windows lacks
    import termios

    terminal, inside = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    kept = {k: v for k, v in os.environ.items() if k != "HF_DATASETS_DISABLE_PROGRESS_BARS"}
    environment = {**kept, "PYTHONPATH": str(ROOT), "HF_HOME": str(tmp_path / "hf")}
    words = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=inside, stderr=inside
    ) as done:
        os.close(inside)
        written = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
    os.close(terminal)
    before, _, text = written.decode().partition("no bar until here\r\n")
    assert (done.returncode, before) == (0, "")
    assert "Preparing: 100%" in text
    assert "42/42" in text  # 6 files under 6 variants; 2 under 3 back-translations
    assert "Generating" not in text
    assert text.count("\n") == 1
