"""The task and the figure that the page for contributors shows, run as they stand there."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sgdx_dataset import frame_tables, open_release
from sgdx_eval.report.page import build_page
from sgdx_eval.tasks import TASKS
from sgdx_metric.figures import JGA
from sgdx_metric.statistics import Sample, mean
from sgdx_metric.units import Scores, index_frames

from ..conftest import ROOT, Run
from ..sgdx_metric.frames import written

FIGURE, TASK = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
VARIANTS = ("original", "v1", "v5")


@pytest.fixture
def predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold intents but for every fifth frame under v5, and the task of the page."""
    (tmp_path / "intents.py").write_text(TASK)
    monkeypatch.syspath_prepend(tmp_path)
    task = import_module("intents").Intents()
    monkeypatch.setitem(TASKS, task.name, task)
    for variant in VARIANTS:
        columns = ["frame_id", "variant", "active_intent"]
        rows = frame_tables(open_release("sample"), "test", variant, columns).to_pylist()
        for row in rows[::5] if variant == "v5" else ():
            row["active_intent"] = "?"
        written(tmp_path / f"{variant}.jsonl", rows, task="intents", variant=variant)
    return tmp_path


def test_a_task_of_one_file_in_all_commands(predictions: Path, command: Run) -> None:
    words = ("--source", "sample", "--predictions", predictions)
    for name in ("first", "second"):
        done = command("sgdx_metric", "score", *words, "--output", f"{name}.json", "--explain")
        assert done.returncode == 0, done.stderr
    scores = json.loads(Path("first.json").read_text())
    wrong = 55 / 273
    figures = scores["sgdx"]
    assert figures["intent.original"] == 1 and scores["frames"]["all"] == 273
    assert figures["intent.reworded"] == pytest.approx(1 - wrong / 2)
    assert figures["intent.worst"] == pytest.approx(1 - wrong)
    assert figures["intent.flips"] == pytest.approx(wrong)
    assert figures["by_variant"] == {"original": 1, "v1": 1, "v5": pytest.approx(1 - wrong)}
    low, high = figures["confidence"]["intent.drop"]
    assert figures["intent.drop"] == pytest.approx(-wrong / 2)
    assert low < -wrong / 2 < high
    assert scores["signature"].startswith("sgdx_metric|task:intents|")
    assert "Intent accuracy by variant" in done.stdout

    done = command("sgdx_metric", "compare", "first.json", "second.json", "--json", "c.json")
    assert done.returncode == 0, done.stderr
    compared = json.loads(Path("c.json").read_text())["groups"]["unseen"]["intent.worst"]
    assert (compared["difference"], compared["p"]) == (0, 1)
    done = command("sgdx_metric", "summarise", "first.json", "second.json", "--output", "m.json")
    assert done.returncode == 0, done.stderr
    mean = json.loads(Path("m.json").read_text())["groups"]["all"]["intent.flips"]
    assert (mean["mean"], mean["sd"]) == (pytest.approx(55 / 273), 0)
    (part,) = build_page([Path("first.json")], "command")["parts"]
    assert part["verdict"] and part["verdict"].sentences[0].text.startswith("first: 89.9 % intent ")
    names = [picture.name for picture in part["pictures"]]
    assert names == ["intents_by_variant", "intents_drop_beside_flips", "intents_by_turn"]
    done = command("sgdx_metric", "explain", *words, "--flips")
    assert done.returncode == 0, done.stderr
    assert "55" in done.stdout


def test_a_figure_of_one_entry() -> None:
    frames = pa.array([f"1_0000{i}/0/Cabs_1" for i in range(4)])
    items = index_frames(frames, np.array([True] * 4))
    rows = np.array([[1.0, 1, 1, 1], [1, 0, 0, 1]])
    scores = Scores(["original", "v5"], items, {"joint_goal_accuracy": rows})
    figure = eval(FIGURE, {"mean": mean, "JGA": JGA, "scores": scores})  # noqa: S307
    sample = Sample([figure], items.dialogue)
    assert sample.values() == {"jga_v5": 0.5} and sample.intervals()["jga_v5"] == [0, 1]
