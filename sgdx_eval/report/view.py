"""What the report shows of a task beside what it shows of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from sgdx_eval.results import Results
from sgdx_eval.tables import Table
from sgdx_metric.columns import Ints

from .page import CostlyWords, Section
from .runs import Group, System

SGDX = "arXiv 2110.06800 (Lee et al. 2022)."


class Block(NamedTuple):
    """Rows of the comparison that are of one metric."""

    # What stands before the names of their groups; empty where there is one metric alone.
    name: str
    # The titles of the columns, by the keys of the figures.
    titles: dict[str, str]
    # The positions of the items that the metric applies to; None for all.
    members: Ints | None = None


class View:
    """What is shown of a task."""

    # The heading of its systems, what one is called, and what a page of them is about.
    kind: ClassVar[str] = "Systems"
    noun: ClassVar[str] = "system"
    subject: ClassVar[str] = "systems"
    # What must be known to read its figures, beside their legends.
    note: ClassVar[str] = ""
    # Where its measures come from, in a sentence.
    sources: ClassVar[str] = ""
    # The heading and the text above the tables that only this task has.
    more: ClassVar[tuple[str, str]] = "Further figures", ""

    def blocks(self, results: Results) -> list[Block]:
        """The rows and columns of the comparison."""
        figures = results.task.figures(results.scores())
        return [Block("", {figure.key: figure.title for figure in figures})]

    def of_services(self, group: Group) -> Sequence[str]:
        """The keys of the figures that services are shown by."""
        return group.keys[2:]

    def text(self, group: Group) -> str:
        """What stands above the comparison."""
        return ""

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
