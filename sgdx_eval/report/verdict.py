"""What a report says first of a group: who leads, what rewording costs, which words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isnan

from sgdx_eval.tables import Cell, signed_points
from sgdx_metric.statistics import Figure

from .figures import Estimate, Figures, changes_under_variants, shown, system_differences
from .page import Verdict
from .runs import Group, System
from .view import View


def verdict(group: Group, view: View) -> Verdict | None:
    """What is said of a group; None where no mean over other words is known.

    A system that was trained on v1 to v5 leads only where all systems were.
    """
    keys = group.keys
    systems = [s for s in group.systems if not s.first.oracle] or list(group.systems)
    figures = {system.name: Figures(system, group.main) for system in systems}
    values = {name: of_system.values().get(keys.reworded) for name, of_system in figures.items()}
    known = {name: value for name, value in values.items() if value is not None}
    systems = [s for s in systems if not isnan(known.get(s.name, float("nan")))]
    if not systems:
        return None
    reworded = figures[systems[0].name].by_key[keys.reworded]
    sign = 1 if reworded.lower_is_better else -1
    ranked = sorted(systems, key=lambda system: sign * known[system.name])
    best = figures[ranked[0].name].estimates()
    mean = best[keys.reworded]
    text = partial(shown, reworded)
    lead = f"{ranked[0].name}: {text(mean.value)} % {keys.measure} under other words"
    sentences = [Cell(lead, mean.ends(text))]
    if len(ranked) > 1:
        sentences.append(_lead(ranked, group, -sign))
    if keys.original in best:
        sentences += _costs(group, ranked[0], best, reworded)
    # Of trackers, not all may have been analysed.
    for system in ranked:
        title, costly = view.costly(system, group)
        if costly:
            whose = "it" if system is ranked[0] else system.name
            return Verdict(sentences, title.format(whose), costly)
    return Verdict(sentences)


def _lead(ranked: Sequence[System], group: Group, sign: int) -> Cell:
    """How far the best system is ahead of the next one."""
    second = ranked[1]
    difference = system_differences(second, ranked[0], group.main)[group.keys.reworded]
    ahead = difference if sign > 0 else _negated(difference)
    points = f"{100 * ahead.value:.1f} points"
    low = ahead.interval[0] if ahead.interval else 0.0
    if low > 0:
        return Cell(f"That is {points} better than the next, {second.name}", ahead.ends())
    return Cell(f"The next, {second.name}, cannot be told from it: {points} apart", ahead.ends())


def _costs(group: Group, system: System, best: dict[str, Estimate], reworded: Figure) -> list[Cell]:
    """What rewording costs a system: on average, under the worst variant, and item by item."""
    keys, text = group.keys, partial(shown, reworded)
    loss, original = best["loss"], best[keys.original].value
    verb, change = ("gains", _negated(loss)) if loss.value < 0 else ("costs", loss)
    points = f"{100 * change.value:.1f}"
    much = "less than 0.1" if points == "0.0" else points
    sentences = [
        Cell(
            f"Rewording {verb} it {much} points on average, from {text(original)} % under the "
            "original words",
            change.ends(),
        )
    ]
    changes = changes_under_variants(system, keys.headline, group.main)
    sign = -1 if reworded.lower_is_better else 1
    worst = min(changes, key=lambda name: sign * changes[name].value)
    fall = changes[worst]
    if sign * fall.value >= 0:
        sentences.append(Cell("No variant is worse for it than the original"))
    else:
        to = f"{text(original + fall.value)} %, {signed_points(fall.value)} points"
        sentences.append(Cell(f"Its worst variant is {worst}: {to}", fall.ends(signed_points)))
    if keys.worst in best:
        least = best[keys.worst]
        sentences.append(
            Cell(
                f"If each {group.task.unit} counts under its worst of {len(group.variants)} "
                f"variants, it has {text(least.value)} %",
                least.ends(text),
            )
        )
    return sentences


def _negated(estimate: Estimate) -> Estimate:
    """What a loss is as a gain."""
    low, high = estimate.interval or (0.0, 0.0)
    return Estimate(-estimate.value, (-high, -low) if estimate.interval else None)
