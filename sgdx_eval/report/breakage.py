"""What a rewording breaks: frames right under the original schemas and wrong under a variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_metric.columns import Bools, Ints
from sgdx_metric.variants import ORIGINAL

from .origins import ReferenceState
from .slot_scores import ScoredVariant, SlotLayout, VariantScores

MISSED, WRONG_VALUE, WRONG_SLOT, INVENTED, INTENT, COPIED = CLASSES = (
    "missed",
    "wrong value",
    "wrong slot",
    "invented",
    "intent",
    "copied from another service",
)
SLOT_CLASSES = tuple(kind for kind in CLASSES if kind != INTENT)  # those that JGA counts
MEANINGS = {
    MISSED: "the slot has a value and none is predicted",
    WRONG_VALUE: "another value is predicted for the slot",
    WRONG_SLOT: "the value is predicted for another slot, or another slot's value for this one",
    INVENTED: "the slot has no value and one is predicted",
    INTENT: "another active intent is predicted",
    COPIED: "the value that is predicted is one of another service's state in the dialogue",
}


class ActiveIntent(NamedTuple):
    """The active intent of a frame: its service and its position there, -1 where none is active."""

    service: str
    position: int


class Breakage(NamedTuple):
    """One slot or intent of a frame that is right under the original and wrong under a variant.

    Attributes:
        frame: The position of the frame among those that were scored.
        variant: The variant under which it is wrong.
        position: The position of the slot, or for the class ``INTENT`` of the intent, in its
            schema; -1 where no intent should be active.
        kind: One of ``CLASSES``.
        reference, predicted: The values under the variant; empty for none. Of a reference this is
            the first spoken variant.
        elsewhere: For a wrong slot, the name of the other slot under the variant.
    """

    frame: int
    variant: str
    position: int
    kind: str
    reference: str
    predicted: str
    elsewhere: str = ""


class OtherStates:
    """Which values other services of a dialogue hold up to a turn, by the reference."""

    def __init__(self, states: Sequence[ReferenceState]) -> None:
        self._by_dialogue: dict[str, list[ReferenceState]] = {}
        for state in states:
            self._by_dialogue.setdefault(state.dialogue, []).append(state)

    def holds(self, frame_id: str, value: str) -> bool:
        """Whether another service than the frame's has a value at its turn or before."""
        dialogue, turn, service = frame_id.rsplit("/", 2)
        return any(
            value in values
            for state in self._by_dialogue.get(dialogue, ())
            if state.service != service and state.turn <= int(turn)
            for values in state.values.values()
        )


def find_breakages(
    scored: ScoredVariant,
    before: VariantScores,
    others: OtherStates,
    intents: Sequence[ActiveIntent],
) -> list[Breakage]:
    """Find what a variant breaks, and its class.

    A slot counts where every slot of the frame scores 1 under the original and it scores less
    under the variant; an intent counts where it is right under the original and wrong under the
    variant.

    Args:
        scored: The run under the variant.
        before: The run's scores under the original.
        others: The states of other services.
        intents: The active intent of each frame [frames].
    """
    layout, after = scored.layout, scored.scores
    right = np.nan_to_num(before.joint, nan=1.0) == 1
    slots = np.flatnonzero(right[layout.frame] & (after.slots < 1))
    broken_intents = np.flatnonzero(before.intents & ~after.intents)
    frames = np.union1d(layout.frame[slots], broken_intents)
    broken_slots: dict[int, list[int]] = {}  # positions of the slots by frame
    for slot in slots.tolist():
        broken_slots.setdefault(int(layout.frame[slot]), []).append(int(layout.position[slot]))
    intent_is_broken = set(broken_intents.tolist())
    references = scored.references.take(frames).to_pylist()
    predictions = scored.predictions.take(frames).to_pylist()
    breakages = []
    for frame, reference, prediction in zip(frames.tolist(), references, predictions):
        gold, predicted = _state(reference), _state(prediction)
        names = [slot["name"] for slot in reference["schema_slots"]]
        if frame in intent_is_broken:
            values = reference["active_intent"], prediction["active_intent"]
            position = intents[frame].position
            breakages.append(Breakage(frame, scored.variant, position, INTENT, *values))
        for position in broken_slots.get(frame, ()):
            details = _classify(names[position], gold, predicted, reference["frame_id"], others)
            breakages.append(Breakage(frame, scored.variant, position, *details))
    return breakages


def _state(row: Mapping[str, list[dict[str, list[str]]]]) -> dict[str, list[str]]:
    return {str(item["slot"]): item["values"] for item in row["slot_values"]}


