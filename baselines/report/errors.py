"""What a rewording breaks: frames right under the original schemas and wrong under a variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_metric.columns import Ints
from sgdx_metric.variants import ORIGINAL

from .origins import FrameState
from .slots import Layout, Scored, VariantScores

MISSED, WRONG_VALUE, WRONG_SLOT, INVENTED, INTENT, COPIED = CLASSES = (
    "missed",
    "wrong value",
    "wrong slot",
    "invented",
    "intent",
    "copied from another service",
)
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
    place: int


class Loss(NamedTuple):
    """One slot or intent of a frame that is right under the original and wrong under a variant.

    Attributes:
        frame: The position of the frame among those that were scored.
        variant: The variant under which it is wrong.
        place: The position of the slot, or for the class ``INTENT`` of the intent, in its schema;
            -1 where no intent should be active.
        kind: One of ``CLASSES``.
        reference, predicted: The values under the variant; empty for none. Of a reference this is
            the first spoken variant.
        elsewhere: For a wrong slot, the name of the other slot under the variant.
    """

    frame: int
    variant: str
    place: int
    kind: str
    reference: str
    predicted: str
    elsewhere: str = ""


class OtherStates:
    """Which values other services of a dialogue hold up to a turn, by the reference."""

    def __init__(self, states: Sequence[FrameState]) -> None:
        self._of: dict[str, list[FrameState]] = {}
        for state in states:
            self._of.setdefault(state.dialogue, []).append(state)

    def holds(self, frame_id: str, value: str) -> bool:
        """Whether another service than the frame's has a value at its turn or before."""
        dialogue, turn, service = frame_id.rsplit("/", 2)
        return any(
            value in values
            for state in self._of.get(dialogue, ())
            if state.service != service and state.turn <= int(turn)
            for values in state.values.values()
        )


def find_losses(
    scored: Scored, before: VariantScores, others: OtherStates, intents: Sequence[ActiveIntent]
) -> list[Loss]:
    """Find and class what a variant breaks.

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
    intent_lost = np.flatnonzero(before.intents & ~after.intents)
    frames = np.union1d(layout.frame[slots], intent_lost)
    wrong: dict[int, list[int]] = {}
    for slot in slots.tolist():
        wrong.setdefault(int(layout.frame[slot]), []).append(int(layout.place[slot]))
    without_intent = set(intent_lost.tolist())
    references = scored.references.take(frames).to_pylist()
    predictions = scored.predictions.take(frames).to_pylist()
    losses = []
    for frame, reference, prediction in zip(frames.tolist(), references, predictions):
        true, guess = _state(reference), _state(prediction)
        names = [slot["name"] for slot in reference["schema_slots"]]
        if frame in without_intent:
            pair = reference["active_intent"], prediction["active_intent"]
            losses.append(Loss(frame, scored.variant, intents[frame].place, INTENT, *pair))
        for place in wrong.get(frame, ()):
            loss = _classed(names[place], true, guess, reference["frame_id"], others)
            losses.append(Loss(frame, scored.variant, place, *loss))
    return losses


def _state(row: Mapping[str, list[dict[str, list[str]]]]) -> dict[str, list[str]]:
    return {str(item["slot"]): item["values"] for item in row["slot_values"]}


def _classed(
    slot: str,
    true: Mapping[str, list[str]],
    guess: Mapping[str, list[str]],
    frame_id: str,
    others: OtherStates,
) -> tuple[str, str, str, str]:
    """The class of a slot's error, its reference, what is predicted, and the other slot if any."""
    wanted, got = true.get(slot, []), guess.get(slot, [])
    pair = wanted[0] if wanted else "", got[0] if got else ""
    # The value of this slot went to another one, which has no such value ...
    for other, values in guess.items():
        of_other = set(true.get(other, []))
        if other != slot and set(values) & set(wanted) and not set(values) & of_other:
            return WRONG_SLOT, *pair, other
    # ... or this slot has the value of another one, which was not predicted there.
    for other, values in true.items():
        at_other = set(guess.get(other, []))
        if other != slot and set(values) & set(got) and not set(values) & at_other:
            return WRONG_SLOT, *pair, other
    if not got:
        return MISSED, *pair, ""
    if others.holds(frame_id, got[0]):
        return COPIED, *pair, ""
    return (WRONG_VALUE if wanted else INVENTED), *pair, ""


