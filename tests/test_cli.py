"""The command ``sgdx``: every command is there, its help starts at once, a mistake is one line."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sgdx_cli import main, program
from sgdx_dataset import frame_tables, open_release
from sgdx_metric import __version__
from sgdx_metric.rows import PREDICTION

from .conftest import ROOT

HEAVY = ("numpy", "pyarrow", "datasets", "evaluate", "torch", "transformers", "matplotlib")
# The spellings that other programs call, and the commands that they are.
DOORS = {
    "sgdx_dataset prepare": "prepare",
    "sgdx_metric score": "score",
    "sgdx_metric install": "install",
    "sgsacc_metric validate": "responses validate",
    "sgsacc_metric score": "responses score",
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


def test_the_examples_of_the_help_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each as its help has it, on the sample."""
    monkeypatch.setenv("COLUMNS", "100")
    encoder, tables = msgspec.json.Encoder(), open_release("sample")
    for name in ("original", "v5"):
        rows = frame_tables(tables, "test", name, PREDICTION.names).to_pylist()
        (tmp_path / f"{name}.jsonl").write_bytes(encoder.encode_lines(rows))
    (tmp_path / "mine.json").write_text(words := '{"Cabs_1": {"slots": {"destination": "goal"}}}')
    own = ["--variant", f"mine={tmp_path / 'mine.json'}"]
    of_gold = ["--source", "sample", "--predictions", str(tmp_path)]
    asked = ["--estimate", "--model", "m", "--source", "sample", "--limit", "1"]
    for command, example, use in (
        ("show", "1_00000", ["1_00000", "--source", "sample"]),
        ("show", words, ["--source", "sample", *own]),
        ("score", words, [*of_gold, *own]),
        ("explain", "1_00000/4/Cabs_1", ["1_00000/4/Cabs_1", *of_gold]),
        ("explain", "--changed original v5", ["--changed", "original", "v5", *of_gold]),
        ("ask predict", "--omit seed", [*asked, "--omit", "seed"]),
        ("ask predict", "0.5/50", [*asked, "--stop-unread", "0.5/50"]),
    ):
        capsys.readouterr()
        main([*command.split(), "--help"])
        shown = capsys.readouterr().out
        assert example in " ".join(shown.replace("│", " ").split()), example
        assert main([*command.split(), *use]) == 0, capsys.readouterr().err


def test_help_imports_nothing_that_takes_long() -> None:
    """And the longest helps fit a page."""
    commands = ["", "train", "evaluate", "tools run", "score", "explain", "ask predict"]
    code = "import json, sys, sgdx_cli\nfor words in sys.argv[1:]:\n"
    code += "    sgdx_cli.main([*words.split(), '--help'])\nprint(json.dumps([*sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *commands],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    _, *helps = done.stdout.split("Usage: sgdx")
    assert len(helps) == len(commands)
    assert all(len(text.splitlines()) <= 51 for text in helps[4:])  # the last with the modules
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


@pytest.mark.parametrize("words", [("-m", "sgdx_metric"), ("-m", "sgdx_space"), ("-m", "sgdx_cli")])
def test_packages_of_ones_own_hide_none_of_ours(words: tuple[str, ...], tmp_path: Path) -> None:
    """Many repositories have a package ``baselines``, here or on PYTHONPATH."""
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "__init__.py").touch()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *words, "--help"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") and "usage" in done.stdout.lower()


@pytest.mark.posix
def test_a_link_to_itself_is_named_by_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    for words, parts in (
        (["stats", "--source", "loop"], ["--source", "loop"]),
        (["stats", "--source=loop/x"], ["--source", "loop/x"]),
        (["score", "--predictions", "p", "--variant", "a=loop"], ["--variant", "loop"]),
        (["compare", "loop", "x"], ["loop"]),
        (["demo", "--output", "loop/.."], ["--output", "loop"]),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and all(part in error for part in parts), error


@pytest.mark.parametrize(
    ("name", "value"),
    [("HF_ENDPOINT", "127.0.0.1:9"), ("HF_TOKEN", "hf_\u00e4"), ("HF_TOKEN", "hf a")],
)
def test_what_the_environment_says_of_the_hub_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abc")
    monkeypatch.setenv(name, value)
    assert main(["push-metric", "you/sgdx_metric"]) == 2
    error = capsys.readouterr().err
    assert name in error and ("hf" not in value or value not in error)
