"""The choice of the bias of keeping a slot as it is, on dev under the original schemas."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.dialogues import State
from .decode import Answer, decode
from .frames import GoldFrame
from .oracle import Example

BIASES = (0.0, -0.25, 0.25, -0.5, 0.5, -0.75, 0.75, -1.0, 1.0)


def best_keep_bias(frames: Sequence[Example], answers: Sequence[Answer]) -> float:
    """The bias with which most frames get exactly their gold values.

    The loss asks for probabilities that are right on average; the joint goal asks for decisions
    that are right together, and after an error the state stays wrong.

    Args:
        frames: Frames of dev with the values carried that the right answers give.
        answers: What the model says about each.

    Returns:
        One of ``BIASES``, the smallest of those that are equally good.
    """
    pairs = list(zip(frames, answers, strict=True))
    scores = [
        sum(_is_right(decode(each.frame, answer, bias), each.gold) for each, answer in pairs)
        for bias in BIASES
    ]
    return BIASES[scores.index(max(scores))]


def _is_right(state: State, gold: GoldFrame) -> bool:
    """Whether a state has exactly the gold values, each in any wording."""
    same = state.values.keys() == gold.values.keys()
    return same and all(values[0] in gold.values[slot] for slot, values in state.values.items())
