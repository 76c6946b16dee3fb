"""Whether other words cost more than a limit: one rule, which `score`, `test` and reports share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import log
from typing import Literal, NamedTuple

import numpy as np

from sgdx_dataset import SgdxError
from sgdx_eval.tables import interval, percent
from sgdx_metric.result import Figure, Result
from sgdx_metric.statistics import Sample, drop, intervals
from sgdx_metric.variants import ORIGINAL

from .data import ToolSet
from .predictions import PredictionFile
from .versions import MADE_BY

_MOST_LACKING = (
    0.1  # the share of cases left out, or of answers unread, above which nothing is told
)


class Verdict(NamedTuple):
    """The end of a gate, and why."""

    end: Literal["passed", "failed", "cannot tell"]
    why: str

    @property
    def status(self) -> int:
        """The exit status: 0 for passed, 1 for failed, 2 where it cannot be told."""
        return {"passed": 0, "failed": 1, "cannot tell": 2}[self.end]

    def __str__(self) -> str:
        return f"{self.end}: {self.why}"


def check_limit(max_drop: float, where: str) -> None:
    """Refuse a limit that is no number of points."""
    if not 0 <= max_drop <= 100:  # nor is NaN
        raise SgdxError(f"{where}: found {max_drop:g}, expected points from 0 to 100")


def judge(
    tool_set: ToolSet,
    files: Mapping[str, PredictionFile],
    result: Result,
    max_drop: float,
) -> Verdict:
    """Whether fewer cases are right under other words, by more than a limit in points.

    The loss is how many points fewer cases are right under other words, on average over these, than
    under the original ones. If its whole 95 % interval is above the limit, the verdict is failed;
    otherwise it is passed. Nothing is told where nothing can be compared: there is no other
    variant, no new word, or nothing to lose; more than a tenth of the cases is left out, or of the
    answers under a variant unread; or not even the loss of every case would have failed.
    """
    if ORIGINAL not in files or len(files) == 1:
        found = f"found answers under {', '.join(files)} alone"
        return Verdict("cannot tell", f"{found}, expected {ORIGINAL} and others")
    others = [tool_set.variants[name] for name in files if name != ORIGINAL]
    if not any(variant.tools or variant.version for variant in others):
        if all(variant.made_by == MADE_BY for variant in others):
            return Verdict("passed", "the other version of the tools is the same")
        names = ", ".join(variant.name for variant in others)
        return Verdict("cannot tell", f"found no new words in {names}, expected some")
    for name, file in files.items():
        unread, answers = result.counts["unread"][name], sum(map(len, file.predictions))
        if unread > _MOST_LACKING * answers:
            return Verdict("cannot tell", f"{unread} of {answers} answers under {name} are unread")
    left_out = len(tool_set.left_out)
    everything = len(tool_set.cases) + left_out
    if left_out > _MOST_LACKING * everything:
        why = f"{left_out} of {everything} cases are left out, since they cannot be right any more"
        return Verdict("cannot tell", why)
    if not result["right_orig"]:
        return Verdict("cannot tell", "no case is right under the original: nothing to lose")
    beside = f", with {left_out} of {everything} cases left out" if left_out else ""
    return judge_loss(result.main("right", "drop"), result, max_drop, beside)


def judge_loss(drop: Figure | None, result: Result, max_drop: float, beside: str = "") -> Verdict:
    """Whether the whole 95 % interval of a drop is above a limit in points."""
    if drop is None or drop.value is None or drop.low is None or drop.high is None:
        return Verdict("cannot tell", "found no other words, expected some")
    counts = result.counts["cases"]
    count, limit = counts["dialogues"], max_drop / 100
    of = "cases" if count == counts["all"] else "dialogues"
    low, high = 0.0 - drop.high, 0.0 - drop.low
    sure = f"95 % interval {interval([low, high])}"
    cost = f"other words cost {percent(0.0 - drop.value)} points ({sure}){beside}"
    if low > limit:
        return Verdict("failed", f"{cost}, all of it more than {max_drop:g}")
    before = result.main(drop.metric, "original")
    if before is None or not before.value:
        return Verdict("cannot tell", "nothing is right under the original: nothing to lose")
    least = _least_loss(count, limit)
    if least is None and limit < 1:
        needed = f"{count} {of} are too few to show any loss above {max_drop:g}"
        return Verdict("cannot tell", f"{cost}; {needed}, {fewest(limit)} are needed")
    shows = f"; of {count} {of}, a loss of {percent(least)} or more would have failed"
    return Verdict("passed", f"{cost}, not surely more than {max_drop:g}{shows if least else ''}")


def fewest(limit: float = 0.0) -> int:
    """How many dialogues there have to be, that the loss of all shows one above a limit in [0, 1).

    If all of n are lost, the interval begins at 2 * 0.025 ** (1 / n) - 1.
    """
    return int(log(0.025) / log((1 + limit) / 2)) + 1


def power(tool_set: ToolSet, max_drop: float) -> str:
    """What so many cases can show, in a sentence, before any model is asked."""
    count = len({case.dialogue or case.id for case in tool_set.cases})
    of = "cases" if count == len(tool_set.cases) else "dialogues"
    least = _least_loss(count, max_drop / 100)
    if least is None:
        needed = fewest(max_drop / 100) if max_drop < 100 else "more"
        return f"{count} {of} are too few to show any loss above {max_drop:g}: {needed} are needed"
    return f"{count} {of}: the gate of {max_drop:g} fails from {percent(least)} points lost"


@cache
def _least_loss(dialogues: int, limit: float) -> float | None:
    """The smallest share of lost dialogues whose interval is above a limit; None where none is."""

    def fails(lost: int) -> bool:
        rows = np.ones((2, dialogues))
        rows[1, :lost] = 0.0
        statistic = drop(rows[1:], rows[0])
        (ends,) = intervals([Sample([statistic], np.arange(dialogues))])
        return ends is not None and -ends[1] > limit

    low, high = 0, dialogues + 1  # the first is known not to fail, and the last to fail
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high / dialogues if high <= dialogues else None
