"""Training examples of each submodel, made from dialogues with gold states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Service

from ..data.dialogues import Dialogue, Frame, Memory, Row, UserTurn, Values, gives_value
from .prompts import TurnText, combine_prompt, spoken
from .questions import (
    Candidate,
    Question,
    combine_questions,
    copy_candidates,
    cross_candidates,
    intent_question,
    values_elsewhere,
)

# Kinds of examples, from which the examples of an epoch are drawn (``batches.epoch_examples``).
EASY, HARD, POSITIVE, SYSTEM = 0, 1, 2, 3


class Example(NamedTuple):
    """A training example: a question and its labels."""

    question: Question
    # These depend on the submodel. ``intent``: the number of the intent, where the last
    # one is ``NONE``. ``combine``: start and end of a span of characters [start, end) of the turn's
    # text, or -1 and -1; the number of the value (0 no value, 1 dontcare, 2 and up the possible
    # values); whether the slot is requested (0 or 1). ``copy`` and ``cross``: whether the value is
    # copied (0 or 1).
    labels: tuple[int, ...]
    # ``POSITIVE`` where there is something to find, and ``SYSTEM`` where it is in a system turn;
    # ``HARD`` for negatives that are easily confused with a positive; else ``EASY``.
    kind: int = POSITIVE


def turns_with_memory(dialogue: Dialogue) -> Iterator[tuple[Memory, UserTurn]]:
    """The turns of a dialogue, each with the memory of the turns before, which has gold states."""
    # All turns share one ``Memory`` object, which changes when the next turn is asked for.
    memory = Memory()
    for turn in dialogue.turns:
        memory.add_system_turn(turn.acts)
        yield memory, turn
        memory.add_user_turn(turn, [frame.gold.state for frame in turn.frames if frame.gold])


def intent_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``intent``: one for each frame."""
    for memory, turn in turns_with_memory(dialogue):
        for frame in turn.frames:
            assert frame.gold is not None  # noqa: S101  # training rows have the gold columns
            names = [*frame.schema.intents_by_name, NONE_INTENT]
            if frame.gold.state.intent in names:
                label = names.index(frame.gold.state.intent)
                yield Example(intent_question(memory, turn, frame), (label,))


def combine_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``combine``: one for each slot of each frame."""
    # A new value that is not in the user's words gives none: ``copy`` and ``cross`` find it.
    for memory, turn in turns_with_memory(dialogue):
        recent = {
            (a["service"], a["slot"]) for a in turn.acts if gives_value(a) or a["act"] == "REQUEST"
        }
        for frame in turn.frames:
            service, new = frame.schema.service_name, new_values(memory, frame)
            for slot, question in combine_questions(memory, turn, frame).items():
                span = _span(frame, slot, question)
                values = new.get(slot, [])
                if values and span[0] < 0 and is_from_elsewhere(memory, turn, frame, slot, values):
                    continue
                value = _value_class(frame.schema, slot, values[0]) if values else 0
                asked = int(slot in frame.gold.state.requested) if frame.gold else 0
                positive = span[0] >= 0 or value > 0 or asked
                kind = POSITIVE if positive else HARD if (service, slot) in recent else EASY
                yield Example(question, (*span, value, asked), kind)


def new_values(memory: Memory, frame: Frame) -> Values:
    """The slots of a gold state whose value is new in this turn, with their values."""
    before = memory.state(frame.schema.service_name).values
    now = frame.gold.state.values if frame.gold else {}
    return {s: values for s, values in now.items() if set(values).isdisjoint(before.get(s, ()))}


def _span(frame: Frame, slot: str, question: Question) -> tuple[int, int]:
    """The characters [start, end) of the turn's text with the slot's value, or -1 and -1."""
    if frame.gold is None or slot not in frame.gold.spans:
        return -1, -1
    start, end = frame.gold.spans[slot][-1]
    return start + question.turn.user, end + question.turn.user


def is_from_elsewhere(
    memory: Memory, turn: UserTurn, frame: Frame, slot: str, values: Sequence[str]
) -> bool:
    """Whether a slot's new value comes from the system or another service, not from the user."""
    # A value that the system proposed for the slot comes from the system. A value that another
    # service has comes from there if the user does not say it. ``True`` and ``False`` come from the
    # user, who never says them literally.
    if memory.offered.get(frame.schema.service_name, {}).get(slot) in values:
        return True
    if frame.schema.slot(slot).is_boolean or _is_spoken(turn.user, values):
        return False
    variants = set(values) - {DONTCARE}  # any slot of another service may have that too
    elsewhere = values_elsewhere(memory, frame.schema.service_name)
    return any(not variants.isdisjoint(other_values) for _, _, other_values in elsewhere)


def _is_spoken(utterance: str, values: Sequence[str]) -> bool:
    """Whether a variant of a value stands in an utterance, whatever its case."""
    return any(value.lower() in utterance.lower() for value in values)