class Rewording(NamedTuple):
    """What the new words of one slot or intent cost under one variant.

    Attributes:
        service: The original name of the service.
        variant: The variant.
        place: The position of the slot in its schema, or of the intent.
        is_intent: Whether it is an intent.
        before, after: The words under the original and under the variant.
        lost, won: In how many frames the element is right under the original and wrong under the
            variant, and the other way round. Means over the runs of a system.
    """

    service: str
    variant: str
    place: int
    is_intent: bool
    before: Slot | Intent
    after: Slot | Intent
    lost: float
    won: float

    @property
    def net(self) -> float:
        """Frames lost less frames won."""
        return self.lost - self.won


Counts = dict[tuple[str, str, int, bool], tuple[float, float]]


def count_changes(
    layout: Layout,
    scores: Mapping[str, VariantScores],
    intents: Sequence[ActiveIntent],
) -> Counts:
    """Count the frames that every slot and intent loses and wins under every variant.

    Args:
        layout: The slots of all frames.
        scores: A run's scores by variant, the original among them.
        intents: The active intent of each frame [frames].

    Returns:
        Frames lost and won, by service, variant, position and whether it is an intent.
    """
    if ORIGINAL not in scores:
        return {}
    width = 1 + int(layout.place.max(initial=0))
    slot_key = layout.service * width + layout.place
    service_code = {name: i for i, name in enumerate(layout.services)}
    intent_width = 1 + max((place for _, place in intents), default=0)
    intent_key = np.array(
        [service_code[s] * intent_width + p if p >= 0 else -1 for s, p in intents], dtype=np.int64
    )
    active = np.flatnonzero(intent_key >= 0)
    before = scores[ORIGINAL]
    found: Counts = {}
    for variant, after in scores.items():
        if variant == ORIGINAL:
            continue
        changes = (before.slots == 1, after.slots == 1)
        for key, pair in _changes(slot_key, *changes).items():
            found[layout.services[key // width], variant, key % width, False] = pair
        right = (before.intents[active], after.intents[active])
        for key, pair in _changes(intent_key[active], *right).items():
            found[layout.services[key // intent_width], variant, key % intent_width, True] = pair
    return found


def _changes(
    key: Ints, before: np.ndarray[tuple[int], np.dtype[np.bool_]],
    after: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> dict[int, tuple[float, float]]:  # fmt: skip
    """How many are lost and won, by key, where there are any."""
    lost = np.bincount(key[before & ~after], minlength=1 + int(key.max(initial=0)))
    won = np.bincount(key[~before & after], minlength=len(lost))
    return {int(k): (float(lost[k]), float(won[k])) for k in np.flatnonzero(lost + won)}


def costliest(
    counts: Sequence[Counts], wordings: Mapping[str, Mapping[str, Service]]
) -> list[Rewording]:
    """The rewordings that cost frames, the costliest first.

    Args:
        counts: What ``count_changes`` returned for each run of a system.
        wordings: The schemas by variant and the service's original name, the original among them.

    Returns:
        Rewordings with more frames lost than won, sorted by that difference, as means over the
        runs.
    """
    keys = dict.fromkeys(key for of_run in counts for key in of_run)
    found = []
    for service, variant, place, is_intent in keys:
        pairs = [of_run.get((service, variant, place, is_intent), (0, 0)) for of_run in counts]
        lost, won = (sum(pair[i] for pair in pairs) / len(counts) for i in (0, 1))
        before, after = (
            element_at(wordings[name][service], place, is_intent) for name in (ORIGINAL, variant)
        )
        found.append(Rewording(service, variant, place, is_intent, before, after, lost, won))
    costly = [one for one in found if one.net > 0]
    return sorted(costly, key=lambda one: (-one.net, -one.lost, one[:4]))


def element_at(service: Service, place: int, is_intent: bool) -> Slot | Intent:
    """The intent, or else the slot, at a position of a schema."""
    return service.intents[place] if is_intent else service.slots[place]


def spread(losses: Sequence[Loss], services: Sequence[str], count: int) -> list[Loss]:
    """Choose examples that show every class, variant and service before showing one twice.

    Args:
        losses: All losses of a run.
        services: The original name of each frame's service [frames].
        count: How many to choose at most.

    Returns:
        The chosen ones, in the order of ``losses``.
    """
    seen: dict[object, int] = {}
    ranks = []
    for i, loss in enumerate(losses):
        where = services[loss.frame], loss.place
        keys = (loss.kind, where), (loss.kind, where, loss.variant)
        ranks.append((*(seen.get(key, 0) for key in keys), i))
        for key in keys:
            seen[key] = seen.get(key, 0) + 1
    chosen = sorted(sorted(ranks)[:count], key=lambda rank: rank[-1])
    return [losses[rank[-1]] for rank in chosen]
