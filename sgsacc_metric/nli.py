"""Asking a model whether sentences entail each other, each pair of sentences once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sgdx_metric.errors import ScoreError

# A premise and a hypothesis.
Pair: TypeAlias = tuple[str, str]
# The probabilities of entailment, neutral and contradiction, in this order.
Probabilities: TypeAlias = tuple[float, float, float]
# A model of entailment: from n pairs to an array [n, 3] of their probabilities.
Nli: TypeAlias = Callable[[Sequence[Pair]], Any]


def entails(probabilities: Probabilities) -> bool:
    """Whether entailment is the most probable of the three; a tie does not count."""
    entailment, *others = probabilities
    return entailment > max(others)


def clearest(sentences: Sequence[Probabilities]) -> int:
    """The index of the sentence that is entailed most clearly; the first among equals."""
    # An entailed sentence ranks above one that is not, however probable: with .48 entailment and
    # .50 neutral it is not, with .45 and .30 it is. So the clearest is entailed where any is.
    order = range(len(sentences))
    return max(order, key=lambda index: (entails(sentences[index]), sentences[index][0], -index))


def nli_name(nli: Nli | None) -> str:
    """What a signature calls a model of entailment: its attribute `name`, or that of a function."""
    if nli is None:
        return "none"
    name = getattr(nli, "name", None)
    return str(name) if name else f"function:{getattr(nli, '__name__', type(nli).__name__)}"


class Judge:
    """Asks a model of entailment and remembers its answers, so that no pair is sent twice."""

    def __init__(self, nli: Nli) -> None:
        self._nli = nli
        self._answers: dict[Pair, Probabilities] = {}
        # How many answers were needed so far, and how many pairs were sent.
        self.asked, self.sent = 0, 0

    def ask(self, pairs: Iterable[Pair]) -> None:
        """Have the model judge those of some pairs that it has not judged yet, all at once."""
        all_pairs = list(pairs)
        new_pairs = [pair for pair in dict.fromkeys(all_pairs) if pair not in self._answers]
        self.asked += len(all_pairs)
        self.sent += len(new_pairs)
        if new_pairs:
            answers = np.asarray(self._nli(new_pairs), dtype=np.float64)
            if answers.shape != (len(new_pairs), 3):
                raise ScoreError(
                    f"nli: found an array of shape {answers.shape} for {len(new_pairs)} pairs,"
                    f" expected ({len(new_pairs)}, 3): entailment, neutral, contradiction"
                )
            if not ((answers >= 0) & (answers <= 1 + 1e-6)).all():
                raise ScoreError("nli: found a number outside [0, 1], expected probabilities")
            self._answers.update(zip(new_pairs, map(tuple, answers.tolist()), strict=True))

    def __getitem__(self, pair: Pair) -> Probabilities:
        """The answer to a pair that was asked about."""
        return self._answers[pair]
