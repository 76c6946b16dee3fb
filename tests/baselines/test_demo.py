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

from ..conftest import ROOT, Run


def test_the_demo_prints_the_table_and_what_to_do_next(run: Run, tmp_path: Path) -> None:
    done = run("baselines.demo", "--explain", HF_HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    for part in ("JGA_orig", "JGA_v1-5", "SS_JGA", "JGA_worst", "flips", "95 % interval"):
        assert part in done.stdout
    assert "sgdx prepare --source PATH" in done.stdout
    assert "sgdx evaluate --tracker lexical --output outputs/lexical\n" in done.stdout
    scores = json.loads((tmp_path / "outputs" / "demo" / "scores.json").read_text())
    assert list(scores["variants"]) == ["original", "v1", "v2", "v3", "v4", "v5"]
    figures = scores["sgdx"]
    assert 0.1 < figures["jga_v1-5"] < 0.9
    assert 0.0 < figures["ss_jga"] < 1.0
    assert "system-acts:yes" in scores["signature"]


def test_running_it_twice_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = run("baselines.predict", "--tracker", "lexical", "--config", "v5", "--output", name)
        assert done.returncode == 0, done.stderr
    a, b = ((tmp_path / name / "v5.jsonl").read_bytes() for name in ("a", "b"))
    assert a == b
    assert json.loads(a.splitlines()[0])["metadata"] == {
        "task": "state", "variant": "v5", "split": "test",
        "source": "sample", "data": "1997e12934add94d",
        "system": {"model": "lexical", "tracker": "lexical", "system_acts": True},
    }  # fmt: skip


@pytest.mark.slow
def test_the_demo_tracks_with_the_shipped_model(run: Run, tmp_path: Path) -> None:
    done = run("baselines.demo", "--tracker", "onepass", HF_HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "outputs" / "demo-onepass" / "scores.json").read_text())
    assert scores["sgdx"]["jga_orig"] == pytest.approx(0.464, abs=0.04)  # CPUs round differently
    assert "outputs/demo-onepass" in done.stdout
    assert "models/onepass --output outputs/onepass\n" in done.stdout


def python(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


README = ROOT / "baselines" / "README.md"


def test_the_example_tracker_is_evaluated(tmp_path: Path) -> None:
    text = README.read_text()
    (path,) = re.findall(r"^Write `(\w+\.py)`, in any directory:$", text, re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"```bash\n(.*?)\n```", text, re.DOTALL)
    (tmp_path / path).write_text(code)
    name, *arguments = shlex.split(command)
    assert name == "sgdx"
    python(tmp_path, "-Pc", "import sgdx_cli; sgdx_cli.main()", *arguments)
    scores = json.loads((tmp_path / "outputs" / "possible_values" / "scores.json").read_text())
    assert "system-acts:no" in scores["signature"]
    assert 0 < scores["sgdx"]["jga_orig"] < 0.2
    assert scores["frames"]["all"] == 273


def test_the_folders_that_it_names_are_there() -> None:
    text = README.read_text()
    for name in re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+\.py)`", text):
        if "possible_values" not in name and not name.startswith(("NAME", "tests", "config")):
            rooms = (ROOT / "baselines", ROOT, ROOT / "sgdx_eval" / "report")
            places = (*(room / name for room in rooms), *ROOT.glob(f"baselines/*/{name}"))
            assert any(place.exists() for place in places), name


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
    python(tmp_path, "-c", HIDE + script)
    assert (tmp_path / "run" / "scores.json").exists()


def test_what_needs_an_extra_names_it_in_one_line(tmp_path: Path) -> None:
    commands = {
        "baselines.train --config onepass/smoke": "baselines",
        "baselines.predict --tracker t5dst --model x --output o": "baselines",
        "baselines.evaluate --model model --output o": "baselines",
        "baselines.report run --output report": "report",
        "baselines.llm.__main__ predict --model m --base-url http://a --output l": "llm",
        "baselines.llm.__main__ from-inspect log.eval --output l": "inspect",
    }
    # As much of a trained model as is read before torch is needed.
    (tmp_path / "model").mkdir()
    record = {"record": {"seen": {"tracker": "onepass"}, "settings": {}}}
    (tmp_path / "model" / "run.json").write_text(json.dumps(record))
    evaluate = "baselines.evaluate --tracker lexical --config original --output run".split()
    lines = python(
        tmp_path, "-c", HIDE + RUN, json.dumps([evaluate, *map(str.split, commands)])
    ).splitlines()
    results = [json.loads(line) for line in lines if line.startswith("[")]
    assert results[0][0] == 0
    for (command, extra), (status, error) in zip(commands.items(), results[1:], strict=True):
        assert status == 2, command
        assert error.count("\n") == 1
        assert f".[{extra}]" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "run"]
