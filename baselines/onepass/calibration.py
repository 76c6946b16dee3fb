"""The choice of the biases of keeping a slot as it is, on dev under the original schemas.

The loss rewards probabilities that are right on average. The joint goal needs decisions that are
right together, and after an error the state stays wrong. So the bias is chosen by the score of
states that the model itself predicts turn by turn, with its earlier errors carried on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from .decode import Answer
from .frames import FrameInput

BIASES = (0.0, -0.25, 0.25, -0.5, 0.5, -0.75, 0.75, -1.0, 1.0, -1.5, -2.0)
# Returns the model's answer about each frame.
Answers = Callable[[Sequence[FrameInput]], list[Answer]]


class KeepBias(NamedTuple):
    """What is added to the logit of keeping a slot as it is."""

    acts: float  # at turns at which the system's dialogue acts are read
    text: float  # at turns at which they are not, because there are none

    def at(self, frame: FrameInput) -> float:
        """The bias for a frame."""
        return self.acts if frame.acts else self.text


def best_keep_bias(score: Callable[[float], float]) -> tuple[float, float]:
    """The bias with the best score, the smallest of equally good ones, and this score."""
    scores = [score(bias) for bias in BIASES]
    best = max(scores)
    return BIASES[scores.index(best)], best


def cached(answers: Answers) -> Answers:
    """The same answers, from a cache for frames whose input was answered before."""
    # Most frames have the same input under all biases, as most carried states are the same.
    cache: dict[Hashable, Answer] = {}

    def answer(frames: Sequence[FrameInput]) -> list[Answer]:
        new = {frame.key: frame for frame in frames if frame.key not in cache}
        cache.update(zip(new, answers(list(new.values())), strict=True))
        return [cache[frame.key] for frame in frames]

    return answer
