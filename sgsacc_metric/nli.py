"""Asking whether sentences entail each other: each pair of sentences once, in whatever order."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sgdx_metric.rows import ScoreError

# A premise and a hypothesis.
Pair: TypeAlias = tuple[str, str]
# The probabilities of entailment, neutral and contradiction, in this order.
Probabilities: TypeAlias = tuple[float, float, float]
# From n pairs to an array [n, 3] of their probabilities.
Nli: TypeAlias = Callable[[Sequence[Pair]], Any]


def entails(probabilities: Probabilities) -> bool:
    """Whether entailment is the most probable of the three; a tie is none."""
    entailment, *others = probabilities
    return entailment > max(others)


def nli_name(nli: Nli | None) -> str:
    """What a signature calls a model of entailment: its attribute `name`, or that of a function."""
    if nli is None:
        return "none"
    named = getattr(nli, "name", None)
    return str(named) if named else f"function:{getattr(nli, '__name__', type(nli).__name__)}"


class Judge:
    """Asks a model of entailment, and remembers what it said, so that no pair is sent twice.

    Attributes:
        asked: How many answers were needed so far.
        sent: How many pairs were sent to the model so far.
    """

    def __init__(self, nli: Nli) -> None:
        self._nli = nli
        self._known: dict[Pair, Probabilities] = {}
        self.asked = 0
        self.sent = 0

    def ask(self, pairs: Iterable[Pair]) -> None:
        """Have the model judge those of some pairs that it has not judged yet, all at once.

        Raises:
            ScoreError: What the model returns is not an array [n, 3] of probabilities.
        """
        wanted = list(pairs)
        new = [pair for pair in dict.fromkeys(wanted) if pair not in self._known]
        self.asked += len(wanted)
        self.sent += len(new)
        if new:
            found = np.asarray(self._nli(new), dtype=np.float64)
            if found.shape != (len(new), 3):
                raise ScoreError(
                    f"nli: found an array of shape {found.shape} for {len(new)} pairs, expected"
                    f" ({len(new)}, 3): entailment, neutral, contradiction"
                )
            if not ((found >= 0) & (found <= 1 + 1e-6)).all():
                raise ScoreError("nli: found a number outside [0, 1], expected probabilities")
            self._known.update(zip(new, map(tuple, found.tolist()), strict=True))

    def __getitem__(self, pair: Pair) -> Probabilities:
        """What the model said of a pair that was asked about."""
        return self._known[pair]
