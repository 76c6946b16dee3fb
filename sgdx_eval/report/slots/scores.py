"""From prediction files to the score of every slot of every frame, and of every active intent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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
from sgdx_eval.predictions import read_predictions, with_frame_ids
from sgdx_eval.references import References
from sgdx_metric.columns import (
    AlignedRows,
    Floats,
    Ints,
    column,
    field,
    flags,
    positions,
    strings,
)
from sgdx_metric.core import mean_defined, variation
from sgdx_metric.signature import Rules
from sgdx_metric.slots import SchemaSlots, score_slots
from sgdx_metric.units import Items
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .origins import find_origins, read_states

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
