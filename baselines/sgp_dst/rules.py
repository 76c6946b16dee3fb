"""The rules that make states of the submodels' answers: the paper's user state summarizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sgdx_dataset.io.progress import advance
from sgdx_dataset.schema import NONE_INTENT

from ..data.dialogues import Dialogue, OpenTurn, State, Values, track_in_step
from .questions import (
    FrameContext,
    Question,
    combine_questions,
    copy_questions,
    cross_questions,
    intent_question,
)
from .settings import Part

# Thresholds that the score of an answer must exceed.
REQUESTED, SPAN, VALUE, CROSS, COPY = 0.9, 1.0, 0.8, 0.9, 0.85


class Span(NamedTuple):
    """The best span for a slot in the user's utterance."""

    start: int  # first character in the turn's text
    end: int  # character after the last one
    text: str
    score: float  # P(start) + P(end)


class Answer(NamedTuple):
    """The answer of a submodel to a question."""

    number: int  # of the most likely class, from 0: of the intents, or of a slot's ``options``
    score: float  # probability of this class
    yes: float  # probability of class 1, which is "yes" in a question with two classes
    requested: float = 0.0  # probability that the slot is requested; only from ``combine``
    span: Span | None = None  # the best one, only from ``combine``; None for an empty utterance


# Answers the questions about each frame: given a submodel, and lists of questions for it.
Ask = Callable[[Part, Sequence[Sequence[Question]]], Sequence[Sequence[Answer]]]


def track_dialogues(ask: Ask, dialogues: Sequence[Dialogue]) -> list[list[State]]:
    """Predict the state of every frame of several dialogues, without any gold states."""

    def predict(turns: Sequence[OpenTurn]) -> list[State]:
        states = predict_states(ask, read_contexts(turns))
        advance(len(states))
        return states

    return track_in_step(dialogues, predict)


def read_contexts(turns: Sequence[OpenTurn]) -> list[FrameContext]:
    """The frames of turns, whose memories get to know what the system just did."""
    contexts = []
    for memory, (*_, turn) in turns:
        memory.add_system_turn(turn.acts)
        contexts += [FrameContext(memory, turn, frame) for frame in turn.frames]
    return contexts


def predict_states(ask: Ask, contexts: Sequence[FrameContext]) -> list[State]:
    """The states of frames that do not depend on each other, by the paper's nine rules in order."""
    # 1: the likeliest intent.
    answers = ask("intent", [[intent_question(context)] for context in contexts])
    intents = [
        [*context.schema.intents_by_name, NONE_INTENT][answer.number]
        for context, (answer,) in zip(contexts, answers)
    ]
    questions = [combine_questions(context) for context in contexts]
    said = [
        {question.slot: answer for question, answer in zip(of_frame, answers)}
        for of_frame, answers in zip(questions, ask("combine", questions))
    ]
    # 2: slots are requested with p > 0.9.
    requested = [
        tuple(slot for slot, answer in of_frame.items() if answer.requested > REQUESTED)
        for of_frame in said
    ]
    # 3: the values of the service's previous predicted state are carried over.
    values: list[Values] = [dict(context.before.values) for context in contexts]
    # 4: spans with P(start) + P(end) > 1 are set.
    for own, spans in zip(values, _claimed_spans(contexts, said)):
        own |= {slot: [span.text] for slot, span in spans.items() if span.score > SPAN}
    # 5: values and ``dontcare`` with p > 0.8 are set, unless the slot is requested.
    for context, own, of_frame, asked in zip(contexts, values, said, requested):
        for slot, answer in of_frame.items():
            value = context.schema.slot(slot).options[answer.number]
            if value is not None and answer.score > VALUE and slot not in asked:
                own[slot] = [value]
    # 6: unset slots get the likeliest value of another service, if p > 0.9.
    candidates = [cross_questions(*pair) for pair in zip(contexts, intents)]
    _copy_values(ask, "cross", candidates, values, CROSS)
    # 7: unset slots get the system's latest value, if p > 0.85.
    candidates = [copy_questions(*pair) for pair in zip(contexts, intents)]
    _copy_values(ask, "copy", candidates, values, COPY)
    # 8: values of slots that no intent requires or has as optional are dropped. 9: what is returned
    # is the previous state of the service's next turn.
    return [
        State(intent, {s: of for s, of in own.items() if s in context.schema.tracked}, asked)
        for context, intent, own, asked in zip(contexts, intents, values, requested)
    ]


def _claimed_spans(
    contexts: Sequence[FrameContext], said: Sequence[dict[str, Answer]]
) -> list[dict[str, Span]]:
    """The spans of each frame's free-form slots; a text is left to the likeliest slot of a turn."""
    spans = [
        {slot.name: span for slot in context.schema.slots
         if not slot.is_categorical and (span := of_frame[slot.name].span)}
        for context, of_frame in zip(contexts, said)
    ]  # fmt: skip
    best: dict[tuple[int, str], Span] = {}  # by turn and text
    for context, of_frame in zip(contexts, spans):
        for span in of_frame.values():
            claim = (id(context.turn), span.text)
            if claim not in best or span.score > best[claim].score:
                best[claim] = span
    return [
        {slot: span for slot, span in of_frame.items() if span is best[id(of.turn), span.text]}
        for of, of_frame in zip(contexts, spans)
    ]


def _copy_values(
    ask: Ask,
    part: Part,
    candidates: Sequence[Sequence[Question]],
    values: Sequence[Values],
    least: float,
) -> None:
    """Set the likeliest candidate of each slot that has no value, if it is likely enough."""
    # A copied value matters only for a slot that is still unset after the earlier rules.
    pairs = zip(candidates, values)
    unset = [[one for one in of_frame if one.slot not in own] for of_frame, own in pairs]
    for own, questions, answers in zip(values, unset, ask(part, unset)):
        best: dict[str, tuple[float, str]] = {}
        for question, answer in zip(questions, answers):
            if question.slot not in best or answer.yes > best[question.slot][0]:
                best[question.slot] = (answer.yes, question.values[0])
        own |= {slot: [value] for slot, (score, value) in best.items() if score > least}
