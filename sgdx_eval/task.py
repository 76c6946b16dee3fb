"""What a task is, and predictions beside the gold rows of the same dialogues and services.

This is the one place that says what is of other data, of another split or of another system, and
which dialogues and services are meant. Rows that are missing, there twice or unknown are told by
the metric's core, which knows nothing of files; `located` says in which line they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.columns import column
from sgdx_metric.result import Metric
from sgdx_metric.signature import OFFICIAL, Rules, Setup, Subset, dialogues_mark
from sgdx_metric.units import (
    Scores,
    dialogue_ids_of,
    only_dialogues,
    only_services,
    subset_of,
)
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .gold import Gold, Rows, open_gold
from .predictions import (
    Header,
    Predictions,
    check_data,
    check_one_system,
    oracle,
    prediction_paths,
    read_predictions,
    system_acts,
    with_frame_ids,
)

if TYPE_CHECKING:
    from .explain import ItemTable


@dataclass(frozen=True)
class Inputs:
    """What is scored against what, and how: what the options of `score` and `explain` say."""

    # Prediction files by variant, one folder that has them, or arguments of `--predictions`.
    predictions: Mapping[str, Path] | Path | Sequence[str]
    split: str = "test"
    # Where the references come from, as `sgdx_dataset.open_release` takes it, or a folder of
    # VARIANT.parquet instead.
    source: str | None = None
    references: Path | None = None
    # Schema variants of the user's own, as paths by name.
    own_variants: Mapping[str, str] | None = None
    # A file with the ids of the dialogues to score; None for those that the predictions name.
    dialogues: Path | None = None
    # How many of these, the first ones of the references, are scored; None for all.
    limit: int | None = None
    # The original names of the services to score; none for all.
    services: Sequence[str] = ()
    rules: Rules = OFFICIAL

    @cached_property
    def paths(self) -> dict[str, Path]:
        """The prediction files by variant, of the variants whose words are known."""
        variants = [ORIGINAL, *PAPER_VARIANTS, *(self.own_variants or {})]
        if self.references:
            if self.source or self.own_variants:
                found = f"--references {self.references}: found --source or --variant too"
                raise SgdxError(f"{found}, expected one way to have the references")
            files = self.references.glob("*.parquet")
            variants += sorted({file.stem for file in files} - {*variants})
        return prediction_paths(self.predictions, variants, notes=True)

    def open_gold(self, rows: Rows, headers: Mapping[str, Header] | None = None) -> Gold:
        """The gold side of what is read; the headers of predictions may name a source."""
        named = self.source, self.split, self.own_variants
        return open_gold(*named, rows, headers or {}, self.references)


class Given(NamedTuple):
    """What is scored, and what it is scored against."""

    gold: Gold
    # By variant.
    predictions: Mapping[str, Predictions]
    inputs: Inputs
    # The ids of the dialogues to score, each once; empty for all.
    ids: Sequence[str] = ()

    def headers(self) -> dict[str, Header]:
        """What the prediction files say of themselves, by variant."""
        return {name: of_variant.header for name, of_variant in self.predictions.items()}

    def setup(self, subset: Subset | None = None) -> Setup:
        """What a signature says of the data, and of how predictions were made."""
        headers = self.headers()
        return Setup(
            split=self.gold.split,
            release=self.gold.release,
            rules=self.inputs.rules,
            system_acts=system_acts(headers),
            oracle=oracle(headers) == "yes",
            made_elsewhere=any(header.data is None for header in headers.values()),
            variants=self.gold.marks([*self.predictions]),
            subset=subset,
            services=self.inputs.services,
        )

    def frames(self) -> Iterator[tuple[str, pa.Table, pa.Table, Subset | None]]:
        """The gold and the predicted rows of each variant, and which dialogues these are of."""
        ids, services, available = self.ids, self.inputs.services, self.gold.available
        for name, of_variant in self.predictions.items():
            true = self.gold.rows(name)
            predicted, subset = with_frame_ids(of_variant, true), None
            if ids:
                where = str(self.inputs.dialogues or f"predictions for {name}")
                subset = subset_of(true, ids, where)
                true, predicted = (only_dialogues(rows, subset) for rows in (true, predicted))
            elif available is not None:
                subset = Subset(dialogue_ids_of(true), available)
            if subset and available is not None:
                subset = replace(subset, available=available)
            if services:
                ends = pc.replace_substring_regex(column(true, "frame_id"), "^.*/", "")
                check_services(services, ends.unique().to_pylist())
                available_here = subset.available if subset else len(dialogue_ids_of(true))
                true, predicted = (only_services(rows, services) for rows in (true, predicted))
                subset = Subset(dialogue_ids_of(true), available_here)
            yield name, true, predicted, subset


class ScoredItems(NamedTuple):
    """What scoring gives, from which the result is made."""

    scores: Scores
    signature: str
    counts: Mapping[str, Any] = MappingProxyType({})
    # What has to be said beside the figures.
    notes: Sequence[str] = ()


NO_ROWS = Rows(msgspec.Struct, pa.schema([]), pa.schema([]))


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is answered under several variants, item by item, and what is measured of an answer.

    All that comes after the scores of items is written once, for all tasks: figures, comparisons,
    averages over runs, tables and pages. Calls of tools are read and scored by `sgdx tools`.
    """

    # What headers and results call it, and what an item of it is.
    name: str
    item: str
    # The first that is known decides.
    metrics: Sequence[Metric]
    rows: Rows = NO_ROWS

    def score(self, given: Given) -> ScoredItems:
        """Score predictions whose headers fit the gold side."""
        raise NotImplementedError

    def why(self, item: str, given: Given, console: Console) -> None:
        """Print why an item scores what it does under each variant."""
        raise NotImplementedError

    def items(self, given: Given) -> ItemTable:
        """What every item scores under each variant, for lists of those that changed."""
        raise NotImplementedError


