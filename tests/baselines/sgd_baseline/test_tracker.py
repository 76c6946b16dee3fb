"""Tracking: one pass for all variants, no gold, states of predictions alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from datasets import Dataset

from baselines.data.frames import track
from baselines.sgd_baseline.frames import last_utterances, read_frames
from baselines.sgd_baseline.settings import SgdSettings
from baselines.sgd_baseline.tracker import SgdTracker
from baselines.trained import with_steps

from ..conftest import RECIPES

Row = dict[str, Any]


def predictions(tracker: SgdTracker, rows: Dataset, folder: Path) -> list[Row]:
    return track(tracker, rows, folder).rows


def of_variant(rows: Dataset, variant: str) -> Dataset:
    return rows.select([i for i, name in enumerate(rows["variant"]) if name == variant])


def test_variants_together_are_variants_apart_for_one_pass_of_the_encoder(
    tracker: SgdTracker, test_rows: Dataset, tmp_path: Path
) -> None:
    passes: list[int] = []
    hook = tracker.model.encoder.register_forward_hook(
        lambda module, given, named, output: passes.append(len(named["input_ids"])),
        with_kwargs=True,
    )
    together = predictions(tracker, test_rows, tmp_path / "together")
    of_all = list(passes)
    apart = []
    for variant in ("original", "v2", "v5"):
        passes.clear()
        rows = of_variant(test_rows, variant)
        apart += predictions(tracker, rows, tmp_path / variant)
        assert passes == of_all
    hook.remove()
    assert together == apart
    assert sum(of_all) == len(set(read_frames(test_rows).texts)) <= len(test_rows) / 3
    assert [row["frame_id"] for row in together] == list(test_rows["frame_id"])
    assert [row["variant"] for row in together] == list(test_rows["variant"])
    # An untrained model says something, and not the same under each schema's words.
    values = {str(row["slot_values"]) for row in together}
    assert len(values) > 10


def test_a_state_lasts_in_its_dialogue(
    tracker: SgdTracker, test_rows: Dataset, tmp_path: Path
) -> None:
    """Slots are changed or kept, never dropped, and a dialogue begins with none of another's."""
    rows = predictions(tracker, test_rows, tmp_path)
    before: dict[tuple[str, str, str], set[str]] = {}
    kept = 0
    for row in rows:
        dialogue, _, service = row["frame_id"].split("/")
        slots = {given["slot"] for given in row["slot_values"]}
        last = before.get((row["variant"], dialogue, service), set())
        assert last <= slots
        kept += len(last)
        before[row["variant"], dialogue, service] = slots
    assert kept > 0


def test_a_killed_run_goes_on(
    tracker: SgdTracker,
    test_rows: Dataset,
    tmp_path: Path,
) -> None:
    expected = predictions(tracker, test_rows, tmp_path)
    chunks = sorted(tmp_path.rglob("*.json"))
    assert len(chunks) > 1
    kept = chunks[0].stat().st_mtime_ns
    chunks[1].unlink()
    assert predictions(tracker, test_rows, tmp_path) == expected
    assert chunks[0].stat().st_mtime_ns == kept
    assert chunks[1].exists()


def test_epochs_are_whole_whatever_the_data() -> None:
    """Under an augmentation that doubles the turns, there are twice as many steps."""
    recipe = msgspec.convert(RECIPES["sgd_baseline"] | {"epochs": 3, "steps": None}, SgdSettings)
    turns = np.full(40, 8)
    assert with_steps(recipe, turns, 1).steps == 9  # 3 x (16 + 16 + 8 turns)
    assert with_steps(recipe, np.tile(turns, 2), 1).steps == 15
    assert with_steps(recipe, turns, 2).steps == 8  # 3 x 5 batches of 8 turns, by twos
    halves = msgspec.structs.replace(recipe, accumulation=2)
    assert with_steps(halves, turns, 1).steps == 8
    small = msgspec.structs.replace(recipe, token_budget=8 * 8)
    assert with_steps(small, turns, 1).steps == 15
    assert with_steps(msgspec.structs.replace(recipe, steps=4), turns, 1).steps == 4


def test_what_was_said_last(test_rows: Dataset) -> None:
    table = test_rows.with_format("arrow")[3:40]
    found = last_utterances(table["history"])
    histories = test_rows.select(range(3, 40))["history"]
    expected = [turns[-1]["utterance"] if turns else "" for turns in histories]
    assert found == expected
    assert "" in found
