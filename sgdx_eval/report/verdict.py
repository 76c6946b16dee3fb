"""What a report says first of a group of trackers: who leads, what rewording costs, which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sgdx_eval.tables import Cell, interval, one_decimal, percent, signed_points
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .numbers import (
    Estimate,
    changes_by_variant,
    headline_estimates,
    paired_differences,
)
from .slots.breakage import Analyses, Rewording, costliest_rewordings, with_intervals
from .systems import TrackerGroup, TrackerSystem

_MOST_COSTLY = 3


class CostlyWords(NamedTuple):
    """Words that cost much.

    Attributes:
        where: Whose words they are, and under which wording.
        before, after: The name, or else the description, in both wordings.
        cost: What they cost, with its interval.
    """

    where: str
    before: str
    after: str
    cost: str


class Verdict(NamedTuple):
    """What a report says first of what it compares.

    Attributes:
        sentences: The findings; the detail of each is the 95 % interval of its last figure.
        costly_title: What the costly words are; empty where there are none.
        costly: The words that cost most.
    """

    sentences: Sequence[Cell]
    costly_title: str = ""
    costly: Sequence[CostlyWords] = ()


def tracker_verdict(group: TrackerGroup, analyses: Analyses) -> Verdict | None:
    """The verdict on a group; None unless all of v1 to v5 were scored.

    A system that was trained on v1 to v5 leads only where all systems were.
    """
    if not set(PAPER_VARIANTS) <= set(group.first.variants):
        return None
    systems = [s for s in group.systems if not s.first.oracle] or list(group.systems)
    scores = {system.name: headline_estimates(system) for system in systems}
    ranked = sorted(systems, key=lambda system: -scores[system.name]["jga_v1-5"].value)
    leader = ranked[0]
    best = scores[leader.name]
    jga = best["jga_v1-5"]
    lead = f"{leader.name}: {percent(jga.value, 1)} % JGA under other words"
    sentences = [Cell(lead, _ends(jga))]
    if len(ranked) > 1:
        sentences.append(_lead(ranked))
    if ORIGINAL in group.first.variants:
        sentences += _costs(leader, best)
    analysed = next((system for system in ranked if system.name in analyses), None)
    costly = _costliest(analysed, analyses) if analysed else []
    if not (analysed and costly):
        return Verdict(sentences)
    whose = "it" if analysed is leader else analysed.name
    unit = "frames lost less frames won (95 % interval)"
    title = f"The rewordings that cost {whose} most, in {unit}:"
    return Verdict(sentences, title, costly)


def _lead(ranked: Sequence[TrackerSystem]) -> Cell:
    """How far the best system is above the next one."""
    second = ranked[1]
    difference = paired_differences(second, ranked[0])["jga_v1-5"]
    points = f"{100 * difference.value:.1f} points"
    low = difference.interval[0] if difference.interval else 0.0
    if low > 0:
        return Cell(f"That is {points} above the next, {second.name}", _ends(difference))
    return Cell(
        f"The next, {second.name}, cannot be told from it: {points} lower", _ends(difference)
    )


def _costs(system: TrackerSystem, scores: dict[str, Estimate]) -> list[Cell]:
    """What rewording costs a system: on average, under the worst wording, and frame by frame."""
    changes = changes_by_variant(system)
    worst = min(PAPER_VARIANTS, key=lambda name: changes[name].value)
    drop, original = scores["drop"], scores["jga_orig"].value
    verb, change = ("gains", _negated(drop)) if drop.value < 0 else ("costs", drop)
    average = Cell(
        f"Rewording {verb} it {100 * change.value:.1f} points on average, from "
        f"{percent(original, 1)} under the original words",
        _ends(change),
    )
    fall = changes[worst]
    to = f"to {percent(original + fall.value, 1)}, {signed_points(fall.value)} points"
    falls = Cell(f"It falls most under {worst}, {to}", _signed_ends(fall))
    if fall.value >= 0:
        falls = Cell("It falls under none of the rewordings")
    all_six = Cell(
        "Under the worst of the six wordings for each frame, it has "
        f"{percent(scores['jga_worst'].value, 1)} %",
        _ends(scores["jga_worst"]),
    )
    return [average, falls, all_six]


def _costliest(system: TrackerSystem, analyses: Analyses) -> list[CostlyWords]:
    """The slots whose new words cost a system most."""
    analysis = analyses[system.name]
    rewordings = costliest_rewordings(analysis)
    of_slots = [rewording for rewording in rewordings if not rewording.element.is_intent]
    shown = with_intervals(analysis, of_slots[:_MOST_COSTLY])
    return [_costly_words(rewording) for rewording in shown]


def _costly_words(rewording: Rewording) -> CostlyWords:
    before, after, net = rewording.before, rewording.after, rewording.net_cell()
    same_name = before.name == after.name
    words = (before.description, after.description) if same_name else (before.name, after.name)
    cost = f"{net.text} frames" + (f" ({net.detail})" if net.detail else "")
    return CostlyWords(f"{rewording.element.service}, {rewording.variant}", *words, cost)


def _negated(estimate: Estimate) -> Estimate:
    """What a loss is as a gain."""
    low, high = estimate.interval or (0.0, 0.0)
    return Estimate(-estimate.value, (-high, -low) if estimate.interval else None)


def _ends(estimate: Estimate) -> str:
    """The interval of a score, in percent; empty where it has none."""
    return interval(estimate.interval, one_decimal)


def _signed_ends(estimate: Estimate) -> str:
    return interval(estimate.interval, signed_points)
