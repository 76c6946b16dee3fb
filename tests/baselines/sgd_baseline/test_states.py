"""What changes from turn to turn, across gaps, and its sum."""

from __future__ import annotations

from baselines.sgd_baseline.states import Change, accumulate, difference, differences

CABS, VETS = ("original", "1_00000", 0), ("original", "1_00000", 1)


def test_difference() -> None:
    before = {"city": ["Galway"], "time": ["6:15 pm"], "shared": ["False"]}
    now = {"city": ["Cork"], "time": ["6:15 pm", "quarter past six"], "seats": ["2"]}
    assert difference(before, now) == {"city": ["Cork"], "seats": ["2"]}
    assert difference({}, now) == now
    assert difference(before, before) == {}
    assert difference(before, {}) == {}  # what is gone cannot be said
    assert difference({"city": ["Cork"]}, {"city": ["dontcare"]}) == {"city": ["dontcare"]}
    reworded = {"time": ["quarter past six", "6:15 pm"]}
    assert difference({"time": ["6:15 pm"]}, reworded) == {}


def test_differences_are_to_the_same_service_however_long_ago() -> None:
    groups = [CABS, VETS, VETS, CABS, CABS]
    states = [
        {"city": ["Galway"]},
        {"city": ["Galway"], "pet": ["cat"]},
        {"city": ["Cork"], "pet": ["cat"]},
        {"city": ["Galway"], "seats": ["2"]},  # two turns later
        {"city": ["Sligo"], "seats": ["2"]},
    ]
    assert list(differences(groups, states)) == [
        {"city": ["Galway"]},
        {"city": ["Galway"], "pet": ["cat"]},
        {"city": ["Cork"]},
        {"seats": ["2"]},
        {"city": ["Sligo"]},
    ]


def test_dialogues_and_variants_do_not_share_a_state() -> None:
    groups = [CABS, ("original", "1_00001", 0), ("v1", "1_00000", 2)]
    assert list(differences(groups, [{"city": ["Cork"]}] * 3)) == [{"city": ["Cork"]}] * 3


def test_accumulation() -> None:
    groups = [CABS, VETS, CABS, CABS, VETS]
    changes = [
        Change(slot_values={"city": "Galway"}),
        Change(slot_values={"pet": "cat"}),
        Change(slot_values={}),
        Change(slot_values={"city": "dontcare", "seats": "2"}),
        Change(slot_values={"city": "Cork"}),
    ]
    found = list(accumulate(groups, changes))
    assert found == [
        {"city": "Galway"},
        {"pet": "cat"},
        {"city": "Galway"},
        {"city": "dontcare", "seats": "2"},
        {"pet": "cat", "city": "Cork"},
    ]
