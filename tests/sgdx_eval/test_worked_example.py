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
from sgdx_eval.result import read_result
from sgdx_eval.tasks import TASKS
from sgdx_metric.figures import figures
from sgdx_metric.result import Metric, Result, title
from sgdx_metric.units import Scores, index_frames

from ..conftest import ROOT, Run
from ..sgdx_metric.frames import written

METRIC, TASK = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
VARIANTS = ("original", "v1", "v5")


@pytest.fixture
def predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold intents but for every fifth frame under v5, and the task of the page."""
    (tmp_path / "intents.py").write_text(TASK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(TASKS, "intents", import_module("intents").TASK)
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
    result = read_result(Path("first.json")).result
    wrong = 55 / 273
    assert result["intent_orig"] == 1
    reworded, drop = result.main("intent", "reworded"), result.main("intent", "drop")
    assert reworded and reworded.value == pytest.approx(1 - wrong / 2) and reworded.items == 273
    assert drop and drop.value == pytest.approx(-wrong / 2) and drop.interval
    assert drop.interval[0] < -wrong / 2 < drop.interval[1]
    assert result["intent_worst(original+v1+v5)"] == pytest.approx(1 - wrong)
    assert result["intent_flips(original+v1+v5)"] == pytest.approx(wrong)
    assert result["intent_v1"] == 1
    assert result["intent_v5"] == pytest.approx(1 - wrong)
    assert result.signature.startswith("sgdx_metric|task:intents|")
    assert "intent by variant" in done.stdout

    done = command("sgdx_metric", "compare", "first.json", "second.json", "--json", "c.json")
    assert done.returncode == 0, done.stderr
    assert {f["value"] for f in json.loads(Path("c.json").read_text())["figures"]} == {0}
    done = command("sgdx_metric", "summarise", "first.json", "second.json", "--output", "m.json")
    assert done.returncode == 0, done.stderr
    (part,) = build_page([Path("first.json")], "command")["parts"]
    assert part["verdict"]
    assert part["verdict"].sentences[0].text == "first: intent is 89.9 % under other words"
    names = [picture.name for picture in part["pictures"]]
    assert names == ["intents_by_variant", "intents_drop_beside_flips", "intents_by_turn"]
    done = command("sgdx_metric", "explain", *words, "--flips")
    assert done.returncode == 0, done.stderr
    assert "55" in done.stdout


def test_a_metric_of_one_entry() -> None:
    frames = pa.array([f"1_0000{i}/0/Cabs_1" for i in range(4)])
    items = index_frames(frames, np.array([True] * 4))
    rows = np.array([[1.0, 1, 1, 1], [1, 0, 0, 1]])
    metric = eval(METRIC, {"Metric": Metric})  # noqa: S307
    scores = Scores(["original", "v5"], items, {metric.name: rows})
    result = Result(task="state", signature="", figures=figures(scores, [metric]))
    assert result["active_intent_accuracy_v5"] == 0.5
    assert result["active_intent_accuracy_flips(original+v5)"] == 0.5
    assert title(result.figures[0], metric) == "Intent_orig"
