"""Decoding: the rules, each with a literal case."""

from __future__ import annotations

from typing import Any

import pytest

from baselines.onepass.decode import Answer, CandidateSpan, SlotAnswer, decode
from baselines.onepass.frames import KnownValue
from baselines.onepass.labels import DONTCARE, FROM, GIVEN, KEEP, SAY, STATUSES, TextSpan
from sgdx_dataset.schema import Service

from .conftest import frame_of

MAKE, EIGHT, DEAR = TextSpan(1, 0, 4), TextSpan(1, 8, 9), TextSpan(1, 24, 28)


def says(status: int, **changes: Any) -> SlotAnswer:
    """An answer whose likeliest status is the given one."""
    logits = tuple(float(number == status) for number in range(STATUSES))
    given: dict[str, Any] = {"requested": 0.0, "spans": ()}
    return SlotAnswer(statuses=logits, **({"value": 0, "known": 0} | given | changes))


@pytest.mark.parametrize(
    ("slot", "answer", "value"),
    [
        ("time", says(KEEP), "7 pm"),
        ("time", says(SAY, spans=(CandidateSpan(EIGHT, -0.1),)), "8"),
        ("time", says(DONTCARE), "dontcare"),
        ("party_size", says(SAY, value=2), "3"),
        ("party_size", says(GIVEN), "2"),
        ("day", says(FROM), "May 5th"),
        ("price", says(KEEP), None),
    ],
)
def test_statuses(restaurants: Service, slot: str, answer: SlotAnswer, value: str | None) -> None:
    frame = frame_of(restaurants, first=True)
    state = decode(frame, Answer("FindPlace", {slot: answer}))
    assert state.intent == "FindPlace"
    assert state.values.get(slot) == (None if value is None else [value])
    assert state.values["restaurant"] == ["Luigi's"]  # carried
    assert frame.carried["time"] == "7 pm"  # nothing is changed in place


def test_requested_slots_are_those_over_one_half(restaurants: Service) -> None:
    answers = {"price": says(KEEP, requested=0.51), "day": says(KEEP, requested=0.5)}
    assert decode(frame_of(restaurants), Answer("NONE", answers)).requested == ("price",)


def test_other_services_are_asked_in_a_first_frame_or_at_a_new_intent(restaurants: Service) -> None:
    answers = {"day": says(FROM)}
    later = frame_of(restaurants, intent="FindPlace")
    assert "day" not in decode(later, Answer("FindPlace", answers)).values
    assert decode(later, Answer("ReserveTable", answers)).values["day"] == ["May 5th"]
    first = frame_of(restaurants, first=True, known=(KnownValue("x", "1"), KnownValue("y", "2")))
    answers = {"day": says(FROM, known=1)}
    assert decode(first, Answer("NONE", answers)).values["day"] == ["2"]


def test_the_likelier_slot_has_a_span_and_the_other_its_next_one(restaurants: Service) -> None:
    answers = {
        "time": says(SAY, spans=(CandidateSpan(EIGHT, -0.2), CandidateSpan(DEAR, -0.9))),
        "day": says(SAY, spans=(CandidateSpan(EIGHT, -0.1), CandidateSpan(MAKE, -0.3))),
        "restaurant": says(
            SAY, spans=(CandidateSpan(TextSpan(1, 0, 9), -0.3), CandidateSpan(MAKE, -0.4))
        ),
    }
    values = decode(frame_of(restaurants), Answer("NONE", answers)).values
    # "Make it 8" shares the 8 with the day; the second spans are likelier than that nothing changes
    assert values == {"time": ["dear"], "day": ["8"], "restaurant": ["Make"]}


def test_a_slot_whose_span_is_another_s_stays_where_that_is_likelier(restaurants: Service) -> None:
    answers = {
        "time": says(
            SAY, spans=(CandidateSpan(EIGHT, -0.7), CandidateSpan(DEAR, -1.2))
        ),  # 0 for keeping
        "day": says(SAY, spans=(CandidateSpan(EIGHT, -0.1),)),
    }
    values = decode(frame_of(restaurants), Answer("NONE", answers)).values
    assert values == {"time": ["7 pm"], "day": ["8"], "restaurant": ["Luigi's"]}
    answers["time"] = says(SAY, spans=(CandidateSpan(EIGHT, -0.7), CandidateSpan(DEAR, -0.9)))
    assert decode(frame_of(restaurants), Answer("NONE", answers)).values["time"] == ["dear"]
    kept = decode(frame_of(restaurants), Answer("NONE", answers), keep_bias=0.2)
    assert kept.values["time"] == ["7 pm"]


def test_slots_compete_by_probability_and_not_by_logit(restaurants: Service) -> None:
    high = says(SAY, spans=(CandidateSpan(EIGHT, -0.1),))._replace(
        statuses=(8.9, 9.0, 8.9, 8.9, 8.9)
    )
    sure = says(SAY, spans=(CandidateSpan(EIGHT, -0.1),))._replace(statuses=(-9.0, 1.0, -9, -9, -9))
    values = decode(frame_of(restaurants), Answer("NONE", {"time": high, "day": sure})).values
    assert (values["time"], values["day"]) == (["7 pm"], ["8"])


def test_untracked_slots_are_dropped(restaurants: Service) -> None:
    frame = frame_of(restaurants, carried={"price": "dear", "time": "7 pm"})
    answers = {"price": says(DONTCARE)}
    assert decode(frame, Answer("NONE", answers)).values == {"time": ["7 pm"]}
