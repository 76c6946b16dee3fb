"""Several runs of one system, such as those of several seeds: mean and standard deviation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import Ints
from sgdx_metric.units import ALL, SEEN, UNSEEN

from .paired_results import PairedResults
from .runs import read_runs


def summarise(paths: Sequence[Path]) -> dict[str, Any]:
    """Average the figures of two or more runs that were scored alike on the same frames.

    Returns:
        `signature`, which all files share; `runs`, their number; and `groups`. For all, seen and
        unseen frames a group has `frames`, their number, the headline figures, those over further
        variants, such as `ss_jga(v1..v5+mine)`, and `by_variant`, the joint goal accuracy under
        each. Each figure has its `mean`, its sample standard deviation `sd` (that of the population
        is estimated with n - 1) and its `values`, one a run. All are fractions; a figure that is
        undefined in a run has neither mean nor deviation.
    """
    if len(paths) < 2:
        raise SgdxError(
            f"summarise: found {len(paths)} file, expected the scores.json of two runs or more"
        )
    runs = read_runs(paths)
    groups = runs[0].frame_index.groups()
    return {
        "signature": runs[0].signature,
        "runs": len(runs),
        "groups": {name: _group(runs, groups[name]) for name in (ALL, SEEN, UNSEEN)},
    }


def _group(runs: Sequence[PairedResults], members: Ints) -> dict[str, Any]:
    """The figures of some frames, averaged over the runs."""
    figures = [run.figures(members) for run in runs]
    by_variant = [run.by_variant(members).values() for run in runs]
    return {
        "frames": len(members),
        **{name: _spread([of_run.get(name) for of_run in figures]) for name in figures[0]},
        "by_variant": {
            name: _spread([of_run.get(name) for of_run in by_variant]) for name in runs[0].variants
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
