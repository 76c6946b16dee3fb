"""What can be said of a loss or a difference: one rule for all tasks, with three ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from sgdx_metric.core import Scores
from sgdx_metric.variants import ORIGINAL
from sgdx_metric.wording_figures import over_wordings

from .tables import interval, percent

# Of fewer dialogues neither an interval nor p says anything: of 2**5 ways to swap five, one is as
# rare as a difference has to be.
FEWEST_DIALOGUES = 6
UNLIKELY = 0.05  # below this p, and where the interval is without 0, chance does not explain it
_MOST_INVALID = 0.1  # the share of answers above which a score says little of the others


class Verdict(NamedTuple):
    """The end of a gate, and why."""

    end: Literal["passed", "failed", "cannot tell"]
    why: str

    @property
    def status(self) -> int:
        """The exit status: 0 for passed, 1 for failed, 2 where it cannot be told."""
        return {"passed": 0, "failed": 1, "cannot tell": 2}[self.end]


def sureness(ends: Sequence[float] | None, p: float | None, dialogues: int) -> str:
    """Whether chance explains a difference, as the end of a sentence about it."""
    if not ends or p is None:
        return "whether by chance is not known"
    if dialogues < FEWEST_DIALOGUES:
        return f"whether by chance cannot be told of {dialogues} dialogues"
    is_apart, is_unlikely = not ends[0] <= 0 <= ends[1], p < UNLIKELY
    if is_apart and is_unlikely:
        return "more than chance explains"
    if is_apart or is_unlikely:
        return "whether by chance cannot be told: interval and p disagree"
    return "which may be chance"


def gate(
    scores: Scores,
    metrics: Mapping[str, str],
    max_drop: float,
    invalid: Mapping[str, tuple[int, int]],
) -> Verdict:
    """Whether other words cost more than a limit in points, by any of some metrics.

    It fails where the whole interval of the loss is above the limit and chance does not explain the
    loss. It cannot be told where there is too little to lose or to compare, or where too many
    answers could not be read: `invalid` has how many of how many, by wording.
    """
    if unread := [name for name, (n, of) in invalid.items() if of and n / of > _MOST_INVALID]:
        count, of = invalid[unread[0]]
        return Verdict("cannot tell", f"{count} of {of} answers under {unread[0]} are invalid")
    verdicts = []
    for metric, name in metrics.items():
        if metric in scores.metrics:
            applies = np.flatnonzero(~np.isnan(scores.metrics[metric]).all(axis=0))
            verdicts.append(_of_metric(scores.only(applies), metric, name, max_drop))
    # A loss by any metric fails; else the first decides, which may have been too few to tell.
    failed = (verdict for verdict in verdicts if verdict.end == "failed")
    return next(failed, verdicts[0])


def _of_metric(scores: Scores, metric: str, name: str, max_drop: float) -> Verdict:
    figures = over_wordings(scores, metric)
    ends = figures["confidence"]["drop"]
    if figures["drop"] is None or ends is None:
        names = ", ".join(scores.wordings)
        return Verdict("cannot tell", f"found scores under {names}, expected {ORIGINAL} and others")
    bounds = interval([0.0 - ends[1], 0.0 - ends[0]])
    lost = f"other words cost {percent(0.0 - figures['drop'])} points of {name} accuracy"
    sure = f"95 % interval {bounds}, p = {figures['p']:.4f}"
    dialogues = len(np.unique(scores.items.dialogue))
    if dialogues < FEWEST_DIALOGUES:
        few = f"found {dialogues}, expected {FEWEST_DIALOGUES} cases or dialogues that stand alone"
        return Verdict("cannot tell", f"{lost} ({sure}); {few}")
    if not figures["original"]:
        return Verdict("cannot tell", f"{name} accuracy is 0 under the original: nothing to lose")
    if 100 * ends[1] < -max_drop and figures["p"] < UNLIKELY:
        return Verdict("failed", f"{lost}, all of the interval more than {max_drop:g} ({sure})")
    if 100 * figures["drop"] < -max_drop:
        why = f"more than {max_drop:g}, but {dialogues} cases or dialogues are too few to be sure"
        return Verdict("passed", f"{lost}, {why} ({sure})")
    return Verdict("passed", f"{lost}, not more than {max_drop:g} ({sure})")
