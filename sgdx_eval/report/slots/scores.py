"""Scores of slots, and which part of an error each slot has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import Levenshtein

from sgdx_dataset.schema import NONE_INTENT, Service, Slot
from sgdx_metric.columns import AlignedRows, Floats, Ints, column, field, flags, positions, strings
from sgdx_metric.signature import Rules
from sgdx_metric.slots import SchemaSlots, score_slots
from sgdx_metric.statistics import mean_defined, variation
from sgdx_metric.units import Items
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from ...predictions import read_predictions, with_frame_ids
from ...references import References, Turns

ORIGINS = ("the user", "the system", "another service", "dontcare", "nobody, word for word")
RULE = (
    "A value has one source, which is the first of these that applies. It is dontcare in the "
    "reference. The user says one of its spoken forms word for word in the turn in which the "
    "slot takes it. The state of another service had it in an earlier turn. The system said it "
    "in an earlier turn. The user said it in an earlier turn. Otherwise nobody says it word for "
    "word, as with most yes-or-no values."
)
_USER, _SYSTEM, _OTHER, _DONTCARE, _NOBODY = range(len(ORIGINS))


class State(NamedTuple):
    """The reference state of a frame."""

    # The position of the frame among those that were scored.
    frame: int
    turn: int
    # The original name of the service.
    service: str
    # The spoken variants of each slot's value.
    values: Mapping[str, Sequence[str]]


def read_states(
    frame_ids: Iterable[str], slot_values: Iterable[Iterable[Mapping[str, Sequence[str]]]]
) -> dict[str, list[State]]:
    """The states of each dialogue, by its id, in the order of turns and services."""
    states: dict[str, list[State]] = {}
    for frame, (frame_id, listed) in enumerate(zip(frame_ids, slot_values)):
        dialogue_id, turn, service = frame_id.rsplit("/", 2)
        values = {str(item["slot"]): item["values"] for item in listed}
        states.setdefault(dialogue_id, []).append(State(frame, int(turn), service, values))
    for of_dialogue in states.values():
        of_dialogue.sort(key=lambda state: (state.turn, state.service))
    return states


def values_elsewhere(states: Sequence[State], service: str, before_turn: int) -> set[str]:
    """The values that other services of a dialogue have before a turn."""
    return {
        value
        for state in states
        if state.service != service and state.turn < before_turn
        for spoken in state.values.values()
        for value in spoken
    }


def find_origins(states: Sequence[State], turns: Turns) -> dict[tuple[int, str], int]:
    """Who said each value of a dialogue's states: positions in ``ORIGINS`` by frame and slot."""
    heard = [(speaker, _words(utterance)) for speaker, utterance in turns]
    origins: dict[tuple[int, str], int] = {}
    previous: dict[str, State] = {}  # the state of each service's frame before
    for state in states:
        before = previous.get(state.service)
        for slot, values in state.values.items():
            if before and set(before.values.get(slot, ())) & set(values):
                # The value is the same, so it was said when it was new.
                origin = origins[before.frame, slot]
            else:
                origin = _origin(values, state, states, heard[: state.turn + 1])
            origins[state.frame, slot] = origin
        previous[state.service] = state
    return origins


def _origin(
    values: Sequence[str], new_in: State, states: Sequence[State], heard: Sequence[tuple[str, str]]
) -> int:
    """Who said a value, of which there are spoken variants; ``heard`` ends with its turn."""
    if "dontcare" in values[:1]:
        return _DONTCARE
    phrases = {words for value in values if (words := _words(value)) != "  "}
    if heard and any(phrase in heard[-1][1] for phrase in phrases):
        return _USER
    if values_elsewhere(states, new_in.service, new_in.turn) & set(values):
        return _OTHER
    for speaker, origin in (("SYSTEM", _SYSTEM), ("USER", _USER)):
        if any(phrase in text for who, text in heard if who == speaker for phrase in phrases):
            return origin
    return _NOBODY


