"""Decoding and labels: the rules, each with a literal case, and errors in the carried state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baselines.data.dialogues import Gold, State
from baselines.onepass.data import Answer, CandidateSpan, SlotAnswer, decode
from baselines.onepass.examples import StateNoise, gold_answer
from baselines.onepass.frames import (
    DONTCARE,
    FROM,
    GIVEN,
    KEEP,
    SAY,
    STATUSES,
    FrameInput,
    KnownValue,
    Paths,
    TextSpan,
    Utterance,
    labels_of,
    paths_of,
)
from sgdx_dataset.schema import Service

from .conftest import SYSTEM, frame_of


def gold(
    values: dict[str, list[str]],
    intent: str = "NONE",
    requested: tuple[str, ...] = (),
    spans: dict[str, list[tuple[int, int]]] | None = None,
) -> Gold:
    return Gold(State(intent, values, requested), spans or {})


def said(*texts: str, readable: bool = True) -> tuple[Utterance, ...]:
    """Utterances by turns, of which the user's is the last; he is always read."""
    users = [number % 2 == len(texts) % 2 for number in range(1, len(texts) + 1)]
    return tuple(
        Utterance("USER" if user else "SYSTEM", text, user or readable)
        for text, user in zip(texts, users)
    )


def statuses(*right: int) -> Paths:
    return Paths(frozenset(right))


TIME = {"time": ["19:00", "7 pm"]}
NOTHING: dict[str, Any] = {"carried": {}, "offered_now": {}}
EARLIER = NOTHING | {"offered_earlier": {"time": "7 pm"}}
TWICE = {"utterances": said("8, I mean at 8")}
ASKED = ("at 8", "At 8 or 9?", "Yes")


@pytest.mark.parametrize(
    ("changes", "right", "slot", "paths"),
    [
        ({}, gold({}), "day", statuses(KEEP)),
        ({}, gold({}), "time", statuses(KEEP)),  # the state was emptied
        ({}, gold(TIME), "time", statuses(KEEP, GIVEN)),
        ({"carried": {}}, gold(TIME), "time", statuses(GIVEN)),
        (EARLIER, gold(TIME), "time", statuses(GIVEN)),
        (NOTHING, gold(TIME), "time", Paths()),
        ({}, gold({"day": ["dontcare"]}), "day", statuses(DONTCARE)),
        ({"carried": {"day": "dontcare"}}, gold({"day": ["dontcare"]}), "day",
         statuses(KEEP, DONTCARE)),
        # A possible value is said unless it is kept.
        ({}, gold({"party_size": ["3"]}), "party_size", Paths(values=(2,))),
        ({}, gold({"party_size": ["2"]}), "party_size", Paths(frozenset({GIVEN}), values=(1,))),
        (NOTHING | {"carried": {"party_size": "2"}}, gold({"party_size": ["2"]}), "party_size",
         statuses(KEEP)),
        ({}, gold({"party_size": ["9"]}), "party_size", Paths()),
        # Annotated spans come before mentions; all of them are right, and only right ones.
        (TWICE, gold({"time": ["8"]}, spans={"time": [(13, 14)]}), "time",
         Paths(spans=(TextSpan(0, 13, 14),))),
        (TWICE, gold({"time": ["8"]}, spans={"time": [(0, 1), (13, 14)]}), "time",
         Paths(spans=(TextSpan(0, 0, 1), TextSpan(0, 13, 14)))),
        (TWICE, gold({"time": ["8"]}, spans={"time": [(3, 4)]}), "time",
         Paths(spans=(TextSpan(0, 0, 1),))),
        # The latest readable mention.
        (NOTHING | {"utterances": said(*ASKED)}, gold({"time": ["8"]}), "time",
         Paths(spans=(TextSpan(1, 3, 4),))),
        (NOTHING | {"utterances": said(*ASKED[1:], readable=False)}, gold({"time": ["8"]}), "time",
         Paths()),
    ],
)  # fmt: skip
def test_the_right_paths_of_a_slot(
    changes: dict[str, Any], right: Gold, slot: str, paths: Paths, restaurants: Service
) -> None:
    assert paths_of(frame_of(restaurants, **changes), right, slot) == paths


