"""A run's score of every slot of every frame, and of every intent, under each variant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_metric.cli.predictions import read_predictions, with_frame_ids
from sgdx_metric.columns import Bools, Floats, Ints, Side, column, field, flags, positions, strings
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name
from sgdx_metric.slots import SchemaSlots, score_slots

from .data import Data, chosen_frames
from .provenance import original_first
from .runs import Run

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Layout:
    """The slots of all frames' schemas, laid end to end; they are the same under every variant.

    Attributes:
        frame: The position of each slot's frame [slots of all frames].
        place: The position of each slot in its service's schema [slots of all frames].
        service: The original name of each slot's service, as a code [slots of all frames].
        services: The names that the codes stand for.
        categorical: Whether the slot is categorical [slots of all frames].
        active: Whether the reference gives the slot a value [slots of all frames].
    """

    frame: Ints
    place: Ints
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
class Scored:
    """One variant of a run: its name, its tables in the order of the run's frames, its scores."""

    variant: str
    references: pa.Table
    predictions: pa.Table
    layout: Layout
    scores: VariantScores


def score_variants(run: Run, data: Data) -> Iterator[Scored]:
    """Score a run's predictions slot by slot, one variant after the other, the original first.

    Args:
        run: The run.
        data: What it was scored on.

    Raises:
        ScoreError, SgdxError: The predictions or the data are not those of the run's scores.json.
    """
    layout: Layout | None = None
    for variant in original_first(list(run.scores.variants)):
        references = chosen_frames(data, variant, run.order)
        predictions = _predictions(run, variant, references)
        schema, frames = _schema_slots(references), np.arange(len(run.order))
        true, guess = (Side(t, frames, len(frames)) for t in (references, predictions))
        found = score_slots(
            schema, true.slot_values(), guess.slot_values(), run.order, run.rules.use_fuzzy_match
        )
        layout = layout or _layout(run, schema, found.active)
        if not np.array_equal(found.active, layout.active):
            raise ScoreError(
                f"{data.name}: the slots or the gold states under {variant} are not those under "
                "the other variants, expected the same dialogues"
            )
        intents = pc.equal(true.aligned("active_intent"), guess.aligned("active_intent"))
        joint = _joint(schema, found.score, len(frames))
        _check_same(run, variant, joint, data)
        scores = VariantScores(found.score.astype(np.float32), flags(intents), joint)
        yield Scored(variant, references, predictions, layout, scores)


def _predictions(run: Run, variant: str, references: pa.Table) -> pa.Table:
    """The run's predictions for the frames that were scored, in their order."""
    path = run.predictions.get(variant)
    if path is None:
        raise ScoreError(f"{run.path}: found no predictions of {variant} beside scores.json")
    split = split_name(run.parts.get("split", "test"))
    rows = with_frame_ids(read_predictions(path, split, variant), references)
    ids = strings(column(rows, "frame_id"))
    rows = rows.filter(pc.is_in(ids, value_set=run.order))  # a subset of dialogues may be scored
    at = positions(strings(column(rows, "frame_id")), run.order, str(path))
    return rows.take(pa.array(np.argsort(at))).combine_chunks()


def _schema_slots(references: pa.Table) -> SchemaSlots:
    side = Side(references, np.arange(references.num_rows), references.num_rows)
    frame, listed = side.exploded("schema_slots")
    return SchemaSlots(
        frame, strings(field(listed, "name")), flags(field(listed, "is_categorical"))
    )


def _layout(run: Run, schema: SchemaSlots, active: Bools) -> Layout:
    place = np.arange(len(schema.frame)) - np.searchsorted(schema.frame, schema.frame)
    services = run.place.services()
    code = np.searchsorted(np.array(services), run.place.service.astype(str))
    return Layout(schema.frame, place, code[schema.frame], services, schema.categorical, active)


def _joint(schema: SchemaSlots, score: Floats, count: int) -> Floats:
    """The product of each frame's slots [frames]; NaN in a frame whose schema has none."""
    joint = np.where(np.bincount(schema.frame, minlength=count) > 0, 1.0, np.nan)
    np.multiply.at(joint, schema.frame, score)
    return joint


def _check_same(run: Run, variant: str, joint: Floats, data: Data) -> None:
    """Refuse predictions that do not give the scores in scores.json."""
    apart = ~np.isclose(joint, run.jga[variant], rtol=0, atol=1e-9, equal_nan=True)
    if apart.any():
        first = run.order[int(np.flatnonzero(apart)[0])]
        raise ScoreError(
            f"{run.path}: the predictions of {variant} score otherwise on {data.name} than "
            f"scores.json says in {int(apart.sum())} frames, the first is {first}; were they "
            "changed, or scored on other data?"
        )
