"""The README's commands for a clone, letter by letter in a fresh environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from .conftest import ROOT
from .test_docs import BLOCK

FIRST, *_, TESTS = BLOCK.findall((ROOT / "README.md").read_text())
SCRIPT = '#!/bin/sh\nexec python -m {} "$@"\n'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone of the repository has, with changes that are not committed yet."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # not deleted
            (tmp_path / "sgdx" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "sgdx" / name)
    return tmp_path / "sgdx"


def given(lines: str, clone: Path, from_index: bool = False) -> str:
    """What lines print to a shell in the clone, in an environment of their own.

    Libraries come from the package index, or are those of this environment, without a network.
    """
    environment = clone.parent / "environment"
    words = ["--without-pip"] * (not from_index)
    subprocess.run([sys.executable, "-m", "venv", *words, environment], check=True)
    commands = environment / "bin"
    settings = {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}
    if not from_index:
        settings |= {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        (own,) = environment.glob("lib/python*/site-packages")
        (own / "present.pth").write_text(sysconfig.get_path("purelib"))
        for name in ("pip", "pytest"):
            (commands / name).write_text(SCRIPT.format(name))
            (commands / name).chmod(0o755)
    # Tests that need nothing are enough to see that they start.
    settings["PYTEST_ADDOPTS"] = "-n 0 tests/test_packaging.py"
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", lines],
        cwd=clone, env={**os.environ, **settings}, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.posix
@pytest.mark.parametrize("from_index", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_first_block_and_the_tests_by_the_last(clone: Path, from_index: bool) -> None:
    assert FIRST == "pip install .\nsgdx demo\n"
    """The latter only with the libraries that are here, as CI has them from the index."""
    said = given(FIRST if from_index else FIRST + TESTS, clone, from_index)
    assert "JGA_worst 18.85 11.74 to 30.05" in " ".join(said.split())
    assert from_index or " passed" in said
    (commands,) = clone.parent.glob("environment/bin/sgdx")
    assert str(clone.parent / "environment") in commands.read_text()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert TESTS in (ROOT / ".ci" / "run").read_text().splitlines(keepends=True)
