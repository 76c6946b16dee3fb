"""What a page says first of systems: who leads, what rewording costs, and which words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sgdx_metric.statistics import Figure, Interval, intervals

from ..tables import Cell, interval
from .runs import Group, System
from .slots import Analysis
from .tables import changes, differences, shown, values

_MOST_COSTLY = 3


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
    systems = [s for s in group.systems if not s.first.oracle] or group.systems
    runs = {system: system.samples(members) for system in systems}
    means = {s: values(of).get(keys.reworded, np.nan) for s, of in runs.items()}
    figures = {figure.key: figure for of in runs.values() for figure in of[0].figures}
    known = [system for system in systems if not np.isnan(means[system])]
    if not known:
        return None
    reworded = figures[keys.reworded]
    text, sign = partial(shown, reworded), -1 if reworded.lower_is_better else 1
    best, *others = sorted(known, key=lambda system: -sign * means[system])
    lead = f"{best.name}: {text(means[best])} % {keys.measure} under other words"
    sentences = [Cell(lead, interval(intervals(runs[best])[keys.reworded], text))]
    if others:
        ahead = differences(others[0], best, members)[keys.reworded]
        points, ends = f"{100 * abs(ahead['difference']):.1f} points", ahead["interval"]
        lead = f"The next, {others[0].name}, cannot be told from it: {points} apart"
        if ends and min(sign * end for end in ends) > 0:
            lead = f"That is {points} better than the next, {others[0].name}"
        sentences.append(Cell(lead, _points(sign, ends)))
    sentences += _cost(group, best, reworded)
    for system in (best, *others):  # Of trackers, not all may have been analysed.
        if costly := _costly_words(system, analyses.get(system.name)):
            whose = "it" if system is best else system.name
            what = "frames" if system.name in analyses else "cases"
            title = f"The words that cost {whose} most, in {what} lost less {what} won:"
            return Verdict(sentences, title, costly)
    return Verdict(sentences, "", [])


def _cost(group: Group, system: System, reworded: Figure) -> Iterator[Cell]:
    """What rewording costs a system on average, under its worst variant, and item by item."""
    keys, members = group.keys, group.members(group.keys.headline)
    runs, drop = system.samples(members), group.task.drop_key(keys)
    means, ends = values(runs), intervals(runs)
    if drop not in means:
        return
    text, signed = partial(shown, reworded), partial(shown, reworded, is_difference=True)
    sign = -1 if reworded.lower_is_better else 1
    is_gain = sign * means[drop] > 0
    points = f"{100 * abs(means[drop]):.1f}"
    points = "less than 0.1" if points == "0.0" else points
    cost = (
        f"Rewording {'gains' if is_gain else 'costs'} it {points} points on average, from "
        f"{text(means[keys.original])} % under the original words"
    )
    yield Cell(cost, _points(sign if is_gain else -sign, ends[drop]))
    falls = changes(system.samples(members, keys.headline))
    worst = min(falls, key=lambda name: sign * falls[name]["difference"])
    fall = falls[worst]["difference"]
    if sign * fall < 0:
        to = f"{text(means[keys.original] + fall)} %, {signed(fall)} points"
        told = interval(falls[worst]["interval"], signed)
        yield Cell(f"Its worst variant is {worst}: {to}", told)
    else:
        yield Cell("No variant is worse for it than the original")
    if keys.worst in means:
        of = f"its worst of {len(group.variants)} variants"
        least = f"If each {group.task.unit} counts under {of}, it has {text(means[keys.worst])} %"
        yield Cell(least, interval(ends[keys.worst], text))


def _points(sign: int, ends: Interval) -> str:
    """An interval in points, turned round for a sign of -1."""
    return interval(sorted(sign * end for end in ends or ()), lambda end: f"{100 * end:.1f}")


def _costly_words(system: System, analysis: Analysis | None) -> list[tuple[str, str, str, str]]:
    """The words that cost a tracker most frames, or a caller of tools most cases."""
    costly: list[tuple[str, str, str, str]] = []
    if analysis:
        for rewording in analysis.rewordings[:_MOST_COSTLY]:
            before, after = rewording.before, rewording.after
            of = "description" if before.name == after.name else "name"
            ends = interval(rewording.interval, "{:,.0f}".format)
            cost = f"{frames(rewording.lost - rewording.won)} frames ({ends})"
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


def frames(number: float) -> str:
    """A number of frames, with one decimal where it is a mean that is no whole number."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"
