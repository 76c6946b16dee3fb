"""What a task is: what is answered under every variant, and what is measured of an answer.

All that comes after the scores of items is written once, for all tasks: figures, comparisons,
averages over runs, tables and pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from sgdx_metric.result import Metric
from sgdx_metric.units import Scores

if TYPE_CHECKING:
    from .explain import ItemTable
    from .inputs import Inputs
    from .prediction_files import Header
    from .predictions import Predictions
    from .references import References


class Given(NamedTuple):
    """What is scored, and what it is scored against."""

    references: References
    # By variant.
    predictions: Mapping[str, Predictions]
    inputs: Inputs

    def headers(self) -> dict[str, Header]:
        """What the prediction files say of themselves, by variant."""
        return {name: of_variant.header for name, of_variant in self.predictions.items()}


class ScoredItems(NamedTuple):
    """What scoring gives, from which the result is made."""

    scores: Scores
    signature: str
    counts: Mapping[str, Any] = MappingProxyType({})
    # What has to be said beside the figures.
    notes: Sequence[str] = ()
    # How many dialogues were chosen of how many, where they are not all.
    chosen: tuple[int, int] | None = None


class Rows(NamedTuple):
    """What a task reads."""

    # The type of a line of predictions and its columns, of which the first is the item's id.
    prediction: type[msgspec.Struct]
    predicted: pa.Schema
    # The rows of the data that it is scored against, "frames" or "turns", and their columns.
    references: pa.Schema
    kind: str = "frames"
    # The variants whose rows are scored against; empty for those that are predicted.
    variants: Sequence[str] = ()


class Task(NamedTuple):
    """What is answered under several variants, item by item."""

    # What headers and results call it, and what an item of it is.
    name: str
    item: str
    metrics: Sequence[Metric]
    rows: Rows
    # Scores predictions whose headers fit the references.
    score: Callable[[Given], ScoredItems]
    # Prints why an item scores what it does under each variant.
    why: Callable[[str, Given], None]
    # What every item scores under each variant, for lists of those that changed.
    items: Callable[[Given], ItemTable]
    # The headings over the options that it has beside those of every task.
    option_groups: Sequence[str] = ()
