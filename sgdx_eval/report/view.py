"""What the report shows of a task beside what it shows of all tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from sgdx_eval.results import Results
from sgdx_eval.tables import Table
from sgdx_metric.columns import Ints
from sgdx_metric.core import Figure, Over, Scores

if TYPE_CHECKING:
    from .page import CostlyWords, Section
    from .runs import Group, Run, System


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

    @property
    def figures(self) -> Sequence[str]:
        """Those keys that are of figures."""
        return self[2:]


class Block(NamedTuple):
    """Rows of the comparison that are of one metric."""

    # What stands before the names of their groups; empty where there is one metric alone.
    name: str
    # The titles of the columns, by the keys of the figures.
    titles: dict[str, str]
    # The positions of the items that the metric applies to; None for all.
    members: Ints | None = None


class View(ABC):
    """What is shown of a task."""

    # The heading of its systems, what one is called, and what a page of them is about.
    kind: ClassVar[str]
    noun: ClassVar[str]
    subject: ClassVar[str]
    # What must be known to read its figures, beside their legends.
    note: ClassVar[str] = ""
    # Whether an item is one answer, right or wrong, and not the counts of several.
    single: ClassVar[bool] = True

    @abstractmethod
    def keys(self, scores: Scores) -> Keys:
        """The figures that tell what rewording costs."""

    @abstractmethod
    def headlines(self, scores: Scores) -> list[Figure]:
        """The means, each an `Over`, that are shown under every wording."""

    def figures(self, results: Results, scores: Scores) -> list[Figure]:
        """All figures that are shown."""
        return results.task.own_figures(scores)

    def blocks(self, results: Results) -> list[Block]:
        """The rows and columns of the comparison."""
        figures = self.figures(results, results.scores())
        return [Block("", {figure.key: figure.title for figure in figures})]

    def members(self, results: Results, metric: str) -> Ints | None:
        """The positions of the items that a metric applies to; None for all."""
        return None

    def of_services(self, scores: Scores) -> Sequence[str]:
        """The keys of the figures that services are shown by."""
        return self.keys(scores).figures

    def text(self, group: Group) -> str:
        """What stands above the comparison."""
        return ""

    def remarks(self, run: Run, wording: str) -> Mapping[str, str]:
        """Further cells of a wording's row, by the titles of their columns."""
        return {}

    def costly(self, system: System, group: Group) -> tuple[str, list[CostlyWords]]:
        """What the costliest words of a system are introduced by, and these words."""
        return "", []

    def sections(self, group: Group, systems: int, is_folded: bool) -> Iterator[Section]:
        """The sections that other tasks do not have.

        `systems` is how many systems the whole report has, which share the room for lists, and
        `is_folded` whether what is not most important is folded.
        """
        yield from ()

    def published(self) -> Table | None:
        """Figures out of papers."""
        return None


def mean_over(scores: Scores, metric: str, title: str, legend: str) -> Figure:
    """The mean of a metric over all wordings."""
    return Figure(metric, metric, Over(scores.wordings), title, (legend,))
