"""What a page says first of systems: who leads, what rewording costs, and which words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sgdx_metric.result import Figure
from sgdx_metric.variants import ORIGINAL

from ..show import shown_word
from ..tables import Cell, interval
from .runs import Group, System
from .slots import Analysis
from .tables import differences, plain, shown

_MOST_COSTLY = 3
# Words stand out whose loss chance makes as large in at most so many cases, of all that were seen.
LEVEL = 0.05


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
    metric = group.main
    if len(group.variants) < 2:
        return None
    systems = [s for s in group.systems if not s.first.oracle] or group.systems
    means = {system: system.result.main(metric.name, "reworded") for system in systems}
    known = {s: f for s, f in means.items() if f is not None and f.value is not None}
    if not known:
        return None
    sign = 1 if metric.higher_is_better else -1
    best, *others = sorted(known, key=lambda system: -sign * (known[system].value or 0.0))
    reworded = known[best]
    text = f"{plain(metric, reworded.value or 0.0)} %"
    lead = f"{best.name}: {metric.shown} is {text} under other words"
    sentences = [Cell(lead, _ends(reworded, group))]
    if others:
        sentences.append(_ahead(group, best, others[0], reworded))
    sentences += _cost(group, best)
    for system in (best, *others):  # Of trackers, not all may have been analysed.
        whose = "it" if system is best else system.name
        title, costly = _costly_words(system, analyses.get(system.name), whose)
        if title:
            return Verdict(sentences, title, costly)
    return Verdict(sentences, "", [])


def _ends(figure: Figure, group: Group) -> str:
    return interval(figure.interval, lambda end: shown(figure, group.main, end))


def _ahead(group: Group, best: System, next_best: System, reworded: Figure) -> Cell:
    """By how much the best system leads, by the one judgement."""
    metric = group.main
    ahead = next(
        d
        for d in differences(next_best, best)
        if (d.metric, d.figure, d.variants, d.group)
        == (metric.name, "mean", reworded.variants, "all")
    )
    points = f"{plain(metric, abs(ahead.value or 0.0))} points"
    if shown_word(ahead, metric) == "gain":
        return Cell(f"That is {points} better than the next, {next_best.name}", _ends(ahead, group))
    told = f"No difference to the next, {next_best.name}, is shown: {points} apart"
    return Cell(told, _ends(ahead, group))


def _cost(group: Group, system: System) -> Iterator[Cell]:
    """What rewording costs a system on average, under its worst variant, and item by item."""
    metric = group.main
    drop, original, worst = (
        system.result.main(metric.name, of) for of in ("drop", "original", "worst")
    )
    if drop is None or original is None or drop.value is None or original.value is None:
        return
    points, before = plain(metric, abs(drop.value)), plain(metric, original.value)
    word = shown_word(drop, metric)
    if word == "not shown":
        told = f"No loss by rewording is shown: {points} points from {before} %"
    else:
        verb = "gains" if word == "gain" else "costs"
        told = f"Rewording {verb} it {points} points on average, from {before} %"
    yield Cell(f"{told} under the original words", _ends(drop, group))
    sign = 1 if metric.higher_is_better else -1
    drops = system.result.by_variant(metric.name, "drop")
    falls = {name: f for name, f in drops.items() if shown_word(f, metric) == "loss"}
    if falls:
        name = min(falls, key=lambda name: sign * (falls[name].value or 0.0))
        fall = falls[name]
        to = plain(metric, original.value + (fall.value or 0.0))
        points = shown(fall, metric, fall.value or 0.0)
        yield Cell(f"Its worst variant is {name}: {to} %, {points} points", _ends(fall, group))
    elif drops:
        yield Cell("Under no variant a loss is shown")
    if worst is not None and worst.value is not None:
        of = f"its worst of {len(set(worst.variants) | {ORIGINAL})} variants"
        value = plain(metric, worst.value)
        yield Cell(f"If each {group.item} counts under {of}, it has {value} %", _ends(worst, group))


def _costly_words(
    system: System, analysis: Analysis | None, whose: str
) -> tuple[str, list[tuple[str, str, str, str]]]:
    """The words that cost a tracker most frames, or a caller of tools most cases.

    Only those that stand out from as many as were looked at are named.
    """
    costly: list[tuple[str, str, str, str]] = []
    if analysis:
        unit, looked_at, won = "frames", analysis.looked_at, analysis.won
        for rewording in analysis.rewordings:
            if rewording.chance <= LEVEL:
                before, after = rewording.before, rewording.after
                of = "description" if before.name == after.name else "name"
                cost = f"{frames(rewording.lost - rewording.won)} frames"
                where = f"{rewording.service}, {rewording.variant}"
                costly.append((where, getattr(before, of), getattr(after, of), cost))
    else:
        elements = system.first.result.result.counts.get("elements", [])
        unit, looked_at = "cases", system.first.result.result.counts.get("looked_at", 0)
        won = sum(element["net"] < 0 for element in elements)
        for element in elements:
            if element["net"] > 0 and element["chance"] <= LEVEL:
                names = [
                    next((str(of[k]) for k in ("name", "description", "change") if k in of), "")
                    for of in (element["original"], element["reworded"])
                ]
                where = f"{element['tool']} {element['path']}".rstrip()
                cost = f"{element['net']} of {element['cases']} cases"
                costly.append((f"{where}, {element['variant']}", names[0], names[1], cost))
    if not looked_at:
        return "", []
    of_all = f"of {looked_at:,} that were looked at, {won:,} of which win more than they lose"
    if not costly:
        return f"No words stand out from chance {of_all}", []
    title = f"The words that cost {whose} most, in {unit} lost less {unit} won, {of_all}:"
    return title, costly[:_MOST_COSTLY]


def frames(value: float) -> str:
    """A number of frames, with one decimal where it is a mean that is no whole number."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