def _words(text: str) -> str:
    """The words of a text in lower case, each between spaces, so that whole words are found."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "


KINDS = CATEGORICAL, BOOLEAN, FREE = ("categorical", "yes or no", "free-form")
# A slot's loss is shown where so many frames give it a value, as that of fewer says little.
FEWEST_FRAMES = 5
Singles = npt.NDArray[np.float32]  # which take half the room
# What a run scores under each variant, the original first: values in [0, 1] [answers].
RunScores = Mapping[str, Singles]


class Element(NamedTuple):
    """A slot or an intent of a service, whatever it is called; or that no intent is active."""

    # The original name of the service.
    service: str
    # The position among the service's slots or intents; -1 for no intent.
    position: int
    is_intent: bool


class Words(msgspec.Struct, frozen=True):
    """What a slot or an intent is called under a variant."""

    name: str
    description: str


class Gold:
    """What is right in the frames that runs were scored on.

    An answer is what a tracker has to say of a frame: its active intent, or the value of a slot of
    its schema. The answers of all frames are laid end to end, first all intents and then all
    slots. They are the same under every variant.
    """

    def __init__(
        self,
        references: References,
        split: str,
        variants: Sequence[str],
        frames: Items,
        rules: Rules,
    ) -> None:
        """Lay out the answers of some frames, which are sorted by their ids."""
        self.split, self.frames, self.rules = split, frames, rules
        self.variants = sorted(variants, key=lambda name: name != ORIGINAL)  # the original first
        self._name, self._all_rows = references.name, cache(references.rows)
        self.rows = cache(self._rows)
        self.schemas = {name: references.schemas(name) for name in self.variants}
        self.turns = references.turns()
        base = self.variants[0]  # in whose words states and elements are known
        rows = self.rows(base)
        # The states of each dialogue.
        self.states = read_states(frames.ids.to_pylist(), rows.table["slot_values"].to_pylist())

        named = list(_elements(self.schemas[base]))
        self.elements = [element for element, _ in named]
        number = {(e.service, e.is_intent, name): i for i, (e, name) in enumerate(named)}

        count = len(frames.ids)
        slot_frame, slots = rows.exploded("schema_slots")
        self.frame = np.concatenate([np.arange(count), slot_frame])  # [answers]
        self.is_intent = np.arange(len(self.frame)) < count  # [answers]
        names = rows.table["active_intent"].to_pylist() + field(slots, "name").to_pylist()
        self.element = np.array(  # [answers]
            [
                number.get((service, is_intent, name), number[service, True, NONE_INTENT])
                for service, is_intent, name in zip(
                    frames.service[self.frame], self.is_intent.tolist(), names, strict=True
                )
            ]
        )
        # Who said a slot's value, as a position in ORIGINS; -1 where it has none [answers].
        origins: dict[tuple[int, str], int] = {}
        for dialogue_id, of_dialogue in self.states.items():
            origins |= find_origins(of_dialogue, self.turns.get(dialogue_id, []))
        of_slots = [origins.get(key, -1) for key in zip(slot_frame.tolist(), names[count:])]
        self.origin = np.array([-1] * count + of_slots)
        # The kind of a slot that has a value, as a position in KINDS, else -1 [answers].
        kinds = [
            -1 if is_intent else KINDS.index(_kind(self.schemas[base][service].slots[position]))
            for service, position, is_intent in self.elements
        ]
        self.kind = np.where(self.origin >= 0, np.array(kinds)[self.element], -1)

    def _rows(self, variant: str) -> AlignedRows:
        """The frames under a variant, in their order."""
        return self._in_order(self._all_rows(variant), f"{self._name}, frames under {variant}")

    def _in_order(self, rows: pa.Table, whose: str) -> AlignedRows:
        """The rows of these frames, of which there may be more, in their order."""
        rows = rows.filter(pc.is_in(strings(column(rows, "frame_id")), value_set=self.frames.ids))
        position = positions(strings(column(rows, "frame_id")), self.frames.ids, whose)
        rows = rows.take(pa.array(np.argsort(position))).combine_chunks()
        return AlignedRows(rows, np.arange(len(rows)), len(rows))

    def score(self, variant: str, path: Path) -> tuple[pa.Table, Singles]:
        """A prediction file's rows in the order of the frames, and the score of every answer."""
        read, ids = read_predictions(path, self.split, variant), self.frames.ids
        predicted = self._in_order(with_frame_ids(read, self._all_rows(variant)), str(path))
        right = self.rows(variant)
        frame, slots = right.exploded("schema_slots")
        categorical = flags(field(slots, "is_categorical"))
        scored = score_slots(
            SchemaSlots(frame, field(slots, "name"), categorical, ids),
            right.slot_values(),
            predicted.slot_values(),
            ids,
            self.rules.use_fuzzy_match,
        )
        intents = pc.equal(right.aligned("active_intent"), predicted.aligned("active_intent"))
        scores = np.concatenate([flags(intents), scored.score], dtype=np.float32)
        return predicted.table, scores

    def words(self, element: Element, variant: str) -> Words:
        """The words of a slot or an intent under a variant."""
        if element.position < 0:
            return Words(NONE_INTENT, "no intent is active")
        schema = self.schemas[variant][element.service]
        listed = schema.intents if element.is_intent else schema.slots
        return Words(listed[element.position].name, listed[element.position].description)


