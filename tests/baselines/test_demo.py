"""The demo as a new user runs it: in an empty directory, with an empty cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..conftest import Run


def test_the_demo_prints_the_table_and_what_to_do_next(run: Run, tmp_path: Path) -> None:
    done = run("baselines.demo", HF_HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    for part in ("JGA_orig", "JGA_v1-5", "Diff_rel", "SS_JGA", "all", "seen", "unseen"):
        assert part in done.stdout
    assert "python -m sgdx_dataset prepare --source PATH" in done.stdout
    assert "baselines.evaluate --tracker lexical --output outputs/lexical\n" in done.stdout
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
    header = json.loads(a.splitlines()[0])
    assert header == {
        "metadata": {
            "task": "state",
            "variant": "v5",
            "split": "test",
            "source": "sample",
            "data": "1997e12934add94d",
            "system": {"model": "lexical", "tracker": "lexical", "system_acts": True},
        }
    }


@pytest.mark.slow
def test_the_demo_tracks_with_the_shipped_model(run: Run, tmp_path: Path) -> None:
    done = run("baselines.demo", "--tracker", "onepass", HF_HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "outputs" / "demo-onepass" / "scores.json").read_text())
    assert scores["sgdx"]["jga_orig"] == pytest.approx(0.397, abs=0.02)  # CPUs round differently
    assert "outputs/demo-onepass" in done.stdout
    assert "models/onepass --output outputs/onepass\n" in done.stdout