def test_a_value_of_another_service_enters_at_the_right_time_only(restaurants: Service) -> None:
    right = gold({"day": ["May 5th"]})
    known = (KnownValue("price", "7"), KnownValue("concert_date", "May 5th"))
    first = frame_of(restaurants, first=True, known=known)
    assert paths_of(first, right, "day") == Paths(known=(1,))
    later = frame_of(restaurants, known=known)
    assert not paths_of(later, right, "day")
    turned = gold({"day": ["May 5th"]}, intent="FindPlace")
    assert paths_of(later, turned, "day") == Paths(known=(1,))
    spoken = frame_of(restaurants, first=True, utterances=said("Eat at 8 on May 5th"))
    assert paths_of(spoken, right, "day") == Paths(spans=(TextSpan(0, 12, 19),))
    having = frame_of(restaurants, first=True, carried={"day": "May 4th"})
    assert not paths_of(having, right, "day")


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
        ("price", says(DONTCARE, requested=0.51), None),  # it is in no call, so in no state
        ("day", says(KEEP, requested=0.5), None),
    ],
)
def test_statuses(restaurants: Service, slot: str, answer: SlotAnswer, value: str | None) -> None:
    frame = frame_of(restaurants, first=True)
    state = decode(frame, Answer("FindPlace", {slot: answer}))
    assert state.intent == "FindPlace"
    assert state.requested == ((slot,) if answer.requested > 0.5 else ())
    assert state.values.get(slot) == (None if value is None else [value])
    assert state.values["restaurant"] == ["Luigi's"]  # carried
    assert frame.carried["time"] == "7 pm"  # nothing is changed in place


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


DROP, REPLACE = StateNoise(drop=1.0), StateNoise(replace=1.0)
RIGHT = {"time": ["7 pm"], "restaurant": ["Luigi's"]}


def gold_with(**values: list[str]) -> Gold:
    return gold(RIGHT | values)


def noised(frame: FrameInput, right: Gold, noise: StateNoise) -> FrameInput:
    return noise.frame(frame, right, np.random.default_rng(0))


def test_a_confirmed_value_is_dropped_and_the_proposal_is_then_right(restaurants: Service) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time"}))
    dropped = noised(frame, gold_with(), DROP)
    assert dropped.carried == {"restaurant": "Luigi's"}
    assert paths_of(dropped, gold_with(), "time").statuses == {GIVEN}
    assert frame.carried == {"time": "7 pm", "restaurant": "Luigi's"}
    # Neither is one that this turn changes, nor one that was only offered: else the model would
    # learn to take offers that nobody has accepted.
    assert noised(frame, gold_with(time=["8"]), DROP).carried == frame.carried
    offered = frame_of(restaurants)
    assert noised(offered, gold_with(), DROP).carried == offered.carried


def test_a_value_that_is_said_is_dropped(restaurants: Service) -> None:
    heard = said(SYSTEM, "Yes, at 7 pm.", readable=False)
    dropped = noised(frame_of(restaurants, utterances=heard, offered_now={}), gold_with(), DROP)
    assert dropped.carried == {"restaurant": "Luigi's"}
    (span,) = paths_of(dropped, gold_with(), "time").spans
    assert heard[1].text[span.start : span.end] == "7 pm"
    kept = frame_of(restaurants, utterances=said("Yes, at 17 pm."), offered_now={})
    assert noised(kept, gold_with(), DROP).carried == kept.carried


@pytest.mark.parametrize(("slot", "value"), [("time", "7 pm"), ("party_size", "2")])
def test_a_value_is_replaced_by_one_that_is_wrong(
    restaurants: Service, slot: str, value: str
) -> None:
    carried = {"time": "7 pm", "restaurant": "Luigi's", "party_size": "2"}
    frame = frame_of(restaurants, carried=carried, confirmed=frozenset({slot}))
    right = gold_with(party_size=["2"])
    replaced = noised(frame, right, REPLACE)
    assert {s for s in carried if replaced.carried[s] != carried[s]} == {slot}
    assert restaurants.slot(slot).admits(replaced.carried[slot])
    assert value not in replaced.carried[slot]
    assert KEEP not in paths_of(replaced, right, slot).statuses
    assert gold_answer(replaced, labels_of(replaced, right)).slots[slot].statuses[KEEP] == 0
