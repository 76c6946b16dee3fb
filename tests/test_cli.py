"""The command ``sgdx``: every command is there, its help starts at once, a mistake is one line."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

import pytest

from sgdx_cli import main, program
from sgdx_metric import __version__

from .conftest import ROOT

HEAVY = ("numpy", "pyarrow", "datasets", "evaluate", "torch", "transformers", "matplotlib")
# The spellings that other programs call, and the commands that they are.
DOORS = {
    "sgdx_dataset prepare": "prepare",
    "sgdx_metric score": "score",
    "sgdx_metric install": "install",
    "sgsacc_metric validate": "responses validate",
    "sgsacc_metric score": "score",
    "baselines.train": "train",
    "baselines.predict": "predict",
    "baselines.evaluate": "evaluate",
    "sgdx_tools score": "tools score",
}


def paths() -> list[list[str]]:
    """All commands, each as its words."""
    app = program()
    words = []
    for name in (name for name in app if not name.startswith("-")):
        below = [inner for inner in app[name] if not inner.startswith("-")]
        words += [[name, inner] for inner in below] or [[name]]
    return words


@pytest.mark.parametrize("words", [[], *paths()], ids=" ".join)
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith(" ".join(["Usage: sgdx", *words]))


def test_the_commands_fit_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 55
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


def test_help_imports_nothing_that_takes_long() -> None:
    commands = ["", "score", "train", "evaluate", "tools run", "ask predict"]
    code = "import json, sys, sgdx_cli\nfor words in sys.argv[1:]:\n"
    code += "    sgdx_cli.main([*words.split(), '--help'])\nprint(json.dumps([*sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *commands],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("Usage: sgdx") == len(commands)
    assert not {*HEAVY} & {*json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("door", DOORS)
def test_the_other_spellings_forward(
    door: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, *words = door.split()
    monkeypatch.setattr(sys, "argv", [module, *words, "--help"])
    with pytest.raises(SystemExit, match="^0$"):
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    assert capsys.readouterr().out.startswith(f"Usage: sgdx {DOORS[door]}")


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("scoer", "score"),
        ("stats --sorce sample", "--source"),
        ("subset --split test --count two --output x", "two"),
        ("frames --split tset --output x", "tset"),
        ("frames --output x", "--split"),
        ("prepare --config v9", "v9"),
        ("prepare --variant original=x", "original"),
        ("ask estimate --split tset --model m", "tset"),
        ("tools run folder --command x", "--output"),
        ("evaluate --tracker lexical --split tset --output x", "tset"),
        ("score --predictions x --zero-mean 2", "--zero-mean"),
    ],
)
def test_a_mistake_is_one_line(line: str, fact: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("sgdx: error: ") and fact in said.err and said.err.count("\n") == 1
