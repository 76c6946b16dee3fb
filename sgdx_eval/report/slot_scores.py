"""A run's score of every slot of every frame, and of every intent, under each variant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset import SgdxError
from sgdx_eval.predictions import read_predictions, with_frame_ids
from sgdx_metric.columns import (
    AlignedRows,
    Bools,
    Floats,
    Ints,
    column,
    field,
    flags,
    positions,
    strings,
)
from sgdx_metric.signature import split_name
from sgdx_metric.slots import SchemaSlots, score_slots

from .data import ReferenceData, select_frames
from .runs import TrackerRun
from .systems import original_first

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SlotLayout:
    """The slots of all frames' schemas, laid end to end; they are the same under every variant.

    Attributes:
        frame: The position of each slot's frame [slots of all frames].
        position: The position of each slot in its service's schema [slots of all frames].
        service: The original name of each slot's service, as a code [slots of all frames].
        services: The names that the codes stand for.
        categorical: Whether the slot is categorical [slots of all frames].
        active: Whether the reference gives the slot a value [slots of all frames].
    """

    frame: Ints
    position: Ints
    service: Ints
    services: list[str]
    categorical: Bools
    active: Bools


@dataclass(frozen=True)
class VariantScores:
    """What a run scores under one variant.

    Attributes:
        slots: The scores in [0, 1] [slots of all frames].
        intents: Whether the active intent is right [frames].
        joint: Joint goal accuracy in [0, 1], NaN where the schema has no slot [frames].
    """

    slots: Singles
    intents: Bools
    joint: Floats


@dataclass(frozen=True)
class ScoredVariant:
    """What a run predicts under one variant, and how it scores.

    Attributes:
        variant: The name of the variant.
        references, predictions: The rows in the order of the run's frames [frames].
        layout: The slots of all frames.
        scores: The scores.
    """

    variant: str
    references: pa.Table
    predictions: pa.Table
    layout: SlotLayout
    scores: VariantScores


def score_variants(run: TrackerRun, data: ReferenceData) -> Iterator[ScoredVariant]:
    """Score a run's predictions slot by slot, one variant after the other, the original first.

    Args:
        run: The run.
        data: The data that it was scored on.

    Raises:
        ScoreError, SgdxError: The predictions or the data are not those of the run's scores.json.
    """
    layout: SlotLayout | None = None
    frame_ids = run.results.frame_ids
    for variant in original_first(run.variants):
        references = select_frames(data, variant, frame_ids)
        predictions = _predictions(run, variant, references)
        schema, frames = _schema_slots(references, frame_ids), np.arange(len(frame_ids))
        gold, predicted = (AlignedRows(t, frames, len(frames)) for t in (references, predictions))
        slots = score_slots(
            schema,
            gold.slot_values(),
            predicted.slot_values(),
            frame_ids,
            run.results.rules.use_fuzzy_match,
        )
        layout = layout or _layout(run, schema, slots.active)
        if not np.array_equal(slots.active, layout.active):
            raise SgdxError(
                f"{data.name}: the slots or the gold states under {variant} are not those under "
                "the other variants, expected the same dialogues"
            )
        intents = pc.equal(gold.aligned("active_intent"), predicted.aligned("active_intent"))
        joint = _joint(schema, slots.score, len(frames))
        _check_scores(run, variant, joint, data)
        scores = VariantScores(slots.score.astype(np.float32), flags(intents), joint)
        yield ScoredVariant(variant, references, predictions, layout, scores)


def _predictions(run: TrackerRun, variant: str, references: pa.Table) -> pa.Table:
    """The run's predictions for the frames that were scored, in their order."""
    path = run.predictions.get(variant)
    if path is None:
        raise SgdxError(f"{run.path}: found no predictions of {variant} beside scores.json")
    split = split_name(run.signature_parts.get("split", "test"))
    rows = with_frame_ids(read_predictions(path, split, variant), references)
    ids, frame_ids = strings(column(rows, "frame_id")), run.results.frame_ids
    rows = rows.filter(pc.is_in(ids, value_set=frame_ids))  # a subset of dialogues may be scored
    order = np.argsort(positions(strings(column(rows, "frame_id")), frame_ids, str(path)))
    return rows.take(pa.array(order)).combine_chunks()


def _schema_slots(references: pa.Table, frame_ids: pa.Array) -> SchemaSlots:
    side = AlignedRows(references, np.arange(references.num_rows), references.num_rows)
    frame, listed = side.exploded("schema_slots")
    categorical = flags(field(listed, "is_categorical"))
    return SchemaSlots(frame, field(listed, "name"), categorical, frame_ids)


def _layout(run: TrackerRun, schema: SchemaSlots, active: Bools) -> SlotLayout:
    # The slots of a frame are neighbours, so a slot's position is its distance from their first.
    position = np.arange(len(schema.frame)) - np.searchsorted(schema.frame, schema.frame)
    index = run.results.frame_index
    services = index.services()
    code = np.searchsorted(np.array(services), index.service.astype(str))
    return SlotLayout(
        schema.frame, position, code[schema.frame], services, schema.categorical, active
    )


def _joint(schema: SchemaSlots, score: Floats, count: int) -> Floats:
    """The product of each frame's slots [frames]; NaN in a frame whose schema has none."""
    joint = np.where(np.bincount(schema.frame, minlength=count) > 0, 1.0, np.nan)
    np.multiply.at(joint, schema.frame, score)
    return joint


def _check_scores(run: TrackerRun, variant: str, joint: Floats, data: ReferenceData) -> None:
    """Refuse predictions that do not give the scores in scores.json."""
    stored = run.results.joint["jga"][variant]
    different = ~np.isclose(joint, stored, rtol=0, atol=1e-9, equal_nan=True)
    if different.any():
        first = run.results.frame_ids[int(np.flatnonzero(different)[0])]
        raise SgdxError(
            f"{run.path}: the predictions of {variant} score otherwise on {data.name} than "
            f"scores.json says in {int(different.sum())} frames, the first is {first}; were they "
            "changed, or scored on other data?"
        )
