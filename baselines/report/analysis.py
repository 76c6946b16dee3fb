"""Everything that the report shows of a system and that scores.json does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from rapidfuzz.distance import Levenshtein

from sgdx_dataset.schema import Service, Slot
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .data import Data
from .errors import ActiveIntent, Counts, Loss, OtherStates, count_changes, find_losses
from .origins import FrameState, read_states, slot_origins, value_origins
from .runs import Run, Tracker
from .slots import Layout, VariantScores, score_variants

KINDS = CATEGORICAL, BOOLEAN, FREE = ("categorical", "yes or no", "free-form")
# A slot's accuracy is drawn where so many frames give it a value, as that of fewer says little.
FEWEST_FRAMES = 5


@dataclass(frozen=True)
class Analysis:
    """What a system does slot by slot.

    Attributes:
        layout: The slots of all frames.
        scores: The scores of each run, by variant.
        origins: Who said each slot's value, as positions in ``ORIGINS``, -1 for a slot without a
            value or where the dialogues are not at hand [slots of all frames].
        kinds: The kind of each slot, as positions in ``KINDS`` [slots of all frames].
        counts: What every rewording loses and wins in each run.
        losses: What breaks in the first run.
        wordings: The schemas by variant and by the original name of the service.
        data: What the runs were scored on.
    """

    layout: Layout
    scores: Sequence[Mapping[str, VariantScores]]
    origins: Ints
    kinds: Ints
    counts: Sequence[Counts]
    losses: Sequence[Loss]
    wordings: Mapping[str, Mapping[str, Service]]
    data: Data


def analyse(system: Tracker, data: Data) -> Analysis:
    """Score a system's predictions slot by slot and find what its rewordings break.

    Args:
        system: The system.
        data: What its runs were scored on.

    Raises:
        ScoreError, SgdxError: The predictions or the data are not those of the run's scores.json.
    """
    wordings = {name: data.wordings(name) for name in system.first.scores.variants}
    base = next(iter(wordings.values()))  # the original where it was scored
    states: list[FrameState] = []
    intents: list[ActiveIntent] = []
    losses: list[Loss] = []
    counts, scores = [], []
    for run in system.runs:
        of_run: dict[str, VariantScores] = {}
        for scored in score_variants(run, data):
            layout = scored.layout
            of_run[scored.variant] = scored.scores
            if not states:
                states, others = _states_of(scored.references)
                intents = _intents(run, scored.references, wordings[scored.variant])
                base = wordings[scored.variant]
            if ORIGINAL in of_run and scored.variant != ORIGINAL and run is system.first:
                losses += find_losses(scored, of_run[ORIGINAL], others, intents)
        scores.append(of_run)
        counts.append(count_changes(layout, of_run, intents))
    return Analysis(
        layout,
        scores,
        _origins(states, data, layout, base),
        _kinds(layout, base),
        counts,
        losses,
        wordings,
        data,
    )


def _states_of(references: pa.Table) -> tuple[list[FrameState], OtherStates]:
    states = read_states(references)
    return states, OtherStates(states)


def _intents(run: Run, references: pa.Table, wordings: Mapping[str, Service]) -> list[ActiveIntent]:
    """The active intent of each frame [frames]."""
    places = {
        service: {intent.name: i for i, intent in enumerate(wording.intents)}
        for service, wording in wordings.items()
    }
    names = references["active_intent"].to_pylist()
    return [ActiveIntent(s, places[s].get(name, -1)) for s, name in zip(run.place.service, names)]


def _origins(
    states: Sequence[FrameState], data: Data, layout: Layout, wordings: Mapping[str, Service]
) -> Ints:
    if not data.turns:
        return np.full(len(layout.frame), -1)
    names = {name: [slot.name for slot in one.slots] for name, one in wordings.items()}
    first = np.searchsorted(layout.frame, np.arange(1 + int(layout.frame.max(initial=0))))
    return slot_origins(states, value_origins(states, data.turns), names, first, len(layout.frame))


def _kinds(layout: Layout, wordings: Mapping[str, Service]) -> Ints:
    by_service = [
        [KINDS.index(_kind(slot)) for slot in wordings[name].slots] for name in layout.services
    ]
    width = max(map(len, by_service), default=0)
    table = np.array([row + [0] * (width - len(row)) for row in by_service], dtype=np.int64)
    return np.asarray(table[layout.service, layout.place])


def _kind(slot: Slot) -> str:
    if not slot.is_categorical:
        return FREE
    values = {value.lower() for value in slot.possible_values}
    return BOOLEAN if values and values <= {"true", "false"} else CATEGORICAL


def slot_means(analysis: Analysis, these: Ints, variant: str) -> Floats:
    """The mean score of some slots under a variant in each run [runs]; NaN for no slots."""
    if not len(these):
        return np.full(len(analysis.scores), np.nan)
    return np.array([float(run[variant].slots[these].mean()) for run in analysis.scores])


@dataclass(frozen=True)
class SlotChange:
    """What a slot loses under a variant.

    Attributes:
        words: How many words of its name and description are inserted, deleted or replaced.
        loss: Its accuracy under the original less that under the variant, in [-1, 1], over the
            frames that give it a value; a mean over the runs.
        frames: How many frames these are.
    """

    words: int
    loss: float
    frames: int


def slot_changes(analysis: Analysis) -> Iterator[SlotChange]:
    """What each slot loses under each of v1 to v5, where enough frames give it a value."""
    layout = analysis.layout
    width = 1 + int(layout.place.max(initial=0))
    active = np.flatnonzero(layout.active)
    key = (layout.service * width + layout.place)[active]
    frames = np.bincount(key)
    for variant in PAPER_VARIANTS:
        if not all({ORIGINAL, variant} <= run.keys() for run in analysis.scores):
            continue
        loss = np.mean(
            [run[ORIGINAL].slots[active] - run[variant].slots[active] for run in analysis.scores],
            axis=0,
        )
        total = np.bincount(key, loss)
        for found in np.flatnonzero(frames >= FEWEST_FRAMES).tolist():
            service, place = layout.services[found // width], found % width
            before, after = (
                analysis.wordings[name][service].slots[place] for name in (ORIGINAL, variant)
            )
            count = int(frames[found])
            yield SlotChange(changed_words(before, after), float(total[found]) / count, count)


def changed_words(before: Slot, after: Slot) -> int:
    """How many words of a name and description are inserted, deleted or replaced.

    The words of a name are those between its underscores; capitals do not count.
    """
    return int(Levenshtein.distance(_words(before), _words(after)))


def _words(slot: Slot) -> list[str]:
    return re.findall(r"[^\W_]+", f"{slot.name} {slot.description}".lower())
