"""Several runs of one system, such as those of several seeds: mean and standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import Ints
from sgdx_metric.core import Sample

from .results import Outcome, Results, read_runs


def summarise(paths: Sequence[Path]) -> Outcome:
    """Average the figures of two or more runs, of any task, that were scored alike.

    Of each group of items, each figure has its `mean`, its sample standard deviation `sd` and its
    `values`, one a run. One that is undefined in a run has neither mean nor deviation.
    """
    if len(paths) < 2:
        raise SgdxError(
            f"summarise: found {len(paths)} file, expected the scores.json of two runs or more"
        )
    runs = read_runs(paths)
    items = runs[0].raw.items
    groups = {name: m for name, m in items.groups().items() if name not in items.services()}
    content = {
        "signature": runs[0].signature,
        "runs": len(runs),
        "groups": {name: _group(runs, members) for name, members in groups.items()},
    }
    task = runs[0].task
    return Outcome(task, task.own_figures(runs[0].scores()), content, runs[0].scores())


def _group(runs: Sequence[Results], members: Ints) -> dict[str, Any]:
    """The figures of some items, averaged over the runs."""
    task = runs[0].task
    scores = [run.scores(members) for run in runs]
    figures = [Sample(of_run, task.own_figures(of_run)).values() for of_run in scores]
    by_wording = [run.by_wording(members).values() for run in runs]
    return {
        task.counted: task.count(runs[0].raw.only(members)),
        **{name: _spread([of_run.get(name) for of_run in figures]) for name in figures[0]},
        "by_variant": {
            name: _spread([of_run.get(name) for of_run in by_wording]) for name in runs[0].variants
        },
    }


def _spread(values: Sequence[float | None]) -> dict[str, Any]:
    """Mean and sample standard deviation of one figure of all runs."""
    defined = [value for value in values if value is not None]
    whole = len(defined) == len(values)
    return {
        "mean": float(np.mean(defined)) if whole else None,
        "sd": float(np.std(defined, ddof=1)) if whole else None,
        "values": list(values),
    }
