"""What the tests of the command line share: its commands without the wait for a new process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sgdx_dataset.__main__ import main as dataset
from sgdx_metric.__main__ import main as metric

from ..conftest import Run
from ..sgdx_metric.conftest import gold

__all__ = ["gold"]

MAINS = {"sgdx_dataset": dataset, "sgdx_metric": metric}


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Run `python -m MODULE ...` in an empty directory, in this process."""
    monkeypatch.chdir(tmp_path)

    def run_main(module: object, *arguments: object) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        status: str | int | None
        try:
            status = MAINS[str(module)]([str(argument) for argument in arguments])
        except SystemExit as exit:
            status = exit.code
        return subprocess.CompletedProcess([], int(status or 0), *capfd.readouterr())

    return run_main
