"""Confidence intervals from resampled dialogues, since a dialogue's frames are not independent.

A figure is a function of sums over dialogues. So each dialogue's sums are taken once, and a
resample is no more than a weight for each dialogue.
"""

from collections.abc import Callable, Iterator

import numpy as np

from .columns import Floats

RESAMPLES = 1000
SEED = 0
_CHUNK = (
    100  # Resamples are drawn so many at a time, so that memory does not grow with their number.
)

Draw = Callable[[np.random.Generator, int, int], Floats]
Figures = dict[str, Floats]
Interval = list[float] | None


def with_replacement(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """How often each dialogue is drawn when as many are drawn as there are [draws, dialogues]."""
    drawn = random.integers(dialogues, size=(draws, dialogues))
    flat = (drawn + dialogues * np.arange(draws)[:, None]).ravel()
    counts = np.bincount(flat, minlength=draws * dialogues)
    return counts.reshape(draws, dialogues).astype(np.float64)


def one_in_two(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """1 for a random half of the dialogues and 0 for the others [draws, dialogues]."""
    return random.integers(2, size=(draws, dialogues), dtype=np.uint8).astype(np.float64)


def resampled(draw: Draw, dialogues: int, number: int) -> Iterator[Floats]:
    """Draw `number` weightings of the dialogues, in chunks [draws, dialogues], always the same."""
    random = np.random.default_rng(SEED)
    for start in range(0, number, _CHUNK):
        yield draw(random, min(_CHUNK, number - start), dialogues)


def bootstrap(statistic: Callable[[Floats], Figures], dialogues: int) -> dict[str, Interval]:
    """95 % intervals of figures, by the percentile method over dialogues drawn with replacement.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.

    Args:
        statistic: Computes the figures [draws] from weights of the dialogues [draws, dialogues].
        dialogues: How many dialogues there are.

    Returns:
        [low, high] of each figure, in its own unit; None for a figure that is undefined in every
        resample. Without dialogues the result is empty.
    """
    if not dialogues:
        return {}
    found = [statistic(weights) for weights in resampled(with_replacement, dialogues, RESAMPLES)]
    return {name: _middle(np.concatenate([draw[name] for draw in found])) for name in found[0]}


def _middle(values: Floats) -> Interval:
    defined = values[~np.isnan(values)]
    return np.quantile(defined, (0.025, 0.975)).tolist() if len(defined) else None
