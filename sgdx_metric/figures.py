"""The figures of items under variants, once for all tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .columns import Bools, Floats, Ints
from .result import ALL, Figure, Metric
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
    runs: Scores | Sequence[Scores],
    metrics: Sequence[Metric],
    rules: Rules = OFFICIAL,
    groups: Mapping[str, Ints] | None = None,
    others: Sequence[Scores] = (),
) -> list[Figure]:
    """The figures of all items and of each group of them, with their intervals.

    Args:
        runs: The scores of items; of several runs, figures are means over them.
        metrics: What is measured of the items; those that no item has are passed over.
        rules: What a mean is taken over, and what the sensitivity makes of items that are never
            right.
        groups: The positions of the items of each group; None for all of `items.groups`.
        others: The runs of another system, of the same items and metrics. A value is then by how
            much its figure is above that of `runs`.
    """
    runs = [runs] if isinstance(runs, Scores) else runs
    items, found = runs[0].items, list[Figure]()
    services = {*items.services()}
    headlines = [metric for metric in metrics if metric.headline]
    for name, members in (items.groups() if groups is None else groups).items():
        is_service = name in services
        shown = headlines if is_service else metrics
        sides = [
            [sampled(run.only(members), shown, rules, is_service) for run in side]
            for side in (runs, others)
        ]
        first, second = ([sample for _, sample in side] for side in sides)
        values = [np.stack([run.values() for run in side]) for side in (first, second) if side]
        means = [of_runs.mean(axis=0) for of_runs in values]
        by_service = dict[Key, Interval]()
        # Where there is one service alone, nothing is known of others.
        if name == ALL and not others and headlines and len(services) > 1:
            keys, sample = sampled(runs[0].only(members), headlines, rules, by_service=True)
            by_service = dict(zip(keys, intervals([sample])))
        keys, sample = sides[0][0]
        for place, (key, ends, has) in enumerate(zip(keys, intervals(first, second), sample.has())):
            of_sides = [of_side[place] for of_side in means]
            figure = Figure(
                metric=key[0],
                figure=key[1],
                variants=list(key[2]),
                group=name,
                value=_number(of_sides[1] - of_sides[0] if others else of_sides[0]),
                low=ends[0] if ends else None,
                high=ends[1] if ends else None,
                items=int(sample.statistics[place].columns.any(axis=0).sum()),  # that have any sum
                clusters=len(has),
            )
            if services_ends := by_service.get(key):
                figure.low_services, figure.high_services = services_ends
            if others:
                figure.first, figure.second = map(_number, of_sides)
                figure.first_sd, figure.second_sd = (
                    _number(of[:, place].std(ddof=1)) if len(of) > 1 else None for of in values
                )
            found.append(figure)
    return found


def sampled(
    scores: Scores,
    metrics: Sequence[Metric],
    rules: Rules,
    few: bool = False,
    by_service: bool = False,
) -> tuple[list[Key], Sample]:
    """The statistics of scores by their metric, figure and variants; if few, no single variants.

    What is drawn is dialogues, or services. Means are over turns where the rules say so.
    """
    of = scores.items
    metrics_of = {
        name: unit_scores(name, rows, of.turn, rules) for name, rows in scores.metrics.items()
    }
    scores = replace(scores, metrics=metrics_of)
    made = dict[Key, Statistic]()
    for metric in metrics:
        if all(name in scores.metrics for name in metric.counts or (metric.name,)):
            made |= _of_metric(scores, metric, few)
    clusters = np.unique(of.service, return_inverse=True)[1] if by_service else of.dialogue
    return list(made), Sample(list(made.values()), clusters)


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
            made[metric.name, "drop", tuple(names)] = _mean(scores, metric, names, "drop")
    for names in sets:
        every = [ORIGINAL, *names] if has_original else names
        for figure in metric.figures:
            of = every if figure in ("worst", "flips") else names
            if figure == "relative" and has_original:
                made[metric.name, figure, tuple(of)] = _mean(scores, metric, names, figure)
            elif figure not in ("drop", "relative") and len(of) > 1:
                made[metric.name, figure, tuple(of)] = _of_items(scores, metric, figure, of)
    return made


def _mean(scores: Scores, metric: Metric, names: Sequence[str], figure: str = "mean") -> Statistic:
    """The mean under some variants; of a drop, less that under the original.

    A metric of counts is made from their sums.
    """
    is_change, number = figure != "mean", len(names)
    places = [scores.variants.index(name) for name in (*names, *([ORIGINAL] * is_change))]
    if not metric.counts:
        rows = scores.metrics[metric.name][places]
        return drop(rows[:-1], rows[-1], figure == "relative") if is_change else mean(rows)
    columns = np.concatenate([scores.metrics[count][places] for count in metric.counts])

    def of(sums: Floats) -> Floats:
        values = metric.of(_split(sums, metric))
        return np.asarray(values[:number].mean(axis=0) - (values[number] if is_change else 0.0))

    turned = np.arange(len(places)) >= number
    return Statistic(columns, of, lambda sums: _extremes(sums, metric, turned), is_change)


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


def one_run(metric: str) -> str:
    """The metric of the first run alone, where there are several under one variant."""
    return f"{metric} of one run"


def task_success(right: Floats, dialogue: Ints) -> Floats:
    """1 for each dialogue all of whose cases are right, else 0, at its first case [cases]."""
    dialogues, first, position = np.unique(dialogue, return_index=True, return_inverse=True)
    wrong = np.bincount(position, right < RIGHT, len(dialogues))
    success = np.full(len(dialogue), np.nan)
    success[first] = wrong == 0
    return success


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
