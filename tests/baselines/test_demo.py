"""The first commands of a new user: the demo, the page's example, and what needs no extra."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from baselines import demo
from sgdx_cli import main
from sgdx_eval.result import read_result
from sgdx_metric.result import Result

from ..conftest import ROOT
from .conftest import command, kill_at


def test_the_demo_scores_what_it_predicts_and_says_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(monkeypatch, demo, "--limit", 2) == 0
    said = capsys.readouterr().out
    assert "sgdx evaluate --tracker lexical --output outputs/lexical\n" in said
    scores = read_result(tmp_path / "outputs" / "demo" / "scores.json").result
    assert scores.variants == ["original", "v1", "v2", "v3", "v4", "v5"]
    assert "system-acts:yes" in scores.signature
    assert command(monkeypatch, demo, "--task", "generation", "--limit", 2) == 2


@pytest.mark.slow
def test_the_demo_tracks_with_the_shipped_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(monkeypatch, demo, "--tracker", "onepass") == 0
    scores = read_result(tmp_path / "outputs" / "demo-onepass" / "scores.json").result
    assert scores["jga_orig"] == pytest.approx(0.554, abs=0.04)  # CPUs round differently
    assert "models/onepass --output outputs/onepass\n" in capsys.readouterr().out


README = (ROOT / "baselines" / "README.md").read_text()
PAGE = README.partition("## Add a tracker")[2].partition("## Generators")[0]


def test_the_example_trackers_are_trained_and_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page has them; the one that is trained in a few steps, which are broken off."""
    files = re.findall(r"`(\w+\.(?:py|yaml))`.*?```\w+\n(.*?)```", PAGE, re.DOTALL)
    for name, content in files:
        (tmp_path / name).write_text(content)
    by_rule, *of_training = re.findall(r"^sgdx (.*)$", PAGE, re.MULTILINE)
    assert max(len(content.splitlines()) for _, content in files) <= 80
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(line: str, *more: str) -> int:
        words = [*shlex.split(line), *more]
        monkeypatch.setattr(sys, "argv", ["sgdx", *words])
        return main(words)

    def scores(folder: str) -> Result:
        return read_result(tmp_path / folder / "scores.json").result

    assert run(by_rule) == 0
    result = scores("outputs/possible_values")
    assert "system-acts:no" in result.signature and "|frames:273|" in result.signature
    assert 0 < (result["jga_orig"] or 0) < 0.2
    train, evaluate = of_training
    few = [f"--set={name}" for name in (
        "steps=3", "save_every=1", "evaluate_every=3", "evaluate_frames=4", "train_dialogues=2",
        "precision=fp32",
    )]  # fmt: skip
    with monkeypatch.context() as patch:
        kill_at(patch, 2)
        assert run(train, *few) == 130
    assert run(train, *few, "--resume") == 0
    assert run(evaluate, "--variant", "original", "v5", "--limit", "1") == 0
    assert "variants:original+v5|" in scores("outputs/own").signature
    assert run("publish --model outputs/own") == 0
    card = (tmp_path / "outputs" / "own" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    exec(code, {})  # noqa: S102
    assert "| JGA_orig |" in card


def test_the_folders_that_the_page_names_are_there() -> None:
    for name in re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+\.py)`", README):
        if not name.startswith(("possible", "value_by", "NAME", "tests", "config")):
            rooms = (ROOT / "baselines", ROOT, ROOT / "sgdx_eval" / "report")
            places = (*(room / name for room in rooms), *ROOT.glob(f"baselines/*/{name}"))
            assert any(place.exists() for place in places), name


# What the extras install; importing any of it fails here. Each command's status and its errors.
WITHOUT_EXTRAS = """
import contextlib, io, json, sys
for name in ("torch", "transformers", "accelerate", "tokenizers", "safetensors", "jinja2",
             "markupsafe", "matplotlib", "simplemma", "openai", "inspect_ai", "gradio"):
    sys.modules[name] = None
import sgdx_dataset.__main__, sgdx_metric.__main__, sgdx_metric.sgdx_metric, sgsacc_metric.__main__
import baselines.train, baselines.publish, baselines.t2g2.rerank, sgdx_cli
from baselines.use import load_tracker
assert load_tracker("lexical").NAME == "lexical"
for line in json.loads(sys.argv[1]):
    sys.argv = ["sgdx", *line.split()]
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        status = sgdx_cli.main(line.split())
    print(json.dumps([status, error.getvalue()]))
"""


def test_what_needs_an_extra_names_it_in_one_line_and_nothing_else_needs_one(
    tmp_path: Path,
) -> None:
    commands = {
        "evaluate --tracker lexical --variant original --output run": "",
        "train --recipe onepass/smoke": "baselines",
        "predict --tracker t5dst --model x --output o": "baselines",
        "evaluate --model model --output o": "baselines",
        "report run --output report": "report",
        "ask predict --model m --base-url http://a --output l": "llm",
        "ask from-inspect log.eval --output l": "inspect",
    }
    # As much of a trained model as is read before torch is needed.
    (tmp_path / "model").mkdir()
    record = {"record": {"seen": {"tracker": "onepass"}, "settings": {}}}
    (tmp_path / "model" / "run.json").write_text(json.dumps(record))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, json.dumps([*commands])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    for extra, (status, error) in zip(commands.values(), results, strict=True):
        assert (status, error.count("\n")) == ((2, 1) if extra else (0, 0)), error
        assert not extra or f"sgdx[{extra}]" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "run"]
