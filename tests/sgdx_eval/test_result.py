"""The scores.json of real runs are read, and what is written is read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdx_eval.result import read_result, write_result
from sgdx_eval.tasks import TASKS
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.units import Items, Scores

from ..conftest import ROOT


@pytest.mark.parametrize(
    ("run", "worst", "flips"),
    [
        ("lexical", 27.8, 14.1),
        ("onepass-minilm_cpu", 34.9, 41.8),
        ("onepass-minilm_all", 40.7, 37.1),
    ],
)
def test_results_of_the_project(run: str, worst: float, flips: float) -> None:
    """Scores of real runs, held against the plain minimum of what each frame scores."""
    result = read_result(ROOT / "results" / run).result
    rows = pq.read_table(ROOT / "results" / run / "items.parquet").to_pylist()
    by_frame: dict[str, list[float]] = {}
    for row in rows:
        by_frame.setdefault(row["id"], []).append(row["jga"])
    frames = by_frame.values()
    assert result["jga_worst"] == pytest.approx(sum(map(min, frames)) / len(frames))
    assert result["jga_worst"] == pytest.approx(worst / 100, abs=5e-4)
    flipped = [min(f) < 0.5 <= max(f) for f in frames]
    assert result["flips"] == pytest.approx(sum(flipped) / len(frames))
    assert result["flips"] == pytest.approx(flips / 100, abs=5e-4)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Items keep their order, their dialogues and what is undefined; so do the figures."""
    items = Items(
        pa.array(["b", "c", "a"]),
        np.array([0, 1, 0]),
        np.arange(3),
        np.array(["S", "T", "S"], dtype=object),
        {"seen": np.array([True, False, True])},
    )
    rows = np.array([[1.0, np.nan, 1.0], [0.0, 0.5, 1.0]])
    scores = Scores(["original", "v1"], items, {"right": rows})
    line = "sgdx_tools|variants:original+v1|version:0"
    made = Result(task="tools", signature=line, figures=figures(scores, TASKS["tools"].metrics))
    write_result(made, scores, tmp_path / "scores.json")
    read = read_result(tmp_path)
    assert read.result == made and read.result["right_drop"] is not None
    found = read.scores
    assert found.items.ids.to_pylist() == ["b", "c", "a"]
    assert found.items.dialogue.tolist() == [0, 1, 0] and found.items.seen.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(found.metrics["right"], rows)
