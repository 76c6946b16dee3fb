"""scores.json, written and read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sgdx_eval.turns.files import read_scores, write_scores
from sgsacc_metric.rows import Prediction
from sgsacc_metric.system import score_system

from ...sgsacc_metric.turns import four_turns


def test_units_come_back_as_they_were(tmp_path: Path) -> None:
    turns = four_turns()
    variants = ("original", "v1", "v2")
    predictions = [Prediction(turn.turn_id, v, f"{v} hotel ?") for v in variants for turn in turns]
    system = score_system(turns, turns, predictions, split="test", release="sample")
    path = tmp_path / "scores.json"
    write_scores(system.scores_json(), path)
    assert json.loads(path.read_text()) == system.scores_json()
    assert path.read_text().splitlines()[-2].startswith('  "units": {"dialogue":["1_00000",')
    scores = read_scores(path)
    units = scores.units
    assert scores.signature == system.report["signature"]
    assert (units.dialogue, units.service) == (system.units.dialogue, system.units.service)
    for variant in variants:
        for name, count in system.units.by_variant[variant].items():
            assert np.array_equal(units.by_variant[variant][name], count), name
    assert units.cross_variant.keys() == system.units.cross_variant.keys()


def test_files_that_are_no_scores(tmp_path: Path) -> None:
    units = {"dialogue": ["a"], "service": ["b"], "seen": [True], "seen_domain": []}
    units |= {"by_variant": {"v1": {"turns": [1]}}, "across": {}}
    cases = {
        "lengths": (
            {"signature": "sgsacc_metric|turns:1", "units": units},
            "lists of lengths [0, 1], expected one",
        ),
        "signature": ({"units": units}, "missing required field `signature`"),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError) as error:
            read_scores(path)
        assert str(error.value).startswith(f"{path}: ") and message in str(error.value)
