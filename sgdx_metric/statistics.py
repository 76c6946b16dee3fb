"""Statistics of items, the one interval that all of them have, and what it says of a difference.

An item is what is answered under several variants: a frame, a turn, a case of tools. A statistic is
made of sums over items; most are one sum divided by another. What is drawn is dialogues, since the
items of a dialogue are not independent, or services. So each cluster's sums are taken once, and a
draw is a weight for each cluster.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from .columns import Floats, Ints, safe_divide

RESAMPLES, SEED = 1000, 0
# An item with this score or more is right, and with a lesser one wrong.
RIGHT = 0.5
# From so many clusters, of which so many differ, an interval is that of the bootstrap.
MANY, DIFFERENT = 100, 20
# A difference as small as this is one of rounding.
TOLERANCE = 1e-9
# How many draws are made of an interval of few clusters, and about how many numbers at a time.
_WEIGHTINGS, _CHUNK = 6000, 1 << 20

Interval = list[float] | None
Judgement = Literal["loss", "gain", "not shown"]


class Statistic(NamedTuple):
    """How a figure of some items is made."""

    # What is added up over the items [columns, items], and the figure [...] of the sums
    # [columns, ...].
    columns: Floats
    of: Callable[[Floats], Floats]
    # The sums that a cluster of average size has where the figure is as low, and as high, as it
    # can be, of the average sums [columns].
    extremes: Callable[[Floats], tuple[Floats, Floats]]
    # Whether it is a difference of two means, from as far below 0 to as far above.
    is_change: bool = False


def mean(rows: Floats, bounds: tuple[float, float] = (0.0, 1.0)) -> Statistic:
    """The mean over items, and then over variants, of scores [variants, items] or [items].

    Scores are NaN where undefined, and else within bounds.
    """
    rows = np.atleast_2d(rows)
    # What there is of each item, 0 where undefined, and then where it is not undefined.
    columns = np.concatenate([np.nan_to_num(rows), ~np.isnan(rows)])
    worst, best = (np.full(len(rows), bound) for bound in bounds)
    return Statistic(
        columns,
        lambda sums: np.asarray(_ratios(sums).mean(axis=0)),
        lambda sums: _filled(sums, worst, best),
    )


def drop(reworded: Floats, original: Floats, relative: bool = False) -> Statistic:
    """The mean over variants [variants, items] less the mean under the original [items].

    The scores are in [0, 1]. If relative, it is a part of the mean under the original.
    """

    def of(sums: Floats) -> Floats:
        *others, before = _ratios(sums)
        change = np.asarray(np.mean(others, axis=0) - before)
        return safe_divide(change, before) if relative else change

    last = np.zeros(len(reworded) + 1)
    last[-1] = 1.0
    columns = mean(np.vstack([reworded, original])).columns
    return Statistic(columns, of, lambda sums: _filled(sums, last, 1 - last), is_change=True)


def _filled(sums: Floats, worst: Floats, best: Floats) -> tuple[Floats, Floats]:
    wholes = np.split(sums, 2)[1]
    low, high = (np.concatenate([of * wholes, wholes]) for of in (worst, best))
    return low, high


def _ratios(sums: Floats) -> Floats:
    """The first half of some sums [2 * rows, ...], each divided by one of the second half."""
    parts, wholes = np.split(sums, 2)
    return safe_divide(parts, wholes)


class Sample:
    """Statistics of some items, whose columns are summed by cluster."""

    def __init__(self, statistics: Sequence[Statistic], cluster: Ints) -> None:
        """Take the sums; `cluster` has a number for the cluster of each item [items]."""
        self.statistics = list(statistics)
        clusters, position = np.unique(cluster, return_inverse=True)
        self.clusters = len(clusters)
        # Many statistics share columns, such as the scores under the original. Each is drawn once.
        places = dict[bytes, int]()
        self.places = list[Ints]()  # of each statistic's columns among the distinct ones
        for statistic in self.statistics:
            sums = (np.bincount(position, of, self.clusters).tobytes() for of in statistic.columns)
            self.places.append(np.array([places.setdefault(key, len(places)) for key in sums]))
        # The sums of a column lie side by side, which is what figures read [columns, clusters].
        self.totals = np.frombuffer(b"".join(places)).reshape(len(places), self.clusters)

    def drawn(self, weights: Floats) -> Floats:
        """The statistics under weights of the clusters [draws, clusters] -> [statistics, draws]."""
        sums = self.totals @ weights.T
        made = [s.of(sums[place]) for s, place in zip(self.statistics, self.places)]
        return np.stack(made) if made else np.zeros((0, len(weights)))

    def values(self) -> Floats:
        """The statistics of the items as they are, NaN where undefined [statistics]."""
        return self.drawn(np.ones((1, self.clusters)))[:, 0]

    def has(self) -> list[Ints]:
        """The positions of the clusters that each statistic is of: those with any sum."""
        return [np.flatnonzero(self.totals[place].any(axis=0)) for place in self.places]


def intervals(
    runs: Sequence[Sample], others: Sequence[Sample] = (), *, together: bool = False
) -> list[Interval]:
    """The 95 % intervals of some statistics, means over runs, or by how much other runs' differ.

    If together, all of them hold at once with 95 %, by `few`.

    Where there are a hundred clusters, of which twenty differ from the rest, it is that of the
    percentile bootstrap (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter
    13). Else it is `few`, which holds for few clusters too. Of r runs r - 1 are drawn with
    replacement beside the clusters: with r, the spread of the mean of few runs would be
    underestimated (Rao and Wu 1988, Journal of the American Statistical Association 83, 231-241).
    """
    first = runs[0]
    found: list[Interval] = [None] * len(first.statistics)
    both = first.has()
    if others:
        both = [np.union1d(one, two) for one, two in zip(both, others[0].has())]
    is_many = [
        not together
        and len(has) >= MANY
        and _differing([side for side in (runs, others) if side], place, has) >= DIFFERENT
        for place, has in enumerate(both)
    ]
    if any(is_many):
        random = np.random.default_rng((SEED, 1))
        draws = []
        for weights in resamples(first.clusters):
            one = _mean_run(runs, weights, random if others else None)
            draws.append(_mean_run(others, weights, random) - one if others else one)
        ends = np.concatenate(draws, axis=1)
        found = [middle(row) if many else None for row, many in zip(ends, is_many)]
    alike = dict[bytes, list[int]]()  # statistics of the same clusters
    for place, has in enumerate(both):
        if len(has) and not is_many[place]:
            alike.setdefault(has.tobytes(), []).append(place)
    for places in alike.values():
        for place, ends_of in zip(places, few(runs, others, places, both[places[0]], together)):
            found[place] = ends_of
    return found


def few(
    runs: Sequence[Sample],
    others: Sequence[Sample],
    places: Sequence[int],
    has: Ints,
    together: bool = False,
) -> list[Interval]:
    """The intervals of some statistics, by their places, that hold for few clusters too.

    Each end is a quantile of the figure under random weights of the clusters (Dirichlet, all ones),
    to which one cluster of average size is added that has the lowest figure that there can be, or
    the highest; of a difference, as far from 0 as any cluster's is. Of shares of right and wrong it
    is the exact interval of Clopper and Pearson, which R prints for `binom.test(1, 6)` as
    0.004210745 and 0.641234579. Sources: Gaffke 2005, "Three test statistics for a nonparametric
    one-sided hypothesis on the mean of a nonnegative variable" (Mathematical Methods of Statistics
    14, 451-467); Learned-Miller and Thomas 2019, "A New Confidence Interval for the Mean of a
    Bounded Random Variable" (arXiv 1905.06208). `tests/sgdx_metric/test_statistics.py` shows by
    simulation how often it holds.

    Of several together the quantiles are those of the least, and of the largest, of all ranks of a
    draw, as its weights are the same for all (Besag et al. 1995, "Bayesian Computation and
    Stochastic Systems", Statistical Science 10, 3-66).
    """
    random = np.random.default_rng(SEED)
    has = has[np.lexsort(runs[0].totals[:, has])]  # so that the order of dialogues does not matter
    sides = [side for side in (runs, others) if side]
    sums, other = _random_sums(sides, places, has, random)
    averages = [[run.totals[:, has].mean(axis=1) for run in side] for side in sides]
    counts = [np.full((_WEIGHTINGS, len(side)), 1 / len(side)) for side in sides]
    if others:
        counts = [
            random.multinomial(k := max(len(side) - 1, 1), shares[0], _WEIGHTINGS) / k
            for side, shares in zip(sides, counts)
        ]
    drawn = np.empty((2, len(places), _WEIGHTINGS))  # of the low and the high end
    for row, place in enumerate(places):
        far = _farthest(sides, place, has)
        for is_high in (0, 1):
            means = list[Floats]()
            for side, of_side, average, count in zip(sides, sums, averages, counts):
                # What raises a difference lowers the first side.
                is_up = is_high == (side is sides[-1])
                made = list[Floats]()
                for run, of_run, of_cluster in zip(side, of_side, average):
                    statistic, columns = run.statistics[place], run.places[place]
                    least, greatest = statistic.extremes(of_cluster[columns])
                    half = far * (greatest - least) / 2 * (1 if is_up else -1)
                    extreme = (least + greatest) / 2 + half
                    made.append(statistic.of(of_run[columns] + np.outer(extreme, other)))
                means.append((np.stack(made, axis=1) * count).sum(axis=1))
            drawn[is_high, row] = means[1] - means[0] if others else means[0]
    ends = (0.025, 0.975)
    if together:
        rank = drawn.argsort(axis=2).argsort(axis=2) / (_WEIGHTINGS - 1)
        least, largest = rank[0].min(axis=0), rank[1].max(axis=0)
        ends = (float(np.quantile(least, ends[0])), float(np.quantile(largest, ends[1])))
    low, high = (np.quantile(end, q, axis=1) for end, q in zip(drawn, ends))
    return [None if np.isnan(both).any() else both.tolist() for both in np.stack([low, high], 1)]


def _random_sums(
    sides: Sequence[Sequence[Sample]],
    places: Sequence[int],
    has: Ints,
    random: np.random.Generator,
) -> tuple[list[list[Floats]], Floats]:
    """The sums that statistics read under random weights of the clusters, of each side's runs.

    They are [columns, draws]; beside them is the weight of one more cluster [draws].
    """
    sums = [[np.zeros((len(run.totals), _WEIGHTINGS)) for run in side] for side in sides]
    other = np.empty(_WEIGHTINGS)
    for draws in _parts(_WEIGHTINGS, len(has)):
        weights = random.standard_exponential((draws.stop - draws.start, len(has) + 1))
        other[draws] = weights[:, -1]
        for side, of_side in zip(sides, sums):
            for run, of_run in zip(side, of_side):
                read = np.unique(np.concatenate([run.places[place] for place in places]))
                of_run[read, draws] = run.totals[np.ix_(read, has)] @ weights[:, :-1].T
    return sums, other


def _farthest(sides: Sequence[Sequence[Sample]], place: int, has: Ints) -> float:
    """How far from 0 any cluster's difference is, as a part of how far it can be; 1 of a mean."""
    statistic, columns = sides[0][0].statistics[place], sides[0][0].places[place]
    if len(sides) == 1 and not statistic.is_change:
        return 1.0
    own = _own(sides, place, has)
    largest = float(np.nanmax(np.abs(own))) if not np.isnan(own).all() else 0.0
    ends = statistic.extremes(sides[0][0].totals[:, has].mean(axis=1)[columns])
    least, greatest = (float(statistic.of(end[:, None])[0]) for end in ends)
    range_ = (greatest - least) / (2 if len(sides) == 1 else 1)
    # Where nothing differs, anything may still do.
    return 1.0 if largest < TOLERANCE or not range_ > 0 else min(largest / range_, 1.0)


def _own(sides: Sequence[Sequence[Sample]], place: int, has: Ints) -> Floats:
    """The figure of each cluster alone, in the first run of each side [clusters]."""
    values = list[Floats]()
    for run in (side[0] for side in sides):
        totals: Floats = np.asarray(run.totals[np.ix_(run.places[place], has)], dtype=np.float64)
        values.append(run.statistics[place].of(totals))
    return values[1] - values[0] if len(sides) > 1 else values[0]


def _differing(sides: Sequence[Sequence[Sample]], place: int, has: Ints) -> int:
    """How many clusters have another figure than most have."""
    values = _own(sides, place, has)
    counts = np.unique(values[~np.isnan(values)].round(9), return_counts=True)[1]
    return int(counts.sum() - counts.max(initial=0))


def _mean_run(
    side: Sequence[Sample], weights: Floats, random: np.random.Generator | None
) -> Floats:
    """The mean over runs, or over some that are drawn [statistics, draws]."""
    figures = np.stack([run.drawn(weights) for run in side])
    if random is None:
        return np.asarray(figures.mean(axis=0))
    number = max(len(side) - 1, 1)
    counts = random.multinomial(number, np.full(len(side), 1 / len(side)), len(weights))
    return np.asarray((figures * counts.T[:, None]).sum(axis=0) / number)


def resamples(clusters: int) -> Iterator[Floats]:
    """How often each cluster is drawn when as many are drawn as there are, always the same.

    RESAMPLES in all, in chunks [draws, clusters].
    """
    random = np.random.default_rng(SEED)
    for part in _parts(RESAMPLES, clusters):
        draws = part.stop - part.start
        chosen = random.integers(clusters, size=(draws, clusters))
        # One bincount for all draws: the cluster c of draw i is counted at i * clusters + c.
        flat = (chosen + clusters * np.arange(draws)[:, None]).ravel()
        counts = np.bincount(flat, minlength=draws * clusters)
        yield counts.reshape(draws, clusters).astype(np.float64)


def _parts(draws: int, clusters: int) -> Iterator[slice]:
    """Parts of some draws that are made at a time: few enough to stay in the fast memory."""
    step = max(1, _CHUNK // max(clusters, 1))
    return (slice(start, min(start + step, draws)) for start in range(0, draws, step))


def middle(values: Floats) -> Interval:
    """The middle 95 % of the values that are defined; None where none is."""
    defined = values[~np.isnan(values)]
    return np.quantile(defined, (0.025, 0.975)).tolist() if len(defined) else None


def judged(low: float | None, high: float | None, higher_is_better: bool = True) -> Judgement:
    """What an interval of a difference says of it: the one place that decides it.

    A loss or a gain is shown where the whole interval is on one side of 0, by more than rounding.
    """
    if low is None or high is None or (low <= TOLERANCE and high >= -TOLERANCE):
        return "not shown"
    return "gain" if (low > 0) == higher_is_better else "loss"


def stand_out(changes: Floats, trials: int = 2000) -> Floats:
    """How likely chance makes the largest of so many losses as large as each [losses].

    `changes` says how much each of several rewordings loses in each dialogue [losses, dialogues],
    negative where it wins. In each trial every dialogue's changes, of all rewordings together, are
    turned round with probability 1/2, and the largest standardised loss of all is held against each
    (Westfall and Young 1993, "Resampling-Based Multiple Testing").
    """
    if not changes.size:
        return np.zeros(len(changes))
    spread = np.sqrt((changes**2).sum(axis=1)).clip(min=1e-12)
    observed = changes.sum(axis=1) / spread
    signs = np.random.default_rng(SEED).integers(2, size=(trials, changes.shape[1])) * 2.0 - 1
    largest = (signs @ (changes / spread[:, None]).T).max(axis=1)  # [trials]
    as_large = (largest[:, None] >= observed - TOLERANCE).sum(axis=0)
    return np.asarray((as_large + 1) / (trials + 1))


# ---- what variants together make of an item


def variation(scores: Floats, zero_mean: str = "0") -> Floats:
    """Coefficient of variation of scores [variants, items], in [0, sqrt K] or NaN [items].

    Its mean over frames is the schema sensitivity of Lee et al. 2022, "SGD-X: A Benchmark for
    Robust Generalization in Schema-Guided Dialogue Systems" (arXiv 2110.06800). An item that scores
    0 throughout has 0, or NaN if `zero_mean` is "drop".
    """
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    average = scores.mean(axis=0)
    spread = scores.std(axis=0, ddof=1)
    values = safe_divide(spread, average, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(average), np.nan, values)


def worst_case(scores: Floats) -> Floats:
    """The least of each item's scores [variants, items]; NaN where one is undefined [items].

    Its mean is the robustness of Liang et al. 2022, "Holistic Evaluation of Language Models"
    (arXiv 2211.09110). It says what a user can rely on.
    """
    return np.asarray(scores.min(axis=0))


def flipped(scores: Floats) -> Floats:
    """1 for an item right under one variant and wrong under another, else 0; or NaN [items]."""
    least, most = scores.min(axis=0), scores.max(axis=0)
    flips = ((least < RIGHT) & (most >= RIGHT)).astype(np.float64)
    return np.where(np.isnan(least), np.nan, flips)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all of them are."""
    defined = values[~np.isnan(values)]
    # `mean` takes three times as long for the few values that most groups have.
    return float(defined.sum() / len(defined)) if len(defined) else None
