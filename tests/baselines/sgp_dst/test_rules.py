"""The joining rules, each one and in their order, and what right answers make of the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from baselines.data.dialogues import (
    Dialogue,
    Frame,
    Gold,
    Memory,
    OpenTurn,
    State,
    UserTurn,
    Values,
    prediction_rows,
    read_dialogues,
    track_in_step,
)
from baselines.sgp_dst.data import contexts, is_from_elsewhere, unspoken_values
from baselines.sgp_dst.questions import FrameContext, Question
from baselines.sgp_dst.rules import Answer, Span, predict_states, read_contexts, track_dialogues
from baselines.sgp_dst.settings import Part
from baselines.sgp_dst.training import READS
from baselines.tracker import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.schema import Service
from sgdx_dataset.tracker_inputs import training_columns

from .schemas import CABS, MUSEUMS

NO = Answer(0, 0.99, 0.0)
KNOWN = {"museum": ["Ely"], "address": ["York"]}  # of the other service
OFFERED = {"destination": "Hull", "riders": "3", "pickup_time": "5 pm", "fare": "$9"}


def states(
    script: dict[str, Answer], before: Values, *schemas: Service, intent: int = 0
) -> list[State]:
    """The states of a turn's frames; the script has answers by submodel, slot and value."""
    museums = MUSEUMS.service_name
    memory = Memory(
        {CABS.service_name: State("PlanRide", before), museums: State("NONE", KNOWN)},
        {CABS.service_name: OFFERED}, {CABS.service_name: OFFERED}, schemas={museums: MUSEUMS},
    )  # fmt: skip
    turn = UserTurn("", "", [], [Frame(schema.service_name, schema, None) for schema in schemas])

    def ask(part: Part, questions: Sequence[Sequence[Question]]) -> list[list[Answer]]:
        if part == "intent":
            return [[Answer(intent, 0.3, 0.0)] for _ in questions]
        return [
            [script.get(" ".join([part, of.slot, *of.values]), NO) for of in each]
            for each in questions
        ]

    return predict_states(ask, [FrameContext(memory, turn, frame) for frame in turn.frames])


def said(text: str, score: float) -> Answer:
    return NO._replace(span=Span(0, len(text), text, score))


def yes(score: float) -> Answer:
    return Answer(1, score, score)


BATH: Values = {"destination": ["Bath"]}


@pytest.mark.parametrize(
    ("script", "before", "expected"),
    [
        ({}, BATH, BATH),
        ({"combine destination": said("Wells", 1.01)}, BATH, {"destination": ["Wells"]}),
        ({"combine destination": said("Wells", 1.0)}, BATH, BATH),
        ({"combine shared": Answer(2, 0.81, 0)}, {}, {"shared": ["True"]}),
        ({"combine shared": Answer(2, 0.8, 0)}, {}, {}),
        ({"combine shared": Answer(2, 0.9, 0, 0.91)}, {}, {}),  # requested
        ({"combine riders": said("2", 1.9)}, {}, {}),  # no span of a categorical slot
        ({"combine fare": said("$9", 1.9), "copy fare $9": yes(0.99)}, {}, {}),  # of no intent
        (
            {"combine destination": said("5", 1.2), "combine pickup_time": said("5", 1.9)},
            {}, {"pickup_time": ["5"]},
        ),
        (
            {"combine destination": said("5", 1.9), "combine pickup_time": said("5", 1.2)},
            {}, {"destination": ["5"]},
        ),
        (
            {"combine destination": said("5", 1.9), "combine pickup_time": said("5 pm", 1.2)},
            {}, {"destination": ["5"], "pickup_time": ["5 pm"]},
        ),
        (
            {"cross destination Ely": yes(0.91), "cross destination York": yes(0.95),
             "copy destination Hull": yes(0.99), "copy riders 3": yes(0.86),
             "copy pickup_time 5 pm": yes(0.85)},
            {}, {"destination": ["York"], "riders": ["3"]},
        ),
        ({"cross destination Ely": yes(0.9)}, {}, {}),
        ({"copy destination Hull": yes(0.86)}, BATH, BATH),
        # Each of two rules would give another value to a slot.
        (
            {"combine destination": said("Wells", 1.9), "combine pickup_time": Answer(
                1, 0.9, 0.9, 0.0, Span(6, 7, "5", 1.9)), "cross pickup_time Ely": yes(0.99),
             "copy riders 3": yes(0.99)},
            BATH, {"destination": ["Wells"], "pickup_time": ["dontcare"], "riders": ["3"]},
        ),
    ],
)  # fmt: skip
def test_the_rules(script: dict[str, Answer], before: Values, expected: Values) -> None:
    kept = dict(before)
    (state,) = states(script, before, CABS)
    requested = tuple(s for s in CABS.slots_by_name if script.get(f"combine {s}", NO).requested)
    assert state == ("OrderCab", expected, requested)
    assert before == kept