def pair(task: Task, inputs: Inputs) -> Given:
    """Read the predictions of one system, open the gold side, and hold the one against the other.

    All predictions are read first, so that a bad file is refused before any data is opened.
    """
    kinds = task.rows.prediction, task.rows.predicted
    predictions = {
        name: read_predictions(path, inputs.split, name, *kinds)
        for name, path in inputs.paths.items()
    }
    headers = {name: of_variant.header for name, of_variant in predictions.items()}
    check_one_system(headers)
    gold = inputs.open_gold(task.rows, headers)
    return held_against(gold, predictions, inputs, task.rows.variants)


def held_against(
    gold: Gold,
    predictions: Mapping[str, Predictions],
    inputs: Inputs,
    variants: Sequence[str] = (),
) -> Given:
    """Refuse predictions of other data, and find the dialogues that are meant."""
    marks = gold.marks([*predictions])
    for name, of_variant in predictions.items():
        check_data(of_variant.header, name, gold.data(name), marks.get(name))
    if inputs.dialogues:
        ids = read_dialogue_ids(inputs.dialogues, inputs.split)
        return Given(gold, predictions, inputs, ids)
    ids = []
    marked = {name: of_variant.header.dialogues for name, of_variant in predictions.items()}
    stated = {name: mark for name, mark in marked.items() if mark is not None}
    for name, mark in stated.items():
        ids = sorted(_dialogue_ids(predictions[name].rows))
        if mark != dialogues_mark(ids):
            raise SgdxError(
                f"predictions for {name}: found rows of the dialogues {dialogues_mark(ids)}, "
                f"expected {mark} as their first line says (how many @ a digest of the ids); "
                "name the dialogues to score with --dialogues FILE"
            )
    if len(set(stated.values())) > 1:
        told = ", ".join(f"{mark} for {name}" for name, mark in stated.items())
        raise SgdxError(
            f"predictions: found other dialogues for each variant ({told}), expected the same; "
            "name the dialogues to score with --dialogues FILE"
        )
    if inputs.limit:
        variant = next(iter(variants or predictions))
        known = _dialogue_ids(gold.rows(variant))
        ids = [name for name in known if name in ids or not ids][: inputs.limit]
    elif ids:
        note = f"note: only the {len(ids)} dialogues that the predictions name are used"
        print(f"{note}; to choose others, give --dialogues FILE", file=sys.stderr)
    return Given(gold, predictions, inputs, ids)


def _dialogue_ids(rows: pa.Table) -> list[str]:
    """The dialogues of frames or turns, each once, in the order of the rows."""
    # A frame's id ends in /TURN/SERVICE, and a turn's in /TURN.
    name, levels = ("frame_id", 2) if "frame_id" in rows.column_names else ("turn_id", 1)
    return list(dict.fromkeys(item.rsplit("/", levels)[0] for item in rows[name].to_pylist()))


def check_services(chosen: Sequence[str], known: Sequence[str]) -> None:
    """Refuse services that are none of those."""
    if lacking := sorted({*chosen} - {*known}):
        expected = f"expected one of {', '.join(sorted({*known}))}"
        raise SgdxError(f"--service {lacking[0]}: found nothing of it, {expected}")
