"""What a task is: what is answered under every variant, and which figures are made of its scores.

All that comes after the scores of items is written once, for all tasks: intervals, comparisons,
averages over runs, tables and pages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
import pyarrow as pa

from sgdx_metric.columns import Ints
from sgdx_metric.figures import under_each
from sgdx_metric.signature import Rules
from sgdx_metric.statistics import Figure
from sgdx_metric.units import SEEN, Scores

if TYPE_CHECKING:
    from .explain import ItemTable
    from .inputs import Inputs
    from .prediction_files import Header
    from .predictions import Predictions
    from .references import References
    from .tables import Table


# By variant its difference to the original, as `differences` of scores.json.
Changes = Mapping[str, Mapping[str, Any]]


class Given(NamedTuple):
    """What is scored, and what it is scored against."""

    references: References
    # By variant.
    predictions: Mapping[str, Predictions]
    inputs: Inputs

    def headers(self) -> dict[str, Header]:
        """What the prediction files say of themselves, by variant."""
        return {name: of_variant.header for name, of_variant in self.predictions.items()}


@dataclass(frozen=True)
class Scored:
    """What scoring gives."""

    # What scores.json holds beside `predictions` and `paired`, which it ends with.
    content: dict[str, Any]
    # The scores of single items, which `paired` has.
    raw: Scores
    # The scores of single items by variant, as the task's metric gives them.
    by_variant: Mapping[str, Any]
    # How many dialogues were chosen of how many, where they are not all.
    chosen: tuple[int, int] | None = None


class Keys(NamedTuple):
    """The figures that tell what rewording costs, by their keys."""

    # What they are of in words, and the key of that one of `headlines`.
    measure: str
    headline: str
    original: str
    # The mean under other words, by which systems are ranked.
    reworded: str
    sensitivity: str
    worst: str
    flips: str


class Task(ABC):
    """What is answered under several variants, item by item."""

    # What headers and signatures call it, and what an item of it is.
    name: ClassVar[str]
    unit: ClassVar[str]
    # The key of the items' ids in scores.json.
    item_id: ClassVar[str] = "frame_id"
    # The metric that tells whether an item is right, and what its mean is called.
    main: ClassVar[str]
    title: ClassVar[str]
    # The keys of the figures by which one system is better than another; the first that is known.
    deciding: ClassVar[Sequence[str]]
    # What scores.json calls the number of items.
    counted: ClassVar[str] = "frames"
    # The sets of services by which items are told apart, as scores.json names them.
    sets: ClassVar[Sequence[str]] = (SEEN,)
    # The type of a line of predictions and its columns, of which the first is the item's id.
    Prediction: ClassVar[type[msgspec.Struct]]
    predicted: ClassVar[pa.Schema]
    # What the name of a file of single items' scores ends in.
    item_endings: ClassVar[tuple[str, ...]] = (".parquet", ".jsonl")
    # The rows of the data that it is scored against, "frames" or "turns", and their columns.
    kind: ClassVar[str] = "frames"
    references: ClassVar[pa.Schema]

    # Which options it has beside those of every task: the headings over them in `options`.
    option_groups: ClassVar[Collection[str]] = ()

    # ---- from predictions to scores

    def variants_read(self, predicted: Sequence[str]) -> Sequence[str]:
        """The variants whose rows are scored against, where some are predicted."""
        return predicted

    def score(self, given: Given) -> Scored:
        """Score the predictions of each variant, whose headers fit the references."""
        raise NotImplementedError

    def write_items(self, scored: Scored, output: Path) -> None:
        """Write the scores of single items."""
        raise NotImplementedError

    def explain_item(self, item: str, given: Given) -> None:
        """Print why an item scores what it does under each variant."""
        raise NotImplementedError

    def items(self, given: Given) -> ItemTable:
        """What every item scores under each variant."""
        raise NotImplementedError

    # ---- what scores.json holds, for tables

    def groups_of(self, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The figures of all items and of each set's, by key, with their `confidence`."""
        every = content["sgdx"]
        names = [name for each in self.sets for name in (each, f"un{each}")]
        return {"all": every, **{name: every[name] for name in names}}

    def counts_of(self, content: Mapping[str, Any]) -> Mapping[str, int]:
        """How many items each group has."""
        counts: Mapping[str, int] = content[self.counted]
        return counts

    def by_variant_of(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Changes]:
        """The main figure under each variant, and how far it is from that under the original."""
        return content["sgdx"]["by_variant"], content["sgdx"]["differences"]

    def is_shown(self, key: str) -> bool:
        """Whether a figure is shown without details."""
        return True

    def is_headline(self, key: str, keys: Keys) -> bool:
        """Whether a figure stands in the small table that is printed first."""
        return key.partition("(")[0] in (*keys[2:], self.drop_key(keys))

    def drop_key(self, keys: Keys) -> str:
        """The key of the difference of the two means, if there is one."""
        return f"{keys.headline}.drop"

    def more_tables(self, content: Mapping[str, Any]) -> list[Table]:
        """The tables that only this task has."""
        return []

    def terms(self, content: Mapping[str, Any]) -> list[str]:
        """What has to be known to read the tables that only this task has."""
        return []

    def notes(self, content: Mapping[str, Any], scored: Scored) -> list[str]:
        """What has to be said beside the figures."""
        return []

    # ---- from scores to figures

    @abstractmethod
    def figures(self, scores: Scores) -> list[Figure]:
        """The figures of scores that `derived` returned."""

    def keys(self, scores: Scores) -> Keys:
        """The figures that tell what rewording costs, by default of `case_figures`."""
        main = self.main_of(scores.metrics)
        name = f"{self.title[0].lower()}{self.title[1:]}" if main == self.main else main
        ends = ("original", "reworded", "sensitivity", "worst", "flips")
        return Keys(name.replace("_", " "), main, *(f"{main}.{end}" for end in ends))

    def headlines(self, scores: Scores) -> dict[str, list[Figure]]:
        """By metric, the means under each variant, whose keys are the names of the variants."""
        main = self.main_of(scores.metrics)
        return {main: under_each(scores, main, self.title)}

    def main_of(self, metrics: Collection[str]) -> str:
        """The main one of the metrics that were scored."""
        return self.main

    def members(self, scores: Scores, metric: str) -> Ints | None:
        """The positions of the items that a metric applies to; None for all."""
        return None

    def derived(self, scores: Scores, rules: Rules) -> Scores:
        """The scores of some items whose means are taken, such as those of turns for frames."""
        return scores

    def by_variant(self, scores: Scores) -> list[Figure]:
        """The main figure under each variant, by the name of the variant."""
        return self.headlines(scores)[self.keys(scores).headline]

    def count(self, scores: Scores) -> int:
        """How many items there are."""
        return len(scores.items.ids)

    def place(self, item: str) -> tuple[str, str, str]:
        """The dialogue, the turn and the service of an item, by its id."""
        dialogue, *rest = item.rsplit("/", 2)
        if len(rest) < 2 or not rest[0].isdecimal():
            raise ValueError(f"{self.unit} id is '{item}', expected DIALOGUE/TURN/SERVICE")
        return dialogue, f"{dialogue}/{rest[0]}", rest[1]
