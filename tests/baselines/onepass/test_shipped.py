"""The model of ``models/onepass``: it can be loaded, it tracks, and its figure is what it says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from baselines import evaluate
from baselines.own_apis.suite import judge, read_suite
from baselines.use import SHIPPED_MODEL, load_tracker
from sgdx_eval.results import only_dialogues, read_results
from sgdx_metric.figures import JGA

from ...conftest import ROOT
from ..conftest import command


@pytest.mark.parametrize(
    ("chosen", "values"),
    [(slice(4, None, 5), 33), pytest.param(slice(None), 188, marks=pytest.mark.slow)],
)
def test_it_tracks_dialogues_about_apis_that_it_has_never_seen(chosen: slice, values: int) -> None:
    """One of the five dialogues about each API; all give the figure of results-own-apis.md."""
    verdicts = judge(load_tracker(str(SHIPPED_MODEL)), read_suite()[chosen])
    (laundry,) = [one for one in verdicts if one.dialogue.dialogue_id == "laundry-5"]
    assert laundry.states[-1]["slot_values"] == {
        "collect_date": ["Wednesday"],
        "collect_time": ["2 pm"],
        "door": ["9 Foundry Yard"],
        "service_kind": ["dry clean"],
    }
    right = sum(len(verdict.slots["right"]) for verdict in verdicts)
    assert right == pytest.approx(values, abs=max(1, values // 40))  # CPUs round differently


@pytest.mark.release
def test_its_figure_is_that_of_its_scores(
    tmp_path: Path, release_archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = json.loads((ROOT / "results" / "test-292.json").read_text())["ids"][:4]
    (tmp_path / "ids.json").write_text(json.dumps(chosen))
    words: list[object] = ["--model", SHIPPED_MODEL, "--source", release_archive]
    words += ["--config", "original", "--dialogues", tmp_path / "ids.json"]
    words += ["--output", tmp_path / "again"]
    assert command(monkeypatch, evaluate, *words) == 0
    published = read_results(SHIPPED_MODEL / "scores.json")
    kept = only_dialogues(published, chosen, "ids.json").raw.metrics[JGA][0]
    again = read_results(tmp_path / "again" / "scores.json").raw.metrics[JGA][0]
    assert len(kept) > 25
    assert np.mean(np.abs(kept - again) > 0.01) < 0.02  # CPUs round differently
