"""The scores of slots: of every answer, by kind and by what a variant costs."""

from __future__ import annotations

import pytest

from sgdx_eval.references import References
from sgdx_eval.report.slots.breakage import Analysis
from sgdx_eval.report.slots.scores import (
    FREE,
    KINDS,
    Words,
    changed_words,
)

from ..conftest import VARIANTS, Row, values


def test_an_answer_is_a_slot_or_an_intent_of_a_frame(
    forgetful: Analysis, sample: References, gold: dict[str, list[Row]]
) -> None:
    """All that has a value is right, but for two slots of Vets_1."""
    right = forgetful.gold
    rows = {row["frame_id"]: row for row in gold["original"]}
    forgotten = {name: set[tuple[str, str]]() for name in VARIANTS}
    with_value = set()
    for i, (frame, number) in enumerate(zip(right.frame.tolist(), right.element.tolist())):
        frame_id, element = right.frames.ids[frame].as_py(), right.elements[number]
        assert element.service == frame_id.rsplit("/")[-1]
        name = right.words(element, "original").name
        if element.is_intent:
            assert rows[frame_id]["active_intent"] == name and right.kind[i] == -1
        elif right.kind[i] >= 0:
            with_value.add((frame_id, name))
            slot = sample.schemas("original")[element.service].slot(name)
            assert (KINDS[right.kind[i]] == FREE) == (not slot.is_categorical)
        for variant in VARIANTS:
            if forgetful.runs[0][variant][i] < 1:
                forgotten[variant].add((frame_id, name))
    assert with_value == {(frame_id, slot) for frame_id in rows for slot in values(rows[frame_id])}
    first, second = (slot.name for slot in sample.schemas("original")["Vets_1"].slots[:2])
    of_vets = {pair for pair in with_value if pair[0].endswith("/Vets_1")}
    assert forgotten["v3"] == set()
    assert forgotten["v1"] == {pair for pair in of_vets if pair[1] == second}
    assert forgotten["v2"] == {pair for pair in of_vets if pair[1] in (first, second)}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (("has_wifi", "Whether it has wifi"), ("has_wifi", "Whether it has wifi"), 0),
        (("has_wifi", "Whether it has wifi"), ("has_wifi", "WHETHER it has Wi"), 1),
        (("has_wifi", "Whether"), ("internet_available", "Whether"), 2),
        (("city", ""), ("city_of_event", "where"), 3),
    ],
)
def test_changed_words(before: tuple[str, str], after: tuple[str, str], words: int) -> None:
    assert changed_words(Words(*before), Words(*after)) == words
