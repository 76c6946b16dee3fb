"""The model of ``models/onepass``: it can be loaded, it tracks, and its figure is what it says."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from baselines import evaluate
from baselines.publish import write_card
from baselines.use import SHIPPED_MODEL, load_tracker, track_dialogue
from sgdx_eval.result import only_dialogues, read_result
from sgdx_metric.figures import JGA

from ...conftest import ROOT, slot
from ..conftest import command


def test_it_tracks_a_dialogue_about_an_api_that_it_has_never_seen() -> None:
    """Laundry is in no corpus that it was trained on. It has errors."""
    kinds, truth = ["wash", "dry clean", "wash and iron"], ["True", "False"]
    powder = "Whether washing powder without perfume is used"
    service = {
        "service_name": "LaundryPickup",
        "description": "Have laundry collected, washed and brought back",
        "slots": [
            slot("collect_date", "Day on which the laundry is collected"),
            slot("collect_time", "Time at which the laundry is collected"),
            slot("bags", "How many bags of laundry there are", *"12345"),
            slot("service_kind", "What is done with the laundry", *kinds),
            slot("detergent_free_of_scent", powder, *truth),
            slot("door", "Address where the laundry is collected"),
        ],
        "intents": [
            {
                "name": "OrderPickup",
                "description": "Order that laundry is collected",
                "required_slots": ["collect_date", "collect_time", "bags", "door"],
                "optional_slots": {"service_kind": "wash", "detergent_free_of_scent": "False"},
            }
        ],
    }
    said = [
        "Hi there, I'd like my curtains cleaned. When can you come?",
        "We have Tuesday at 8 am or Wednesday at 2 pm.",
        "Wednesday is better for me.",
        "Curtains are usually dry cleaned. Is that all right?",
        "Fine with me. You'd come to 9 Foundry Yard.",
    ]
    *_, last = track_dialogue(load_tracker(str(SHIPPED_MODEL)), service, said)
    assert last["slot_values"] == {
        "collect_date": ["Wednesday"],
        "door": ["9 Foundry Yard"],
        "service_kind": ["wash"],
    }


def test_its_card_is_what_the_code_makes_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If not, `sgdx publish --model models/onepass` writes it."""
    shutil.copytree(SHIPPED_MODEL, tmp_path / "models" / "onepass", copy_function=os.symlink)
    (tmp_path / "models" / "onepass" / "README.md").unlink()
    monkeypatch.chdir(tmp_path)
    made = write_card(Path("models/onepass")).read_text(encoding="utf-8")
    assert (SHIPPED_MODEL / "README.md").read_text(encoding="utf-8") == made


@pytest.mark.release
def test_its_figure_is_that_of_its_scores(
    tmp_path: Path, release_archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = json.loads((ROOT / "results" / "test-292.json").read_text())["ids"][:4]
    (tmp_path / "ids.json").write_text(json.dumps(chosen))
    words: list[object] = ["--model", SHIPPED_MODEL, "--source", release_archive]
    words += ["--variant", "original", "--dialogues", tmp_path / "ids.json"]
    words += ["--output", tmp_path / "again"]
    assert command(monkeypatch, evaluate, *words) == 0
    published = read_result(SHIPPED_MODEL)
    kept = only_dialogues(published, chosen, "ids.json").scores.metrics[JGA][0]
    again = read_result(tmp_path / "again").scores.metrics[JGA][0]
    assert len(kept) > 25
    assert np.mean(np.abs(kept - again) > 0.01) < 0.02  # CPUs round differently
