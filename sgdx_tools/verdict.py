"""Whether other words cost more than a limit: one rule, which all commands and reports share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from math import ceil, isfinite, log, log10, sqrt
from typing import Any, NamedTuple

import numpy as np

from sgdx_dataset.io.json import pretty_json
from sgdx_eval.tables import interval, percent
from sgdx_metric.result import Result, reworded_variants
from sgdx_metric.statistics import TOLERANCE, Sample, drop, intervals
from sgdx_metric.variants import ORIGINAL

from .data import Project
from .keys import Gate
from .predictions import PredictionFile
from .versions import MADE_BY

# The share of cases left out, or of answers unread, above which nothing is told.
_MOST_LACKING = 0.1


class End(StrEnum):
    """What a gate says."""

    FAILED = "failed"
    PASSED = "passed"
    UNCLEAR = "unclear"
    CANNOT_TELL = "cannot tell"


class Verdict(NamedTuple):
    """The end of a gate, and why."""

    end: End
    why: str
    # Whether what is unclear is refused.
    strict: bool = False
    # In points: the loss, and the ends of its 95 % interval.
    loss: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def status(self) -> int:
        """The exit status: 1 for failed, 2 where it cannot be told, or is unclear and strict."""
        refused = {End.CANNOT_TELL, End.UNCLEAR} if self.strict else {End.CANNOT_TELL}
        return 1 if self.end is End.FAILED else 2 if self.end in refused else 0

    def __str__(self) -> str:
        return f"{self.end}: {self.why}"

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        points = {"loss": self.loss, "low": self.low, "high": self.high}
        return {"verdict": str(self.end), "status": self.status, "why": self.why, **points}


def status_of(verdicts: Iterable[Verdict]) -> int:
    """The exit status of several: 1 if one has failed, else 2 if one is refused."""
    statuses = {verdict.status for verdict in verdicts}
    return 1 if 1 in statuses else max(statuses, default=0)


def print_verdicts(verdicts: Mapping[str, Verdict], as_json: bool) -> int:
    """Print verdicts by what each is of; returns the exit status."""
    if as_json:
        rows = [{"of": name, **verdict.as_json()} for name, verdict in verdicts.items()]
        print(pretty_json(rows, 1).decode(), end="")
    else:
        for name, verdict in verdicts.items():
            print(f"{name}: {verdict}" if name else verdict)
    return status_of(verdicts.values())


def cannot_tell(why: str) -> Verdict:
    """The verdict where nothing can be compared."""
    return Verdict(End.CANNOT_TELL, why)


def judge(
    project: Project, files: Mapping[str, PredictionFile], result: Result, gate: Gate
) -> Verdict:
    """Whether fewer cases are right under other words, by more than a limit in points.

    The loss is how many points fewer cases are right under other words, on average over these, than
    under the original ones. ``judge_loss`` has the rule. Nothing is told where nothing can be
    compared: there is no other variant or no new word, too few cases are right, or more than a
    tenth of the cases is left out, or of the answers under a variant unread.
    """
    reworded = reworded_variants(files, "tools")
    if ORIGINAL not in files or not reworded:
        found = f"found answers under {', '.join(files)} alone"
        return cannot_tell(f"{found}, expected {ORIGINAL} and others")
    others = [project.variants[name] for name in files if name != ORIGINAL]
    if not any(variant.tools or variant.version for variant in others):
        if all(variant.made_by == MADE_BY for variant in others):
            return Verdict(End.PASSED, "the other version of the tools is the same", loss=0.0)
        names = ", ".join(variant.name for variant in others)
        return cannot_tell(f"found no new words in {names}, expected some")
    for name, file in files.items():
        unread, answers = result.counts["unread"][name], sum(map(len, file.predictions))
        if unread > _MOST_LACKING * answers:
            return cannot_tell(f"{unread} of {answers} answers under {name} are unread")
    left_out = len(project.left_out)
    everything = len(project.cases) + left_out
    if left_out > _MOST_LACKING * everything:
        why = f"{left_out} of {everything} cases are left out, since they cannot be right any more"
        return cannot_tell(why)
    right = 100 * (result["right_orig"] or 0.0)
    if right < gate.min_right:
        few = f"{right:.2f} % of the cases are right under {ORIGINAL}"
        return cannot_tell(f"{few}, expected min_right {gate.min_right:g} or more")
    verdict = judge_loss("right", result, gate.max_drop or 0.0, gate.strict)
    beside = [f"{left_out} of {everything} cases are left out"] if left_out else []
    return verdict._replace(why="; ".join([verdict.why, *beside, *qualifiers(result)]))


def qualifiers(result: Result) -> list[str]:
    """What a reader has to know of the cases and answers that a verdict is of."""
    counts, said = result.counts, list[str]()
    drop = result.main("right", "drop")
    if drop and (control := result.floor(drop, "control")) and control.value is not None:
        said.append(f"trivial edits of the words cost {percent(0.0 - control.value)} points")
    for name, taken in counts.get("neighbours", {}).items():
        for tool, cases in list(taken.items())[:1]:
            who = tool.removesuffix("#crowd")
            said.append(f"under {name}, the neighbour {who} takes the most calls: {cases}")
    for row in counts.get("first", ()):
        name = next(iter(row["cases"]))
        if not row["said"]:
            before = f"{row['first']} came first in {row['cases'][name]} of {row['of']} cases"
            said.append(f"{before} of {row['tool']} under {name}, which no text of them says")
    for tool, cases in counts.get("lost_tools", {}).items():
        said.append(f"all {cases} cases of {tool} are lost")
    if gone := counts.get("gone"):
        said.append(f"{len(gone)} cases cannot be right any more, and count as wrong")
    if unreviewed := counts["cases"].get("unreviewed"):
        said.append(f"{unreviewed} of {counts['cases']['all']} cases are unreviewed")
    texts = {name: of.get("counts", {}).get("text_calls", 0) for name, of in result.systems.items()}
    for name, found in texts.items():
        if found:
            said.append(f"{found} texts under {name} look like calls, and count as none")
    return said


def judge_search(result: Result, gate: Gate, max_drop: float | None = None) -> dict[str, Verdict]:
    """The verdict on each depth of a search that a gate has, or on recall@5 by one limit."""
    limits = gate.search if max_drop is None else {"recall@5": max_drop}
    return {str(of): judge_loss(of, result, limit, gate.strict) for of, limit in limits.items()}


def judge_loss(metric: str, result: Result, max_drop: float, strict: bool = False) -> Verdict:
    """What the 95 % interval of a metric's loss says of a limit in points.

    Failed: all of it is above the limit. Passed: all of it is at or below. Unclear: neither. Where
    so few cases are right that not even the loss of all of them would fail, nothing is told.
    """
    change, before = result.main(metric, "drop"), result.main(metric, "original")
    if change is None or change.value is None or change.low is None or change.high is None:
        return cannot_tell("found no other words, expected some")
    flips, counts = result.main(metric, "flips"), result.counts["cases"]
    of = "cases" if counts["dialogues"] == counts["all"] else "dialogues"
    share = (before.value if before else None) or 0.0
    return decided(
        (0.0 - change.value, 0.0 - change.high, 0.0 - change.low),
        (counts["dialogues"], share, (flips.value if flips else None) or 0.0),
        max_drop,
        of,
    )._replace(strict=strict)


def decided(
    loss: tuple[float, float, float],
    cases: tuple[int, float, float],
    max_drop: float,
    of: str = "cases",
) -> Verdict:
    """The verdict on a loss with the ends of its interval, in [-1, 1].

    Of the cases it needs their number, and the shares that are right under the original words and
    that change under others.
    """
    (value, low, high), (count, right, changed), limit = loss, cases, max_drop / 100
    ends = f"95 % interval {interval([low, high])}"
    cost = f"other words cost {percent(value)} points ({ends})"
    points = 100 * value, 100 * low, 100 * high
    if low > limit + TOLERANCE:
        return Verdict(End.FAILED, f"{cost}, all of it more than {max_drop:g}", False, *points)
    if limit < 1 and not _fails(count, n := round(right * count), limit, n):
        few = f"of {count} {of}, {n} are right, and losing all would not fail"
        needed = f"; {fewest(limit)} right {of} are needed" if count < fewest(limit) else ""
        return Verdict(End.CANNOT_TELL, f"{cost}; {few}{needed}", False, *points)
    if high <= limit + TOLERANCE:
        return Verdict(End.PASSED, f"{cost}, all of it at most {max_drop:g}", False, *points)
    enough = enough_cases(value, changed, limit)
    tell = f"about {max(enough, count + 1)} {of} would tell" if enough else "no number would tell"
    why = f"{cost}, neither all above nor all at most {max_drop:g}; {tell}"
    return Verdict(End.UNCLEAR, why, False, *points)


def fewest(limit: float = 0.0) -> int:
    """How many dialogues there have to be, that the loss of all shows one above a limit in [0, 1).

    If all of n are lost, the interval begins at 2 * 0.025 ** (1 / n) - 1.
    """
    return int(log(0.025) / log((1 + limit) / 2)) + 1


def enough_cases(loss: float, changed: float, limit: float) -> int | None:
    """About how many cases tell such a loss from a limit; None where it is the limit.

    Half of the interval is 1.96 sd / sqrt(n), and 3.7 / n where nothing changes, by ``few``.
    """
    gap = abs(limit - loss)
    if gap < TOLERANCE:
        return None
    sd = sqrt(max(changed - loss**2, 0.0))
    root = (sqrt((1.96 * sd) ** 2 + 4 * 3.7 * gap) - 1.96 * sd) / (2 * 3.7)
    number = 1 / root**2 if root > 0 else float("inf")
    if not isfinite(number):
        return None
    step = int(10 ** max(int(log10(number)) - 1, 0))  # two digits
    return step * ceil(number / step)


def power(project: Project, max_drop: float) -> str:
    """What so many cases can show, in a sentence, before any model is asked."""
    count = len({case.cluster for case in project.cases})
    of = "cases" if count == len(project.cases) else "dialogues"
    least = least_loss(count, max_drop / 100)
    if least is None:
        needed = fewest(max_drop / 100) if max_drop < 100 else "more"
        return f"{count} {of} are too few to show any loss above {max_drop:g}: {needed} are needed"
    text = f"{count} {of}: the gate of {max_drop:g} fails from {percent(least)} points lost"
    enough = enough_cases(0.0, 0.0, max_drop / 100)
    return f"{text}, and passes without a loss from about {enough} {of}" if enough else text


@cache
def least_loss(dialogues: int, limit: float) -> float | None:
    """The smallest share of lost dialogues whose interval is above a limit; None where none is."""
    low, high = 0, dialogues + 1  # the first is known not to fail, and the last to fail
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fails(dialogues, middle, limit) else (middle, high)
    return high / dialogues if high <= dialogues else None


def _fails(dialogues: int, lost: int, limit: float, right: int | None = None) -> bool:
    """Whether the loss of so many of the right ones, and no other change, is above a limit."""
    ends = ends_of(dialogues, dialogues if right is None else right, lost)
    return ends is not None and ends[0] > limit + TOLERANCE


@cache
def ends_of(dialogues: int, right: int, lost: int, won: int = 0) -> tuple[float, float] | None:
    """The interval of the loss where of so many dialogues some are right at first, lost and won."""
    rows = np.zeros((2, dialogues))
    rows[0, :right] = 1.0
    rows[1, lost : right + won] = 1.0
    (ends,) = intervals([Sample([drop(rows[1:], rows[0])], np.arange(dialogues))])
    return None if ends is None else (0.0 - ends[1], 0.0 - ends[0])
