"""Only sgdx is installed: what needs no extra works, the rest says what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import ROOT

# What the extras install; in a process that begins with this, importing any of it fails.
HIDE = """
import sys
for name in ("torch", "transformers", "accelerate", "tokenizers", "safetensors", "jinja2",
             "markupsafe", "matplotlib", "simplemma", "openai", "inspect_ai", "gradio"):
    sys.modules[name] = None
"""
RUN = """
import contextlib, importlib, io, json
for words in json.loads(sys.argv[1]):
    sys.argv = words
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        status = importlib.import_module(words[0]).main()
    print(json.dumps([status, error.getvalue()]))
"""


def python(script: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HIDE + script, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """As much of a trained model as is read before torch is needed."""
    (tmp_path / "model").mkdir()
    record = {"record": {"seen": {"tracker": "onepass"}, "settings": {}}}
    (tmp_path / "model" / "run.json").write_text(json.dumps(record))
    return tmp_path / "model"


def test_what_learns_nothing_does_without_extras(tmp_path: Path) -> None:
    script = """
import sgdx_dataset.__main__, sgdx_metric.__main__, sgdx_metric.sgdx_metric, sgsacc_metric.__main__
import baselines.train, baselines.publish, baselines.t2g2.rerank
from baselines import evaluate
from baselines.use import load_tracker
assert load_tracker("lexical").NAME == "lexical"
sys.argv = ["evaluate", "--tracker", "lexical", "--config", "v1", "--output", "run"]
sys.exit(evaluate.main())
"""
    python(script, tmp_path)
    assert (tmp_path / "run" / "scores.json").exists()


def test_what_needs_an_extra_names_it_in_one_line(tmp_path: Path, model: Path) -> None:
    commands = {
        "baselines.train --config onepass/smoke": "baselines",
        "baselines.predict --tracker t5dst --model x --output o": "baselines",
        "baselines.evaluate --model model --output o": "baselines",
        "baselines.report run --output report": "report",
        "baselines.llm.__main__ predict --model m --base-url http://a --output l": "llm",
        "baselines.llm.__main__ from-inspect log.eval --output l": "inspect",
    }
    evaluate = "baselines.evaluate --tracker lexical --config original --output run".split()
    lines = python(RUN, tmp_path, json.dumps([evaluate, *map(str.split, commands)])).splitlines()
    results = [json.loads(line) for line in lines if line.startswith("[")]
    assert results[0][0] == 0
    for (command, extra), (status, error) in zip(commands.items(), results[1:], strict=True):
        assert status == 2, command
        assert error.count("\n") == 1
        assert error.endswith(f': pip install "sgdx[{extra}]"\n')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "run"]
