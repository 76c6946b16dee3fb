"""Training dialogues with other values: texts, spans and states agree afterwards as before."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from baselines.data.dialogues import Dialogue, read_dialogues
from baselines.data.swaps import Pool, swap, swap_some, value_pool
from baselines.onepass.examples import gold_examples
from baselines.onepass.frames import Reading, labels_of
from baselines.onepass.system import READS
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import training_columns


@pytest.fixture(scope="module")
def many() -> tuple[list[Dialogue], Pool]:
    rows = frames(load("v2", "train", "many"))
    return list(read_dialogues(training_columns(rows, READS))), value_pool(rows)


def said(dialogue: Dialogue) -> str:
    return "\n".join(f"{turn.system}\n{turn.user}" for turn in dialogue.turns)


def counts(dialogues: Sequence[Dialogue], reading: Reading) -> dict[str, int]:
    """How many slots have which right paths."""
    paths = [
        path
        for example in gold_examples(dialogues, reading)[0]
        for path in labels_of(example.frame, example.gold).paths.values()
    ]
    kinds = {kind: sum(bool(getattr(p, kind)) for p in paths) for kind in ("spans", "statuses")}
    return {
        **kinds,
        "values": sum(bool(p.values) for p in paths),
        "none": sum(not p for p in paths),
    }


@pytest.mark.parametrize("reading", [Reading(acts=True, utterances=2), Reading(False, 4)])
def test_what_can_be_learnt_is_as_before(
    many: tuple[list[Dialogue], Pool], reading: Reading
) -> None:
    dialogues, pool = many
    swapped = list(swap_some(dialogues, pool, 1.0, 0))
    before, after = counts(dialogues, reading), counts(swapped, reading)
    assert before["values"] == after["values"] > 1000
    for kind in ("spans", "statuses", "none"):
        assert abs(before[kind] - after[kind]) <= 8


def test_most_free_values_are_new_and_the_rest_is_untouched(
    many: tuple[list[Dialogue], Pool],
) -> None:
    dialogues, pool = many
    kept = changed = 0
    for old, new in zip(dialogues, swap_some(dialogues, pool, 1.0, 0), strict=True):
        for before, after in zip(old.turns, new.turns, strict=True):
            (frame,), (other,) = before.frames, after.frames
            assert frame.schema is other.schema and frame.gold and other.gold
            states = frame.gold.state, other.gold.state
            assert states[0]._replace(values={}) == states[1]._replace(values={})
            for slot, values in states[0].values.items():
                assert len(states[1].values[slot]) == len(values)
                if frame.schema.slot(slot).is_categorical:
                    assert states[1].values[slot] == values
                changed += states[1].values[slot] != values
                kept += states[1].values[slot] == values and not frame.schema.slot(slot).values
            for slot, spans in frame.gold.spans.items():
                pairs = zip(spans, other.gold.spans[slot], strict=True)
                for (start, end), (new_start, new_end) in pairs:
                    text, value = before.user[start:end], after.user[new_start:new_end]
                    if text in states[0].values.get(slot, ()):
                        assert value in states[1].values[slot]
    assert changed > 3 * kept
    half = sum(a != b for a, b in zip(dialogues, swap_some(dialogues, pool, 0.5, 0), strict=True))
    assert 0.4 < half / len(dialogues) < 0.6
    assert list(swap_some(dialogues, pool, 0.0, 0)) == dialogues


def test_a_value_that_is_also_said_in_part_stays(many: tuple[list[Dialogue], Pool]) -> None:
    """A dialogue says "Dune Lounge", then "dune"; another one "Kiwi Nest", then "the Nest"."""
    dialogues, pool = many
    for name, part in (("Dune Lounge", r"\bdune\b(?! lounge)"), ("Kiwi Nest", r"(?<!Kiwi )Nest")):
        (dialogue,) = [d for d in dialogues if name in said(d) and re.search(part, said(d))]
        new = said(swap(dialogue, pool, np.random.default_rng(0)))
        assert name in new and new != said(dialogue)
