"""The model of ``models/onepass``: it can be loaded, it tracks, and its figure is what it says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from baselines.own_apis.suite import judge, read_suite
from baselines.use import SHIPPED_MODEL, load_tracker
from sgdx_metric.cli.paired_results import only_dialogues
from sgdx_metric.cli.results import read_results

from ...conftest import ROOT, Run


def test_it_tracks_dialogues_about_apis_that_it_has_never_seen() -> None:
    verdicts = judge(load_tracker(str(SHIPPED_MODEL)), read_suite())
    (laundry,) = [one for one in verdicts if one.dialogue.dialogue_id == "laundry-5"]
    assert laundry.states[-1]["slot_values"] == {
        "collect_date": ["Wednesday"],
        "collect_time": ["2 pm"],
        "door": ["9 Foundry Yard"],
        "service_kind": ["dry clean"],
    }
    right = sum(len(verdict.right) for verdict in verdicts)
    assert right == pytest.approx(139, abs=3)  # CPUs round differently
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert "it finds 139 of 299 values" in page


@pytest.mark.release
def test_its_figure_is_that_of_its_scores(run: Run, tmp_path: Path, release_archive: Path) -> None:
    chosen = json.loads((ROOT / "results" / "test-292.json").read_text())["ids"][:24]
    (tmp_path / "ids.json").write_text(json.dumps(chosen))
    done = run(
        "baselines.evaluate", "--model", str(SHIPPED_MODEL), "--source", str(release_archive),
        "--config", "original", "--dialogues", "ids.json", "--output", "again",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    published = read_results(SHIPPED_MODEL / "scores.json")
    kept = only_dialogues(published, chosen, "ids.json").jga["original"]
    again = read_results(tmp_path / "again" / "scores.json").jga["original"]
    assert len(kept) > 150
    assert np.mean(np.abs(kept - again) > 0.01) < 0.02  # CPUs round differently