@pytest.mark.parametrize("score", [1.2, 1.9])
def test_slots_of_two_services_do_not_share_a_string(score: float) -> None:
    script = {"combine destination": said("Bath", score), "combine museum": said("Bath", 1.5)}
    cabs, museums = (state.values for state in states(script, {}, CABS, MUSEUMS, intent=1))
    assert cabs == ({"destination": ["Bath"]} if score > 1.5 else {})
    assert museums["museum"] == (["Ely"] if score > 1.5 else ["Bath"])


class Right(NamedTuple):
    """What is right about a frame."""

    schema: Service
    gold: Gold
    new: Values
    unspoken: dict[str, set[str]]
    elsewhere: set[str]  # the slots whose new value does not come from the user


def right_answer(part: Part, question: Question, right: Right) -> Answer:
    """What a submodel without faults answers."""
    slot, values = question.slot, right.new.get(question.slot, [])
    if part == "intent":
        names = [*right.schema.intents_by_name, "NONE"]
        return Answer(names.index(right.gold.state.intent), 1.0, 0.0)
    if part == "copy":
        return yes(float(question.values[0] in values))
    if part == "cross":
        return yes(float(not right.unspoken.get(slot, set()).isdisjoint(question.values)))
    number, options = 0, right.schema.slot(slot).options
    if values and slot not in right.elsewhere and {*values} & {*options}:
        number = next(i for i, option in enumerate(options) if option in values)
    answer = Answer(number, 1.0, 0.0, float(slot in right.gold.state.requested))
    if slot not in right.gold.spans:
        return answer
    start, end = (place + question.turn.user for place in right.gold.spans[slot][-1])
    return answer._replace(span=Span(start, end, question.turn.text[start:end], 2.0))


@pytest.fixture(scope="module")
def sample() -> tuple[Any, list[Dialogue], dict[int, Right]]:
    """The test split of the sample, and what is right by the identity of the frame."""
    rows = frames(load("original", "test", "sample"))
    dialogues = list(read_dialogues(training_columns(rows, READS)))
    right: dict[int, Right] = {}
    for of in (context for dialogue in dialogues for context in contexts(dialogue)):
        new = of.new
        elsewhere = {slot for slot, values in new.items() if is_from_elsewhere(of, slot, values)}
        right[id(of.frame)] = Right(of.schema, of.gold, new, unspoken_values(of), elsewhere)
    return rows, dialogues, right


@pytest.mark.parametrize(
    ("without", "expected"), [("nothing", 0.9263), ("copy", 0.4243), ("cross", 0.8201)]
)
def test_right_answers_make_right_states(sample: Any, without: str, expected: float) -> None:
    """The upper bound of the rules, and what each submodel is needed for."""
    rows, dialogues, right = sample

    def predict(turns: Sequence[OpenTurn]) -> list[State]:
        of_turns = read_contexts(turns)

        def ask(part: Part, questions: Sequence[Sequence[Question]]) -> list[list[Answer]]:
            return [
                [NO if part == without else right_answer(part, one, right[id(context.frame)])
                 for one in of_frame]
                for context, of_frame in zip(of_turns, questions)
            ]  # fmt: skip

        return predict_states(ask, of_turns)

    tracked = zip(dialogues, track_in_step(dialogues, predict))
    predicted = [row for pair in tracked for row in prediction_rows(*pair)]
    assert joint_goal_accuracy(rows, predicted) == pytest.approx(expected, abs=1e-4)


def test_turns_of_all_dialogues_are_asked_together(sample: Any) -> None:
    """Each submodel is asked once for each depth, not for each dialogue or slot."""
    dialogues, asked = sample[1][:12], []

    def ask(part: Part, questions: Sequence[Sequence[Question]]) -> list[list[Answer]]:
        asked.append(len(questions))
        return [[NO] * len(of_frame) for of_frame in questions]

    track_dialogues(ask, dialogues)
    assert len(asked) == 4 * max(len(dialogue.turns) for dialogue in dialogues)
    assert sum(asked) == 4 * sum(len(turn.frames) for of in dialogues for turn in of.turns)
