"""What a tracker does slot by slot, which its scores.json does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sgdx_dataset.schema import Service, Slot
from sgdx_metric.columns import Ints
from sgdx_metric.variants import ORIGINAL

from .breakage import (
    ActiveIntent,
    Breakage,
    Changes,
    OtherStates,
    count_changes,
    find_breakages,
)
from .data import ReferenceData
from .origins import ReferenceState, read_states, slot_origins, value_origins
from .runs import TrackerRun
from .slot_scores import SlotLayout, VariantScores, score_variants
from .systems import TrackerSystem

KINDS = CATEGORICAL, BOOLEAN, FREE = ("categorical", "yes or no", "free-form")


@dataclass(frozen=True)
class Analysis:
    """What a system does slot by slot.

    Attributes:
        layout: The slots of all frames.
        scores: The scores of each run, by variant.
        origins: Who said each slot's value, as positions in ``ORIGINS``, -1 for a slot without a
            value or where the dialogues are not at hand [slots of all frames].
        kinds: The kind of each slot, as positions in ``KINDS`` [slots of all frames].
        changes: What every rewording loses and wins in each run.
        breakages: What breaks in the first run.
        intents: The active intent of each frame [frames].
        schemas: The schemas by variant and by the original name of the service.
        data: The data that the runs were scored on.
    """

    layout: SlotLayout
    scores: Sequence[Mapping[str, VariantScores]]
    origins: Ints
    kinds: Ints
    changes: Sequence[Changes]
    breakages: Sequence[Breakage]
    intents: Sequence[ActiveIntent]
    schemas: Mapping[str, Mapping[str, Service]]
    data: ReferenceData


# What the systems of a group do, by the system's name; a system whose predictions or data are not
# at hand is not there.
Analyses = Mapping[str, Analysis]


def analyse(system: TrackerSystem, data: ReferenceData) -> Analysis:
    """Score a system's predictions slot by slot and find what its rewordings break.

    Args:
        system: The system.
        data: The data that its runs were scored on.

    Raises:
        ScoreError, SgdxError: The predictions or the data are not those of the run's scores.json.
    """
    schemas = {name: data.schemas(name) for name in system.first.variants}
    base = next(iter(schemas.values()))  # the original where it was scored
    states: list[ReferenceState] = []
    intents: list[ActiveIntent] = []
    breakages: list[Breakage] = []
    changes, scores = [], []
    for run in system.runs:
        by_variant: dict[str, VariantScores] = {}
        for scored in score_variants(run, data):
            layout = scored.layout
            by_variant[scored.variant] = scored.scores
            if not states:
                base = schemas[scored.variant]
                states = read_states(scored.references)
                others = OtherStates(states)
                intents = _active_intents(run, scored.references, base)
            if ORIGINAL in by_variant and scored.variant != ORIGINAL and run is system.first:
                breakages += find_breakages(scored, by_variant[ORIGINAL], others, intents)
        scores.append(by_variant)
        changes.append(count_changes(layout, by_variant, intents))
    return Analysis(
        layout=layout,
        scores=scores,
        origins=_origins(states, data, layout, base),
        kinds=_kinds(layout, base),
        changes=changes,
        breakages=breakages,
        intents=intents,
        schemas=schemas,
        data=data,
    )


def _active_intents(
    run: TrackerRun, references: pa.Table, services: Mapping[str, Service]
) -> list[ActiveIntent]:
    """The active intent of each frame [frames]."""
    positions = {
        name: {intent.name: i for i, intent in enumerate(service.intents)}
        for name, service in services.items()
    }
    intents = zip(run.results.frame_index.service, references["active_intent"].to_pylist())
    return [ActiveIntent(service, positions[service].get(name, -1)) for service, name in intents]


def _origins(
    states: Sequence[ReferenceState],
    data: ReferenceData,
    layout: SlotLayout,
    services: Mapping[str, Service],
) -> Ints:
    if not data.turns:
        return np.full(len(layout.frame), -1)
    slot_names = {name: [slot.name for slot in s.slots] for name, s in services.items()}
    return slot_origins(states, value_origins(states, data.turns), slot_names, layout.frame)


def _kinds(layout: SlotLayout, services: Mapping[str, Service]) -> Ints:
    by_service = [
        [KINDS.index(_kind(slot)) for slot in services[name].slots] for name in layout.services
    ]
    width = max(map(len, by_service), default=0)
    table = np.array([row + [0] * (width - len(row)) for row in by_service], dtype=np.int64)
    return np.asarray(table[layout.service, layout.position])


def _kind(slot: Slot) -> str:
    if slot.is_categorical:
        return BOOLEAN if slot.is_boolean else CATEGORICAL
    return FREE