def _classify(
    slot: str,
    gold: Mapping[str, list[str]],
    predicted: Mapping[str, list[str]],
    frame_id: str,
    others: OtherStates,
) -> tuple[str, str, str, str]:
    """The class of a slot's error, its reference, what is predicted, and the other slot if any."""
    expected, got = gold.get(slot, []), predicted.get(slot, [])
    values = expected[0] if expected else "", got[0] if got else ""
    # The value of this slot went to another one, which has no such value ...
    for other, other_got in predicted.items():
        other_expected = set(gold.get(other, []))
        if other != slot and set(other_got) & set(expected) and not set(other_got) & other_expected:
            return WRONG_SLOT, *values, other
    # ... or this slot has the value of another one, which was not predicted there.
    for other, expected_there in gold.items():
        got_there = set(predicted.get(other, []))
        if other != slot and set(expected_there) & set(got) and not set(expected_there) & got_there:
            return WRONG_SLOT, *values, other
    if not got:
        return MISSED, *values, ""
    if others.holds(frame_id, got[0]):
        return COPIED, *values, ""
    return (WRONG_VALUE if expected else INVENTED), *values, ""


class SchemaElement(NamedTuple):
    """A slot or an intent of a schema under one variant.

    Attributes:
        service: The original name of the service.
        variant: The variant.
        position: The position of the slot among the service's slots, or of the intent among its
            intents.
        is_intent: Whether it is an intent.
    """

    service: str
    variant: str
    position: int
    is_intent: bool


class Change(NamedTuple):
    """In how many frames a rewording loses and wins.

    Attributes:
        lost: Frames in which the slot or intent is right under the original and wrong under the
            variant.
        won: Frames in which it is the other way round.
    """

    lost: float
    won: float

    @property
    def net(self) -> float:
        """Frames lost less frames won."""
        return self.lost - self.won


class Rewording(NamedTuple):
    """What the new words of one slot or intent cost under one variant.

    Attributes:
        element: The slot or intent.
        before, after: Its words under the original and under the variant.
        change: The frames lost and won; means over the runs of a system.
        interval: The 95 % interval of the frames lost less those won, over dialogues; None where
            it is not computed.
    """

    element: SchemaElement
    before: Slot | Intent
    after: Slot | Intent
    change: Change
    interval: tuple[float, float] | None = None


Changes = dict[SchemaElement, Change]


def count_changes(
    layout: SlotLayout,
    scores: Mapping[str, VariantScores],
    intents: Sequence[ActiveIntent],
) -> Changes:
    """Count the frames that every slot and intent loses and wins under every variant.

    Args:
        layout: The slots of all frames.
        scores: A run's scores by variant, the original among them.
        intents: The active intent of each frame [frames].

    Returns:
        The frames lost and won of each slot and intent that loses or wins any.
    """
    if ORIGINAL not in scores:
        return {}
    # A slot, or an intent, has one number: that of its service times a width, plus its position.
    width = 1 + int(layout.position.max(initial=0))
    slot_key = layout.service * width + layout.position
    service_code = {name: i for i, name in enumerate(layout.services)}
    intent_width = 1 + max((intent.position for intent in intents), default=0)
    intent_key = np.array(
        [service_code[s] * intent_width + p if p >= 0 else -1 for s, p in intents], dtype=np.int64
    )
    active = np.flatnonzero(intent_key >= 0)
    before = scores[ORIGINAL]
    changes: Changes = {}
    for variant, after in scores.items():
        if variant == ORIGINAL:
            continue
        of_slots = _changes(slot_key, before.slots == 1, after.slots == 1)
        for key, change in of_slots.items():
            service = layout.services[key // width]
            changes[SchemaElement(service, variant, key % width, False)] = change
        right = before.intents[active], after.intents[active]
        for key, change in _changes(intent_key[active], *right).items():
            service = layout.services[key // intent_width]
            changes[SchemaElement(service, variant, key % intent_width, True)] = change
    return changes


def _changes(key: Ints, before: Bools, after: Bools) -> dict[int, Change]:
    """How many are lost and won, by key, where there are any."""
    lost = np.bincount(key[before & ~after], minlength=1 + int(key.max(initial=0)))
    won = np.bincount(key[~before & after], minlength=len(lost))
    return {int(k): Change(float(lost[k]), float(won[k])) for k in np.flatnonzero(lost + won)}


def costliest_rewordings(
    changes: Sequence[Changes], schemas: Mapping[str, Mapping[str, Service]]
) -> list[Rewording]:
    """The rewordings that cost frames, the costliest first.

    Args:
        changes: What ``count_changes`` returned for each run of a system.
        schemas: The schemas by variant and the service's original name, the original among them.

    Returns:
        Rewordings with more frames lost than won, sorted by that difference, as means over the
        runs.
    """
    rewordings = []
    for element in dict.fromkeys(element for run in changes for element in run):
        counts = [run.get(element, Change(0, 0)) for run in changes]
        lost, won = (sum(numbers) / len(changes) for numbers in zip(*counts))
        if lost > won:
            before, after = (
                element_at(schemas[variant][element.service], element.position, element.is_intent)
                for variant in (ORIGINAL, element.variant)
            )
            rewordings.append(Rewording(element, before, after, Change(lost, won)))
    return sorted(rewordings, key=lambda r: (-r.change.net, -r.change.lost, r.element))


def element_at(service: Service, position: int, is_intent: bool) -> Slot | Intent:
    """The intent, or else the slot, at a position of a schema."""
    return service.intents[position] if is_intent else service.slots[position]