def _value_class(schema: Service, slot: str, value: str) -> int:
    """The class of a slot's value: 1 dontcare, 2 and up the possible values, 0 any other."""
    possible = schema.slot(slot).values
    if value == DONTCARE:
        return 1
    return 2 + possible.index(value) if value in possible else 0


def system_examples(dialogue: Dialogue) -> Iterator[Example]:
    """More examples of ``combine``: system turns, read as if the user had said them."""
    # There is one for every slot of each service for which the system gives a value. The utterance
    # stands bare, without a turn before it and without markers, as in the authors' code.
    for memory, turn in turns_with_memory(dialogue):
        schemas = memory.schemas | {
            frame.schema.service_name: frame.schema for frame in turn.frames
        }
        latest_acts: dict[str, dict[str, Row]] = {}
        for act in filter(gives_value, turn.acts):
            latest_acts.setdefault(act["service"], {})[act["slot"]] = act
        text = TurnText(turn.system, 0)
        # A list of services, not a set, whose order would differ from process to process.
        for service in (name for name in latest_acts if name in schemas):
            schema = schemas[service]
            for slot in schema.slots_by_name:
                given = latest_acts[service].get(slot)
                value = given["values"][0] if given else ""
                number = _value_class(schema, slot, value)
                start = -1 if schema.slot(slot).values or not value else turn.system.find(value)
                span = (start, start + len(value)) if start >= 0 else (-1, -1)
                kind = SYSTEM if number or start >= 0 else EASY
                question = Question(text, combine_prompt(schema, slot))
                yield Example(question, (*span, number, 0), kind)


def copy_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``copy``: one for each slot that the service's system turns gave."""
    for memory, turn in turns_with_memory(dialogue):
        just_given = {(act["service"], act["slot"]) for act in filter(gives_value, turn.acts)}
        for frame in turn.frames:
            service = frame.schema.service_name
            intent = frame.gold.state.intent if frame.gold else NONE_INTENT
            new, in_state = new_values(memory, frame), memory.state(service).values
            for candidate in copy_candidates(memory, turn, frame, intent):
                slot = candidate.slot
                taken = slot not in in_state and candidate.values[0] in new.get(slot, ())
                # A slot that has a value is never asked about in prediction.
                hard = (service, slot) in just_given and slot not in in_state
                kind = POSITIVE if taken else HARD if hard else EASY
                yield Example(candidate.question, (int(taken),), kind)


def cross_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``cross``: one for each pair of an unset slot and a known value."""
    # The value is that of a slot of another service. An example is positive if the unset slot gets
    # this value in this turn, although the user does not say it and the system did not offer it for
    # this service. A negative is hard if its slots' names are like those of slots that matter.
    for memory, turn in turns_with_memory(dialogue):
        for frame in turn.frames:
            intent = frame.gold.state.intent if frame.gold else NONE_INTENT
            taken = unspoken_values(memory, turn, frame)
            candidates = cross_candidates(memory, turn, frame, intent)
            positive = [not taken.get(c.slot, set()).isdisjoint(c.values) for c in candidates]
            sources = {c.source for c, is_ in zip(candidates, positive) if is_}
            active = frame.gold.state.values if frame.gold else {}
            for candidate, is_positive in zip(candidates, positive):
                hard = _is_confusable(candidate, active, sources)
                kind = POSITIVE if is_positive else HARD if hard else EASY
                yield Example(candidate.question, (int(is_positive),), kind)


def unspoken_values(memory: Memory, turn: UserTurn, frame: Frame) -> dict[str, set[str]]:
    """The variants of new values that neither the user says nor the system offered, by slot."""
    spans = frame.gold.spans if frame.gold else {}
    offered = memory.offered.get(frame.schema.service_name, {})
    return {
        slot: set(values) - {DONTCARE}
        for slot, values in new_values(memory, frame).items()
        if slot not in spans
        and offered.get(slot) not in values
        and not _is_spoken(turn.user, values)
    }


def _is_confusable(candidate: Candidate, active: Values, sources: set[str]) -> bool:
    """Whether the names of a pair's slots are like those of slots that matter in the turn."""
    # As in the authors' code: the target shares two words or more with a slot that has a value
    # after the turn, or the source shares one or more with a slot whose value is copied.
    target, source = words(candidate.slot), words(candidate.source)
    return any(len(target & words(name)) >= 2 for name in active) or any(
        source & words(name) for name in sources
    )


def words(name: str) -> set[str]:
    """The words of a slot's name, in lower case."""
    return set(spoken(name).lower().split())


# The examples of what a submodel is asked in prediction.
EXAMPLES: dict[str, Callable[[Dialogue], Iterator[Example]]] = {
    "intent": intent_examples,
    "combine": combine_examples,
    "copy": copy_examples,
    "cross": cross_examples,
}
# Further examples, for training alone.
MORE_EXAMPLES: dict[str, Callable[[Dialogue], Iterator[Example]]] = {"combine": system_examples}
