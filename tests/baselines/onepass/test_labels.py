"""Decoding and labels: the rules, each with a literal case, and errors in the carried state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from baselines.data.dialogues import Gold, State
from baselines.onepass.data import Answer, CandidateSpan, SlotAnswer, decode
from baselines.onepass.examples import Example, FrameExamples, SchemaNoise, StateNoise, gold_answer
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
from baselines.onepass.layout import Vocabulary
from sgdx_dataset.schema import Service

from .conftest import SYSTEM, frame_of

ORDER = "Eat at 8 on May 5th"


def gold(
    values: dict[str, list[str]],
    intent: str = "NONE",
    requested: tuple[str, ...] = (),
    spans: dict[str, list[tuple[int, int]]] | None = None,
) -> Gold:
    return Gold(State(intent, values, requested), spans or {})


def statuses(*right: int) -> Paths:
    return Paths(frozenset(right))


def test_a_slot_without_gold_value_keeps_what_it_has(restaurants: Service) -> None:
    frame = frame_of(restaurants)
    assert paths_of(frame, gold({}), "day") == statuses(KEEP)
    assert paths_of(frame, gold({}), "time") == statuses(KEEP)  # the state was emptied


def test_a_carried_value_may_be_kept_or_taken_again(restaurants: Service) -> None:
    frame = frame_of(restaurants)
    right = gold({"time": ["19:00", "7 pm"]})
    assert paths_of(frame, right, "time") == statuses(KEEP, GIVEN)
    without = frame_of(restaurants, carried={})
    assert paths_of(without, right, "time") == statuses(GIVEN)
    earlier = frame_of(restaurants, carried={}, offered_now={}, offered_earlier={"time": "7 pm"})
    assert paths_of(earlier, right, "time") == statuses(GIVEN)
    assert not paths_of(frame_of(restaurants, carried={}, offered_now={}), right, "time")


def test_dontcare(restaurants: Service) -> None:
    right = gold({"day": ["dontcare"]})
    assert paths_of(frame_of(restaurants), right, "day") == statuses(DONTCARE)
    carried = frame_of(restaurants, carried={"day": "dontcare"})
    assert paths_of(carried, right, "day") == statuses(KEEP, DONTCARE)


def test_a_possible_value_is_said_unless_it_is_kept(restaurants: Service) -> None:
    frame = frame_of(restaurants)
    assert paths_of(frame, gold({"party_size": ["3"]}), "party_size") == Paths(values=(2,))
    offered = Paths(frozenset({GIVEN}), values=(1,))
    assert paths_of(frame, gold({"party_size": ["2"]}), "party_size") == offered
    carried = frame_of(restaurants, carried={"party_size": "2"}, offered_now={})
    assert paths_of(carried, gold({"party_size": ["2"]}), "party_size") == statuses(KEEP)
    assert not paths_of(frame, gold({"party_size": ["9"]}), "party_size")


def test_annotated_spans_come_before_mentions(restaurants: Service) -> None:
    frame = frame_of(restaurants, utterances=(Utterance("USER", "8, I mean at 8", True),))
    one = gold({"time": ["8"]}, spans={"time": [(13, 14)]})
    assert paths_of(frame, one, "time") == Paths(spans=(TextSpan(0, 13, 14),))
    two = gold({"time": ["8"]}, spans={"time": [(0, 1), (13, 14)]})
    assert len(paths_of(frame, two, "time").spans) == 2
    wrong = gold({"time": ["8"]}, spans={"time": [(3, 4)]})
    assert paths_of(frame, wrong, "time") == Paths(spans=(TextSpan(0, 0, 1),))


def test_mentions_are_looked_for_in_what_is_readable_and_latest_first(restaurants: Service) -> None:
    heard = (
        Utterance("USER", "at 8", True),
        Utterance("SYSTEM", "At 8 or 9?", True),
        Utterance("USER", "Yes", True),
    )
    frame = frame_of(restaurants, utterances=heard, carried={}, offered_now={})
    assert paths_of(frame, gold({"time": ["8"]}), "time").spans == (TextSpan(1, 3, 4),)
    deaf = frame_of(
        restaurants,
        utterances=(Utterance("SYSTEM", "At 8?", False), Utterance("USER", "Yes", True)),
        offered_now={},
    )
    assert not paths_of(deaf, gold({"time": ["8"]}), "time")


def test_a_value_of_another_service_enters_at_the_right_time_only(restaurants: Service) -> None:
    right = gold({"day": ["May 5th"]})
    known = (KnownValue("price", "7"), KnownValue("concert_date", "May 5th"))
    first = frame_of(restaurants, first=True, known=known)
    assert paths_of(first, right, "day") == Paths(known=(1,))
    later = frame_of(restaurants, known=known)
    assert not paths_of(later, right, "day")
    turned = gold({"day": ["May 5th"]}, intent="FindPlace")
    assert paths_of(later, turned, "day") == Paths(known=(1,))
    said = frame_of(restaurants, first=True, utterances=(Utterance("USER", ORDER, True),))
    assert paths_of(said, right, "day") == Paths(spans=(TextSpan(0, 12, 19),))
    having = frame_of(restaurants, first=True, carried={"day": "May 4th"})
    assert not paths_of(having, right, "day")


def test_labels_are_of_the_tracked_slots(restaurants: Service) -> None:
    labels = labels_of(frame_of(restaurants), gold({}, requested=("price",)))
    assert list(labels.paths) == ["time", "party_size", "restaurant", "day"]
    assert labels.intent == "NONE"
    assert labels.requested == {"price"}
    unknown = labels_of(frame_of(restaurants), gold({}, intent="Swim"))
    assert unknown.intent is None


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


DROP, REPLACE = StateNoise(drop=1.0), StateNoise(replace=1.0)
RIGHT = {"time": ["7 pm"], "restaurant": ["Luigi's"]}


def gold_with(**values: list[str]) -> Gold:
    return gold(RIGHT | values)


def noised(frame: FrameInput, right: Gold, noise: StateNoise) -> FrameInput:
    return noise.frame(frame, right, np.random.default_rng(0))


def test_a_confirmed_value_is_dropped_and_the_proposal_is_then_right(restaurants: Service) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time"}))
    assert paths_of(frame, gold_with(), "time").statuses == {KEEP, GIVEN}
    dropped = noised(frame, gold_with(), DROP)
    assert dropped.carried == {"restaurant": "Luigi's"}
    assert paths_of(dropped, gold_with(), "time").statuses == {GIVEN}
    assert frame.carried == {"time": "7 pm", "restaurant": "Luigi's"}


def test_an_offer_alone_is_no_reason(restaurants: Service) -> None:
    """Else the model would learn to take offers that nobody has accepted."""
    frame = frame_of(restaurants)
    assert noised(frame, gold_with(), DROP).carried == frame.carried


def test_a_value_that_is_said_is_dropped(restaurants: Service) -> None:
    said = (Utterance("SYSTEM", SYSTEM, False), Utterance("USER", "Yes, at 7 pm.", True))
    dropped = noised(frame_of(restaurants, utterances=said, offered_now={}), gold_with(), DROP)
    assert dropped.carried == {"restaurant": "Luigi's"}
    (span,) = paths_of(dropped, gold_with(), "time").spans
    assert said[1].text[span.start : span.end] == "7 pm"
    part_of_a_word = (Utterance("USER", "Yes, at 17 pm.", True),)
    kept = frame_of(restaurants, utterances=part_of_a_word, offered_now={})
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


def test_a_value_that_this_turn_changes_is_left(restaurants: Service) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time"}))
    changed = gold_with(time=["8"])
    assert noised(frame, changed, DROP).carried == frame.carried


def test_noise_is_the_same_for_a_seed_and_another_for_another_batch(
    restaurants: Service, vocabulary: Vocabulary
) -> None:
    frame = frame_of(restaurants, confirmed=frozenset({"time", "restaurant"}))
    frames = [Example(frame, gold_with(), 2, 0)] * 8
    order = np.arange(8)
    made, again, plain = (
        FrameExamples(frames, vocabulary, 512, SchemaNoise(), 0, *noise)
        for noise in ([StateNoise(0.5, 0.2)], [StateNoise(0.5, 0.2)], [])
    )
    one, other = made.batch(order), made.batch(order[::-1])
    assert all(torch.equal(tensor, one[name]) for name, tensor in again.batch(order).items())
    assert one["input_ids"].tolist() != other["input_ids"].tolist()
    assert one["status_label"].sum() < plain.batch(order)["status_label"].sum()
    assert frame.carried == {"time": "7 pm", "restaurant": "Luigi's"}
