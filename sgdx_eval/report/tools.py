"""What the report shows of calls alone; ``sgdx tools report`` shows own tools case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgdx_eval.results import Results
from sgdx_eval.tasks import tools
from sgdx_eval.tasks.tools import CALL, NO_CALL
from sgdx_metric import calls
from sgdx_metric.figures import FIGURES

from .page import CostlyWords
from .runs import Group, System
from .view import Block, View

_MOST_COSTLY = 3


class CallsView(View):
    """Callers of the services of SGD."""

    kind, noun, subject = "Calls", "caller", "calls of tools"
    more = (
        "Tasks, and decisions to call",
        "In percent. Of a decision to call, precision and recall are over the turns predicted.",
    )
    # What each metric is called, and what that means.
    titles: Mapping[str, tuple[str, str]] = calls.TITLES

    def blocks(self, results: Results) -> list[Block]:
        """A row for each metric, with the same figures of each."""
        scores = results.scores()
        known = {figure.key for figure in results.task.figures(scores)}
        return [
            Block(
                title,
                {k: end for end in FIGURES if (k := f"{metric}.{end}") in known and end != "v1-5"},
                results.task.members(results.raw, metric),
            )
            for metric, (title, _) in self.titles.items()
            if metric in scores.metrics
        ]

    def of_services(self, group: Group) -> Sequence[str]:
        """The main figures, and the drop."""
        original, reworded, *others = group.keys[2:]
        return original, reworded, f"{group.keys.headline}.drop", *others

    def text(self, group: Group) -> str:
        """How many calls there are, and in how many dialogues."""
        items = group.results.raw.items
        dialogues = len(np.unique(items.dialogue))
        return f"{len(items.ids):,} calls of SGD in {dialogues:,} dialogues."


class ToolsView(CallsView):
    """Callers of anybody's own tools."""

    kind = "Tools"
    titles = tools.TITLES

    def text(self, group: Group) -> str:
        """How many cases there are that expect calls, and that expect none."""
        metrics, names = group.results.raw.metrics, {CALL: "expect calls", NO_CALL: "expect none"}
        counts = [
            f"{len(np.flatnonzero(~np.isnan(metrics[metric]).all(axis=0)))} {name}"
            for metric, name in names.items()
            if metric in metrics
        ]
        return f"{len(group.results.raw.items.ids)} cases: {', '.join(counts)}."

    def costly(self, system: System, group: Group) -> tuple[str, list[CostlyWords]]:
        """The elements whose new words cost most cases."""
        elements = sorted(system.first.stored.get("elements", []), key=lambda e: -e["net"])
        costly = [
            CostlyWords(
                f"{_place(element)}, {element['variant']}",
                _words(element["original"]),
                _words(element["reworded"]),
                f"{element['net']} of {element['cases']} cases",
            )
            for element in elements[:_MOST_COSTLY]
            if element["net"] > 0
        ]
        return "The words that cost {} most, in cases lost minus cases won:", costly


def _place(element: Mapping[str, Any]) -> str:
    return f"{element['tool']} {element['path']}".rstrip()


def _words(words: Mapping[str, str]) -> str:
    """What an element is called; where the name stays, its description."""
    return next((words[key] for key in ("name", "description", "change") if key in words), "")
