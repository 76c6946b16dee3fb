"""Intervals and tests that take whole dialogues, since the frames of one are not independent.

Every figure is a function of means over frames, and a mean over some dialogues is a ratio of sums
over them. So each dialogue's sums are taken once, and a resample is a weight for each dialogue.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .columns import Floats, Ints, over
from .rules import Rules
from .sensitivity import variation
from .units import Places, turn_starts, unit_scores

RESAMPLES = 1000
SEED = 0
ORIGINAL = "original"
PAPER_VARIANTS = ("v1", "v2", "v3", "v4", "v5")
FIGURES = ("jga_orig", "jga_v1-5", "ss_jga")
_JGA = "joint_goal_accuracy"
_CHUNK = 100  # resamples at a time, so that memory does not grow with their number

Draw = Callable[[np.random.Generator, int, int], Floats]
Figures = dict[str, Floats]
Interval = list[float] | None


@dataclass(frozen=True)
class Sums:
    """A group's per-dialogue sums of defined scores, and how many: each [dialogues, rows].

    A row is a variant; the last is the variation over all but the original.
    """

    total: Floats
    number: Floats

    def means(self, weights: Floats) -> Floats:
        """Mean scores [draws, rows] of the dialogues so weighted [draws, dialogues]."""
        return over(weights @ self.total, weights @ self.number)


def dialogue_sums(jga: Mapping[str, Floats], place: Places, these: Ints, rules: Rules) -> Sums:
    """Sum up the joint goal accuracy of some frames over each of their dialogues.

    Args:
        jga: by variant, [frames].
        these: the group's frames [some frames].
    """
    turn, dialogue = place.turn[these], place.dialogue[these]
    scores = unit_scores(_JGA, np.stack(list(jga.values()))[:, these], turn, rules)
    if rules.joint_acc_across_turn:
        dialogue = dialogue[turn_starts(turn)]
    varies = variation(scores[[name != ORIGINAL for name in jga]], rules.zero_mean)
    rows = np.vstack([scores, varies])
    found, dialogue = np.unique(dialogue, return_inverse=True)
    totals = [np.bincount(dialogue, row, len(found)) for row in np.nan_to_num(rows)]
    numbers = [np.bincount(dialogue, row, len(found)) for row in 1.0 - np.isnan(rows)]
    return Sums(np.stack(totals, axis=1), np.stack(numbers, axis=1))


def figures(means: Floats, variants: list[str]) -> Figures:
    """Each of FIGURES that the variants give, from mean scores [..., rows]: [...]."""
    row = {name: means[..., i] for i, name in enumerate(variants)}
    found = {"jga_orig": row[ORIGINAL]} if ORIGINAL in row else {}
    if all(name in row for name in PAPER_VARIANTS):
        found["jga_v1-5"] = np.mean([row[name] for name in PAPER_VARIANTS], axis=0)
    if len(row.keys() - {ORIGINAL}) > 1:
        found["ss_jga"] = means[..., -1]
    return found


def with_replacement(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """How often each dialogue is drawn among as many [draws, dialogues]."""
    drawn = random.integers(dialogues, size=(draws, dialogues))
    flat = (drawn + dialogues * np.arange(draws)[:, None]).ravel()
    counts = np.bincount(flat, minlength=draws * dialogues)
    return counts.reshape(draws, dialogues).astype(np.float64)


def one_in_two(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """1 for a random half of the dialogues, else 0 [draws, dialogues]."""
    return random.integers(2, size=(draws, dialogues), dtype=np.uint8).astype(np.float64)


def resampled(draw: Draw, dialogues: int, number: int) -> Iterator[Floats]:
    """`number` weightings of the dialogues, some at a time and always the same."""
    random = np.random.default_rng(SEED)
    for start in range(0, number, _CHUNK):
        yield draw(random, min(_CHUNK, number - start), dialogues)


def bootstrap(statistic: Callable[[Floats], Figures], dialogues: int) -> dict[str, Interval]:
    """95 % intervals of figures (percentile method), dialogues drawn with replacement.

    Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.

    Args:
        statistic: the figures [draws] of weighted dialogues [draws, dialogues].

    Returns:
        [low, high] of each figure, None where it is undefined in all draws; {} without dialogues.
    """
    if not dialogues:
        return {}
    found = [statistic(weights) for weights in resampled(with_replacement, dialogues, RESAMPLES)]
    return {name: _middle(np.concatenate([draw[name] for draw in found])) for name in found[0]}


def _middle(values: Floats) -> Interval:
    defined = values[~np.isnan(values)]
    return np.quantile(defined, (0.025, 0.975)).tolist() if len(defined) else None
