"""The figures of systems, one run or several, and the verdict that a page begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sgdx_metric.columns import Ints
from sgdx_metric.figures import changes_to_original
from sgdx_metric.statistics import (
    RESAMPLES,
    TRIALS,
    Figure,
    Interval,
    Sample,
    compare,
    intervals,
)

from ..tables import NO_VALUE, Cell, format_over_runs, interval, number, signed_points
from .runs import Group, System
from .slots import Analysis

_MOST_COSTLY = 3
Comparison = Mapping[str, Mapping[str, Any]]


def samples(system: System, members: Ints | None = None, metric: str | None = None) -> list[Sample]:
    """The figures of some items of each run, or of all; or a metric's mean under each variant."""
    made = []
    for run in system.runs:
        scores, task = run.results.scores(members), run.results.task
        figures = task.headlines(scores)[metric] if metric else task.figures(scores)
        made.append(Sample(figures, scores.items.dialogue))
    return made


def values(runs: Sequence[Sample]) -> dict[str, float]:
    """The figures as means over runs, by key; NaN where undefined."""
    of_runs = [run.values() for run in runs]
    numbers = {
        key: [np.nan if (x := of[key]) is None else x for of in of_runs] for key in of_runs[0]
    }
    return {key: float(np.mean(of_key)) for key, of_key in numbers.items()}


def cells(runs: Sequence[Sample], has_intervals: bool = True) -> dict[str, Cell]:
    """The figures of one run with their intervals, or of several as mean and deviation, by key."""
    of_runs = [run.values() for run in runs]
    ends = runs[0].intervals() if has_intervals and len(runs) == 1 else {}
    return {
        figure.key: format_over_runs(
            [of_run.get(figure.key) for of_run in of_runs],
            ends.get(figure.key),
            partial(shown, figure),
        )
        for figure in runs[0].figures
    }


def shown(figure: Figure, value: float) -> str:
    """A figure as a text; a difference has its sign."""
    if figure.key.endswith("drop"):
        return signed(figure, value)
    return number(figure.scale * value, _decimals(figure))


def signed(figure: Figure, difference: float | None) -> str:
    """A difference of a figure with its sign."""
    if difference is None or np.isnan(difference):
        return NO_VALUE
    return f"{figure.scale * difference + 0.0:+.{_decimals(figure)}f}"


def _decimals(figure: Figure) -> int:
    return 2 if figure.title.startswith("SER") else 1  # slot error rates are small


def change_cell(figure: Figure, change: Mapping[str, Any]) -> Cell:
    """A difference with its interval; a dash where there is none."""
    difference = change.get("difference")
    ends = change.get("interval") if difference is not None else None
    return Cell(signed(figure, difference), interval(ends, partial(signed, figure)))


def differences(first: System, second: System, members: Ints | None) -> Comparison:
    """The second system's figures less the first's, as `compare`; those that both have."""
    left, right = samples(first, members), samples(second, members)
    known = {figure.key for figure in left[0].figures} & {f.key for f in right[0].figures}
    sides = [
        [Sample([f for f in run.figures if f.key in known], run.dialogue) for run in side]
        for side in (left, right)
    ]
    return compare(sides[0], sides[1], trials=1)


def changes(runs: Sequence[Sample]) -> Comparison:
    """By how much a mean differs under each variant from that under the original."""
    trials = RESAMPLES if len(runs) == 1 else TRIALS  # Of one run as scores.json has them.
    return changes_to_original([run.figures for run in runs], runs[0].dialogue, trials)


# ---- the verdict


class Verdict(NamedTuple):
    """What is said first of a group."""

    # The detail of each is the 95 % interval of its last figure.
    sentences: Sequence[Cell]
    # What the costliest words are introduced by; empty where none are known.
    costly_title: str
    # Whose words they are and under which variant, the name or else the description in both
    # variants, and what they cost.
    costly: Sequence[tuple[str, str, str, str]]


