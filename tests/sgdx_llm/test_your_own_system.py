"""The page about one's own system: every path is walked as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sgdx_cli import main as sgdx
from sgdx_eval.result import read_result

from ..conftest import ROOT
from .server import StandIn

PAGE = ROOT / "docs" / "your-own-system.md"


def walk(title: str, url: str = "") -> None:
    """Write the files of a section and run its commands in the current folder."""
    (section,) = re.findall(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE.read_text(), re.S | re.M)
    names = re.findall(r"Write `([\w.]+)`:", section)
    contents = re.findall(r"```(?:python|json)\n(.*?)```", section, re.S)
    for name, content in zip(names, contents, strict=True):
        Path(name).write_text(content)
    for block in re.findall(r"```bash\n(.*?)```", section, re.S):
        for line in block.splitlines():
            words = shlex.split(line.replace("http://localhost:8000/v1", url))
            words = [word.replace("python system", f"{sys.executable} system") for word in words]
            if words[0] == "sgdx":
                assert sgdx(words[1:]) == 0, line
            else:
                subprocess.run([sys.executable, *words[1:]], check=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    walk("Which dialogues")


def figures(path: str) -> tuple[float, str]:
    result = read_result(Path(path)).result
    return result["jga_orig"] or 0.0, result.signature


@pytest.mark.slow
def test_a_model_behind_a_server(stand_in: StandIn) -> None:
    walk("A model behind a server", stand_in.url)
    accuracy, signature = figures("runs/model/scores.json")
    assert accuracy == 0  # the stand-in always records the empty state
    assert "dialogues:4@" in signature
    assert "your-model" in Path("report/index.html").read_text()


def test_a_program_and_words_of_ones_own() -> None:
    walk("A program of yours")
    accuracy, _ = figures("runs/program/scores.json")
    assert 0 < accuracy < 0.4
    walk("Words for your own API")
    result = read_result(Path("runs/ours/scores.json")).result
    assert result["jga_drop_ours"] is not None and "+ours@" in result.signature


def test_predictions_made_elsewhere() -> None:
    walk("Predictions made elsewhere")
    accuracy, signature = figures("scores.json")
    assert 0 < accuracy < 0.3
    assert "variants:original+v1+v2+v3+v4+v5|" in signature