def _elements(schemas: Mapping[str, Service]) -> Iterator[tuple[Element, str]]:
    """All slots and intents of some schemas, and that none is active, with their names."""
    for service, schema in sorted(schemas.items()):
        for i, slot in enumerate(schema.slots):
            yield Element(service, i, False), slot.name
        for i, intent in enumerate(schema.intents):
            yield Element(service, i, True), intent.name
        yield Element(service, -1, True), NONE_INTENT


def _kind(slot: Slot) -> str:
    if slot.is_categorical:
        return BOOLEAN if slot.is_boolean else CATEGORICAL
    return FREE


def slot_accuracies(
    gold: Gold, runs: Sequence[RunScores], answers: Ints
) -> Sequence[Sequence[float | None]]:
    """The mean score of some answers under the original and under v1 to v5, and its sensitivity.

    Each is of every run, and empty where the variants do not give it.
    """
    original: list[float | None] = []
    reworded: list[float | None] = []
    sensitivity: list[float | None] = []
    for scores in runs:
        if ORIGINAL in scores:
            original.append(_mean(scores[ORIGINAL][answers]))
        if scores.keys() >= set(PAPER_VARIANTS):
            under = [scores[name][answers] for name in PAPER_VARIANTS]
            reworded.append(float(np.mean([_mean(of_variant) for of_variant in under])))
            varied = variation(np.stack(under).astype(np.float64), gold.rules.zero_mean)
            sensitivity.append(mean_defined(varied))
    return original, reworded, sensitivity


def _mean(scores: Singles) -> float:
    return float(scores.mean()) if scores.size else np.nan


def slot_losses(gold: Gold, runs: Sequence[RunScores]) -> tuple[Ints, Floats, Ints]:
    """What slots lose under each of v1 to v5, where enough frames give them a value.

    Returns the number of words changed, the accuracy lost and the frames of each slot under each
    variant [slots x variants]. The accuracy is over the frames, and a mean over the runs.
    """
    active = np.flatnonzero(gold.origin >= 0)
    element = gold.element[active]
    frames = np.bincount(element)
    shown = np.flatnonzero(frames >= FEWEST_FRAMES)
    variants = [v for v in PAPER_VARIANTS if v in gold.variants and ORIGINAL in gold.variants]
    words, losses = [], []
    for variant in variants:
        lost = np.mean([run[ORIGINAL][active] - run[variant][active] for run in runs], axis=0)
        losses.append(np.bincount(element, lost)[shown] / frames[shown])
        words += [
            changed_words(*(gold.words(gold.elements[slot], v) for v in (ORIGINAL, variant)))
            for slot in shown.tolist()
        ]
    loss = np.concatenate(losses) if losses else np.zeros(0)
    return np.array(words, dtype=np.int64), loss, np.tile(frames[shown], len(variants))


def changed_words(before: Words, after: Words) -> int:
    """How many words of a name and description are inserted, deleted or replaced.

    The words of a name are those between its underscores; capitals do not count.
    """
    old, new = (
        re.findall(r"[^\W_]+", f"{words.name} {words.description}".lower())
        for words in (before, after)
    )
    return int(Levenshtein.distance(old, new))