def verdict(group: Group, analyses: Mapping[str, Analysis]) -> Verdict | None:
    """Who leads, what rewording costs, and which words; None without a mean over other words.

    A system that was trained on v1 to v5 leads only where all systems were.
    """
    keys, members = group.keys, group.members(group.keys.headline)
    systems = [s for s in group.systems if not s.first.oracle] or list(group.systems)
    figures = {system.name: samples(system, members) for system in systems}
    means = {name: values(runs) for name, runs in figures.items()}
    systems = [s for s in systems if not np.isnan(means[s.name].get(keys.reworded, np.nan))]
    if not systems:
        return None
    by_key = {figure.key: figure for figure in figures[systems[0].name][0].figures}
    reworded = by_key[keys.reworded]
    sign = -1 if reworded.lower_is_better else 1
    ranked = sorted(systems, key=lambda system: -sign * means[system.name][keys.reworded])
    best, text = means[ranked[0].name], partial(shown, reworded)
    ends = intervals(figures[ranked[0].name])
    lead = f"{ranked[0].name}: {text(best[keys.reworded])} % {keys.measure} under other words"
    sentences = [Cell(lead, interval(ends[keys.reworded], text))]
    if len(ranked) > 1:
        sentences.append(_lead(ranked[0], ranked[1], group, sign))
    drop = group.task.drop_key(keys)
    if drop in best:
        is_gain = sign * best[drop] > 0
        turn = sign if is_gain else -sign
        points = f"{100 * abs(best[drop]):.1f}"
        sentences.append(
            Cell(
                f"Rewording {'gains' if is_gain else 'costs'} it "
                f"{'less than 0.1' if points == '0.0' else points} points on average, from "
                f"{text(best[keys.original])} % under the original words",
                _points(turn, ends[drop]),
            )
        )
        sentences.append(_worst(group, ranked[0], best[keys.original], sign, text))
        if keys.worst in best:
            least = f"it has {text(best[keys.worst])} %"
            sentences.append(
                Cell(
                    f"If each {group.task.unit} counts under its worst of {len(group.variants)} "
                    f"variants, {least}",
                    interval(ends[keys.worst], text),
                )
            )
    for system in ranked:  # Of trackers, not all may have been analysed.
        if costly := _costly_words(system, analyses):
            whose = "it" if system is ranked[0] else system.name
            what = "frames" if system.name in analyses else "cases"
            title = f"The words that cost {whose} most, in {what} lost less {what} won:"
            return Verdict(sentences, title, costly)
    return Verdict(sentences, "", [])


def _points(sign: int, ends: Interval) -> str:
    """An interval in points, turned round for a sign of -1."""
    return interval(sorted(sign * end for end in ends or ()), lambda end: f"{100 * end:.1f}")


def _lead(best: System, second: System, group: Group, sign: int) -> Cell:
    """How far the best system is ahead of the next one."""
    members = group.members(group.keys.headline)
    ahead = differences(second, best, members)[group.keys.reworded]
    points, ends = f"{100 * abs(ahead['difference']):.1f} points", ahead["interval"]
    if ends and min(sign * end for end in ends) > 0:
        text = f"That is {points} better than the next, {second.name}"
    else:
        text = f"The next, {second.name}, cannot be told from it: {points} apart"
    return Cell(text, _points(sign, ends))


def _worst(
    group: Group, system: System, original: float, sign: int, text: Callable[[float], str]
) -> Cell:
    """The variant under which a system loses most."""
    metric = group.keys.headline
    falls = changes(samples(system, group.members(metric), metric))
    worst = min(falls, key=lambda name: sign * falls[name]["difference"])
    fall, ends = falls[worst]["difference"], falls[worst]["interval"]
    if sign * fall >= 0:
        return Cell("No variant is worse for it than the original")
    to = f"{text(original + fall)} %, {signed_points(fall)} points"
    return Cell(f"Its worst variant is {worst}: {to}", interval(ends, signed_points))


def _costly_words(
    system: System, analyses: Mapping[str, Analysis]
) -> list[tuple[str, str, str, str]]:
    """The words that cost a tracker most frames, or a caller of tools most cases."""
    costly: list[tuple[str, str, str, str]] = []
    if system.name in analyses:
        for rewording in analyses[system.name].rewordings[:_MOST_COSTLY]:
            before, after = rewording.before, rewording.after
            of = "description" if before.name == after.name else "name"
            ends = interval(rewording.interval, "{:,.0f}".format)
            cost = f"{count(rewording.lost - rewording.won)} frames ({ends})"
            where = f"{rewording.service}, {rewording.variant}"
            costly.append((where, getattr(before, of), getattr(after, of), cost))
        return costly
    elements = sorted(system.first.stored.get("elements", []), key=lambda e: -e["net"])
    for element in elements[:_MOST_COSTLY]:
        if element["net"] > 0:
            names = [
                next((str(of[key]) for key in ("name", "description", "change") if key in of), "")
                for of in (element["original"], element["reworded"])
            ]
            where = f"{element['tool']} {element['path']}".rstrip()
            cost = f"{element['net']} of {element['cases']} cases"
            costly.append((f"{where}, {element['variant']}", names[0], names[1], cost))
    return costly


def count(value: float) -> str:
    """A number of frames, with one decimal where it is a mean that is no whole number."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
