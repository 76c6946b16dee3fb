"""The figures of items under variants, once for all tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .columns import Bools, Floats, Ints
from .result import ALL, Difference, Figure, Metric
from .signature import OFFICIAL, Rules
from .statistics import (
    RIGHT,
    Interval,
    Sample,
    Statistic,
    drop,
    flipped,
    intervals,
    mean,
    variation,
    worst_case,
)
from .units import Scores, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS, floor_of, floors

JGA = "jga"
# Of the metrics of whole systems; the relative ones are the paper's, of joint goal accuracy.
FULL = ("drop", "sensitivity", "worst", "flips")
Key = tuple[str, str, tuple[str, ...]]  # a metric, a figure and its variants


def figures(
    scores: Scores,
    metrics: Sequence[Metric],
    rules: Rules = OFFICIAL,
    groups: Mapping[str, Ints] | None = None,
) -> list[Figure]:
    """The figures of all items and of each group of them, with their intervals.

    Args:
        scores: The scores of items.
        metrics: What is measured of them; those that no item has are passed over.
        rules: What a mean is taken over, and what the sensitivity makes of items that are never
            right.
        groups: The positions of the items of each group; None for all of `scores.items.groups`.
    """
    found = list[Figure]()
    services = {*scores.items.services()}
    for name, members in (scores.items.groups() if groups is None else groups).items():
        of_group = of_units(scores.only(members), rules)
        is_service = name in services
        shown = [m for m in metrics if m.headline or not is_service]
        keys, sample = sampled(of_group, shown, is_service)
        # Where there is one service alone, nothing is known of others.
        by_service = intervals_by_service(of_group, metrics, keys) if name == ALL else {}
        for place, (key, value, ends, has) in enumerate(
            zip(keys, sample.values(), intervals([sample]), sample.has())
        ):
            found.append(
                Figure(
                    metric=key[0],
                    figure=key[1],
                    variants=list(key[2]),
                    group=name,
                    value=_number(value),
                    low=ends[0] if ends else None,
                    high=ends[1] if ends else None,
                    items=_items(sample.statistics[place]),
                    clusters=len(has),
                )
            )
            if services_ends := by_service.get(key):
                found[-1].low_services, found[-1].high_services = services_ends
    return found


def differences(
    first: Sequence[Scores],
    second: Sequence[Scores],
    metrics: Sequence[Metric],
    rules: Rules = OFFICIAL,
    groups: Mapping[str, Ints] | None = None,
) -> list[Difference]:
    """By how much the second side's figures are above the first's, of one run or several each.

    All are of the same items and metrics. A side's figure is the mean over its runs.
    """
    found = list[Difference]()
    items = first[0].items
    services = {*items.services()}
    for name, members in (items.groups() if groups is None else groups).items():
        shown = [m for m in metrics if m.headline or name not in services]
        sides = list[list[Sample]]()
        keys = list[Key]()
        for side in (first, second):
            made = [
                sampled(of_units(run.only(members), rules), shown, name in services) for run in side
            ]
            keys, samples = made[0][0], [sample for _, sample in made]
            sides.append(samples)
        values = [np.stack([run.values() for run in side]) for side in sides]  # [runs, figures]
        left, right = (of.mean(axis=0) for of in values)
        spreads = [
            of.std(axis=0, ddof=1) if len(of) > 1 else np.full(of.shape[1], np.nan) for of in values
        ]
        has = sides[0][0].has()
        for place, (key, ends) in enumerate(zip(keys, intervals(*sides))):
            found.append(
                Difference(
                    metric=key[0],
                    figure=key[1],
                    variants=list(key[2]),
                    group=name,
                    value=_number(right[place] - left[place]),
                    low=ends[0] if ends else None,
                    high=ends[1] if ends else None,
                    items=_items(sides[0][0].statistics[place]),
                    clusters=len(has[place]),
                    first=_number(left[place]),
                    second=_number(right[place]),
                    first_sd=_number(spreads[0][place]),
                    second_sd=_number(spreads[1][place]),
                )
            )
    return found


def sampled(
    scores: Scores, metrics: Sequence[Metric], few: bool = False
) -> tuple[list[Key], Sample]:
    """The statistics of scores by their metric, figure and variants; if few, no single variants."""
    made = dict[Key, Statistic]()
    for metric in metrics:
        if all(name in scores.metrics for name in metric.counts or (metric.name,)):
            made |= _of_metric(scores, metric, few)
    return list(made), Sample(list(made.values()), scores.items.dialogue)


def _of_metric(scores: Scores, metric: Metric, few: bool) -> dict[Key, Statistic]:
    """The statistics of one metric."""
    made = dict[Key, Statistic]()
    others = [name for name in scores.variants if name != ORIGINAL and not floor_of(name)]
    # The sets that figures are over: v1 to v5, all other words, and those that mean the same.
    is_paper = metric.paper and {*PAPER_VARIANTS} <= {*others}
    sets = [list(PAPER_VARIANTS)] if is_paper else []
    sets += [others] if others and others not in sets else []
    sets += floors(scores.variants).values()
    has_original = ORIGINAL in scores.variants
    single = [[name] for name in scores.variants if name == ORIGINAL or not few]
    for names in [*single, *sets]:
        made[metric.name, "mean", tuple(names)] = _mean(scores, metric, names)
        if "drop" in metric.figures and has_original and names != [ORIGINAL]:
            made[metric.name, "drop", tuple(names)] = _drop(scores, metric, names)
    for names in sets:
        every = [ORIGINAL, *names] if has_original else names
        for figure in metric.figures:
            of = every if figure in ("worst", "flips") else names
            if figure == "relative" and has_original:
                made[metric.name, figure, tuple(of)] = _drop(scores, metric, names, relative=True)
            elif figure not in ("drop", "relative") and len(of) > 1:
                made[metric.name, figure, tuple(of)] = _of_items(scores, metric, figure, of)
    return made


def _mean(scores: Scores, metric: Metric, names: Sequence[str]) -> Statistic:
    """The mean under some variants; of a metric of counts, from their sums."""
    places = [scores.variants.index(name) for name in names]
    if not metric.counts:
        return mean(scores.metrics[metric.name][places])
    columns = np.concatenate([scores.metrics[count][places] for count in metric.counts])
    last = np.zeros(len(places), dtype=bool)

    def of(sums: Floats) -> Floats:
        return np.asarray(metric.of(_split(sums, metric)).mean(axis=0))

    return Statistic(columns, of, lambda sums: _extremes(sums, metric, last))


def _drop(
    scores: Scores, metric: Metric, names: Sequence[str], relative: bool = False
) -> Statistic:
    """The mean under some variants less that under the original."""
    places = [scores.variants.index(name) for name in (*names, ORIGINAL)]
    if not metric.counts:
        rows = scores.metrics[metric.name][places]
        return drop(rows[:-1], rows[-1], relative)
    columns = np.concatenate([scores.metrics[count][places] for count in metric.counts])
    last = np.arange(len(places)) == len(places) - 1

    def of(sums: Floats) -> Floats:
        *reworded, original = metric.of(_split(sums, metric))
        return np.asarray(np.mean(reworded, axis=0) - original)

    return Statistic(columns, of, lambda sums: _extremes(sums, metric, last), is_change=True)


def _split(sums: Floats, metric: Metric) -> Floats:
    """The sums of each count [counts, variants, ...]."""
    return np.stack(np.split(sums, len(metric.counts)))


def _extremes(sums: Floats, metric: Metric, turned: Bools) -> tuple[Floats, Floats]:
    """The counts where a metric is the least and the greatest, turned round under some."""
    of = _split(sums, metric)
    least, greatest = metric.extremes(of)
    low, high = np.where(turned, greatest, least), np.where(turned, least, greatest)
    return low.reshape(-1), high.reshape(-1)


def _of_items(scores: Scores, metric: Metric, figure: str, names: Sequence[str]) -> Statistic:
    """What variants together make of each item, as a mean over items."""
    name = metric.each or metric.name
    # Of several runs the scores are means, by which fewer items flip than in a single run.
    name = one_run(name) if one_run(name) in scores.metrics else name
    rows = scores.metrics[name][[scores.variants.index(of) for of in names]]
    rows = rows if metric.higher_is_better else 1.0 - rows
    if figure == "flips":
        return mean(flipped(rows))
    if figure == "worst":
        return mean(worst_case(rows) if metric.higher_is_better else 1.0 - worst_case(rows))
    zero_mean = "drop" if figure == "sensitivity_nonzero" else scores.zero_mean
    return mean(variation(rows, zero_mean), (0.0, len(names) ** 0.5))


def intervals_by_service(
    scores: Scores, metrics: Sequence[Metric], keys: Sequence[Key]
) -> dict[Key, Interval]:
    """The intervals of headline figures where services are drawn, and not dialogues."""
    services = scores.items.services()
    shown = [metric for metric in metrics if metric.headline]
    if len(services) < 2 or not shown:
        return {}
    codes = np.unique(scores.items.service, return_inverse=True)[1]
    items = replace(scores.items, dialogue=codes)
    found, sample = sampled(replace(scores, items=items), shown)
    return dict(zip(found, intervals([sample])))


def one_run(metric: str) -> str:
    """The metric of the first run alone, where there are several under one variant."""
    return f"{metric} of one run"


def of_units(scores: Scores, rules: Rules) -> Scores:
    """The scores whose means are taken: joint accuracies of turns, where the rules say so."""
    turn = scores.items.turn
    metrics = {name: unit_scores(name, rows, turn, rules) for name, rows in scores.metrics.items()}
    return replace(scores, metrics=metrics)


def task_success(right: Floats, dialogue: Ints) -> Floats:
    """1 for each dialogue all of whose cases are right, else 0, at its first case [cases]."""
    dialogues, first, position = np.unique(dialogue, return_index=True, return_inverse=True)
    wrong = np.bincount(position, right < RIGHT, len(dialogues))
    success = np.full(len(dialogue), np.nan)
    success[first] = wrong == 0
    return success


def _items(statistic: Statistic) -> int:
    """How many items a statistic is of: those that have any sum."""
    return int(statistic.columns.any(axis=0).sum())


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
