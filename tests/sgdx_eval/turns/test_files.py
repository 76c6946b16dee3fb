"""scores.json of generated turns, written and read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sgdx_eval.files import write_scores
from sgdx_eval.results import read_results
from sgdx_metric.signature import Setup
from sgsacc_metric.rows import Prediction
from sgsacc_metric.system import score_system

from ...sgsacc_metric.turns import four_turns


def test_counts_come_back_as_they_were(tmp_path: Path) -> None:
    turns = four_turns()
    variants = ("original", "v1", "v2")
    predictions = [Prediction(turn.turn_id, v, f"{v} hotel ?") for v in variants for turn in turns]
    system = score_system(turns, turns, predictions, setup=Setup("test", "sample"))
    path = tmp_path / "scores.json"
    write_scores(system.scores_json(), path)
    assert json.loads(path.read_text()) == system.scores_json()
    results = read_results(path)
    assert results.signature == system.report["signature"]
    read, made = results.raw, system.units
    assert (read.wordings, read.items.ids) == (list(made.wordings), made.items.ids)
    assert read.items.service.tolist() == made.items.service.tolist()
    for name, member in made.items.sets.items():
        assert np.array_equal(read.items.sets[name], member)
    for name, counts in made.metrics.items():
        assert np.array_equal(read.metrics[name], counts), name
    for name, stat in made.shared.items():
        assert np.array_equal(read.shared[name], stat), name
    figures = results.sample().values()
    assert figures == {key: system.report["sgdx"][key] for key in figures}
