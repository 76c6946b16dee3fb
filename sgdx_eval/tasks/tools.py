"""Calls of anybody's own tools, case by case; no service of SGD is in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from sgdx_metric.columns import Ints
from sgdx_metric.figures import FIGURES, case_figures, under_each
from sgdx_metric.statistics import Figure
from sgdx_metric.units import Scores

from ..task import Changes, Task

CALL, NO_CALL, TASK_SUCCESS = "call_accuracy", "no_call_accuracy", "task_success"
# What each metric is called, and what that means.
TITLES = {
    "call_name_accuracy": ("tool", "tool: the right tools are called."),
    "call_argument_accuracy": ("arguments", "arguments: all are right, where the tools are."),
    CALL: ("call", "call: the right tools are called with the right arguments."),
    NO_CALL: ("no call", "no call: none is made where none is right."),
    TASK_SUCCESS: ("task", "task: all calls of a dialogue are right."),
}


class Tools(Task):
    """Cases that expect calls of tools, and cases that expect none.

    They are scored and explained against a folder of tools, by `sgdx_tools`.
    """

    name = "tools"
    unit = "case"
    item_id = "case_id"
    main = CALL
    title = "Call accuracy"
    deciding = (f"{CALL}.reworded", f"{NO_CALL}.reworded")
    counted = "cases"
    sets = ()

    def groups_of(self, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The figures of each metric, under keys such as `call_accuracy.drop`."""
        return {"all": metric_figures(content["calls"])}

    def counts_of(self, content: Mapping[str, Any]) -> Mapping[str, int]:
        """How many cases there are, and how many expect a call."""
        cases = content["cases"]
        return {"all": cases["all"], "with a call": cases["call"], "without": cases["no_call"]}

    def by_variant_of(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Changes]:
        """The accuracy of calls; where none is expected, of making none."""
        calls = content["calls"]
        return calls[self.main_of(calls)]["by_variant"], content["differences"]

    def is_shown(self, key: str) -> bool:
        """All of whole calls, no calls and tasks, and of tools and arguments the means."""
        metric, _, figure = key.partition(".")
        whole = metric in (CALL, NO_CALL, TASK_SUCCESS)
        return figure != "v1-5" and (whole or figure in ("original", "reworded"))

    def figures(self, scores: Scores) -> list[Figure]:
        return [
            figure
            for metric, (title, legend) in TITLES.items()
            if metric in scores.metrics
            for figure in case_figures(scores, metric, title, legend)
        ]

    def main_of(self, metrics: Collection[str]) -> str:
        """The accuracy of calls; where none is expected, of making none."""
        return CALL if CALL in metrics else NO_CALL

    def headlines(self, scores: Scores) -> dict[str, list[Figure]]:
        """Calls, no calls where none is right, and tasks."""
        known = [m for m in (CALL, NO_CALL, TASK_SUCCESS) if m in scores.metrics]
        return {metric: under_each(scores, metric, TITLES[metric][0]) for metric in known}

    def members(self, scores: Scores, metric: str) -> Ints | None:
        """The cases that a metric applies to; arguments are of the same cases as calls."""
        of = metric if metric in (NO_CALL, TASK_SUCCESS) else CALL
        return np.flatnonzero(~np.isnan(scores.metrics[of]).all(axis=0))

    def place(self, item: str) -> tuple[str, str, str]:
        """A case is its own dialogue, unless scores.json says which it is of."""
        return item, item, ""


def metric_figures(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of several metrics, whose keys begin with the metric."""
    figures: dict[str, Any] = {"confidence": {}}
    for metric, of_all in metrics.items():
        for key in FIGURES:
            figures[f"{metric}.{key}"] = of_all[key]
            figures["confidence"][f"{metric}.{key}"] = of_all["confidence"][key]
    return figures
