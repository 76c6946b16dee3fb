"""Tracking with all dialogues' first turns together, then all second ones, and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from .decode import Found
from .dialogues import Dialogue, Frame, Memory, State, Turn
from .parts import Part
from .questions import (
    Candidate,
    combine_questions,
    copy_candidates,
    cross_candidates,
    intent_question,
)
from .rules import Evidence, Scored, join
from .rules import Frame as Joined
from .schema import NULL
from .tracker import Tracker


class Asked(NamedTuple):
    """A frame that is to be tracked, and what is known before it."""

    memory: Memory
    turn: Turn
    frame: Frame


def track(tracker: Tracker, dialogues: Sequence[Dialogue]) -> list[list[State]]:
    """The predicted state of every frame, dialogue by dialogue.

    What is known before a turn are the system's acts and the states predicted so far; gold states,
    where frames have them, are not looked at.
    """
    memories = [Memory() for _ in dialogues]
    states: list[list[State]] = [[] for _ in dialogues]
    for depth in range(max((len(dialogue.turns) for dialogue in dialogues), default=0)):
        there = [i for i, dialogue in enumerate(dialogues) if len(dialogue.turns) > depth]
        for i in there:
            memories[i].hear(dialogues[i].turns[depth].acts)
        turns = [(i, dialogues[i].turns[depth]) for i in there]
        asked = [Asked(memories[i], turn, frame) for i, turn in turns for frame in turn.frames]
        predicted = iter(_states(tracker, asked))
        for i, turn in turns:
            mine = list(islice(predicted, len(turn.frames)))
            memories[i].learn(turn, mine)
            states[i] += mine
    return states


def _states(tracker: Tracker, asked: Sequence[Asked]) -> Iterator[State]:
    """The states of frames none of which follows from another."""
    intents = _intents(tracker, asked)
    combined = [combine_questions(one.turn, one.frame) for one in asked]
    answers = tracker.ask_each("combine", [list(mine.values()) for mine in combined])
    within = _copied(tracker, "copy", copy_candidates, asked, intents)
    across = _copied(tracker, "cross", cross_candidates, asked, intents)
    for one, intent, slots, found, copied, cross in zip(
        asked, intents, combined, answers, within, across, strict=True
    ):
        schema = one.frame.schema
        by_slot = dict(zip(slots, found, strict=True))
        evidence = Evidence(
            intent,
            {slot: answer.requested for slot, answer in by_slot.items()},
            {s: a.span for s, a in by_slot.items() if a.span and not schema.is_categorical(s)},
            {slot: _value(schema.options(slot), answer) for slot, answer in by_slot.items()},
            cross,
            {slot: values[-1] for slot, values in copied.items()},
        )
        yield join(Joined(schema, one.memory.state(schema.service), evidence))


def _value(options: Sequence[str | None], answer: Found) -> Scored | None:
    value = options[answer.number]
    return None if value is None else Scored(value, answer.score)


def _intents(tracker: Tracker, asked: Sequence[Asked]) -> list[str]:
    found = tracker.ask("intent", [intent_question(*one) for one in asked])
    return [[*one.frame.schema.intents, NULL][f.number] for one, f in zip(asked, found)]


def _copied(
    tracker: Tracker,
    part: Part,
    candidates: Callable[[Memory, Turn, Frame, str], list[Candidate]],
    asked: Sequence[Asked],
    intents: Sequence[str],
) -> list[dict[str, list[Scored]]]:
    """For each frame, the values that could be copied into unset slots, and how likely they are."""
    lists = [
        [c for c in candidates(*one, intent) if c.slot not in _known(one)]
        for one, intent in zip(asked, intents)
    ]
    answers = tracker.ask_each(part, [[c.question for c in mine] for mine in lists])
    found: list[dict[str, list[Scored]]] = []
    for mine, scores in zip(lists, answers):
        found.append({})
        for candidate, answer in zip(mine, scores):
            scored = Scored(candidate.values[0], answer.yes)
            found[-1].setdefault(candidate.slot, []).append(scored)
    return found


def _known(one: Asked) -> Iterable[str]:
    return one.memory.state(one.frame.schema.service).values.keys()


def prediction_rows(dialogue: Dialogue, states: Sequence[State]) -> list[dict[str, Any]]:
    """A dialogue's rows of a prediction file."""
    frames = [frame for turn in dialogue.turns for frame in turn.frames]
    return [
        {
            "frame_id": frame.frame_id,
            "variant": dialogue.variant,
            "active_intent": state.intent,
            "requested_slots": list(state.requested),
            "slot_values": [{"slot": s, "values": v} for s, v in sorted(state.values.items())],
        }
        for frame, state in zip(frames, states, strict=True)
    ]
