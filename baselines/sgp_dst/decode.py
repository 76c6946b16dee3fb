"""From a sub-model's logits to answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ..training.batching import Ints
from .rules import Span
from .sequences import Sequences


class Found(NamedTuple):
    """An answer: the likeliest number and its probability, that of the second one (``yes`` to a
    question of two), and, of combine, the probability of being requested and the best span."""

    number: int
    score: float
    yes: float
    requested: float = 0.0
    span: Span | None = None


def decode(answers: Any, sequences: Sequences, batch: Ints) -> list[Found]:
    """The answers to a batch of questions."""
    probabilities = answers.logits.softmax(-1)
    scores, numbers = probabilities.max(-1)
    columns = [numbers.tolist(), scores.tolist(), probabilities[:, 1].tolist()]
    if answers.start is not None:
        columns.append(answers.requested.softmax(-1)[:, 1].tolist())
        columns.append(_spans(answers, sequences, batch))
    return [Found(*row) for row in zip(*columns)]


def _spans(answers: Any, sequences: Sequences, batch: Ints) -> list[Span | None]:
    user = torch.tensor([sequences.user(index) for index in batch.tolist()])
    user = user.to(answers.start.device)
    found = best_spans(answers.start.softmax(-1), answers.end.softmax(-1), user)
    spans: list[Span | None] = []
    for index, first, last, score in zip(batch.tolist(), *(column.tolist() for column in found)):
        if score == -torch.inf:
            spans.append(None)  # the user said nothing
            continue
        start, end = sequences.characters(index, first, last)
        text = sequences.text(index)[start:end]
        spans.append(Span(start, end, text, score))
    return spans


def best_spans(
    start: torch.Tensor, end: torch.Tensor, user: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The spans in the user's utterance with the highest P(start) + P(end), end not before start.

    Args:
        start, end: Probabilities [sequences, tokens].
        user: The utterance's places [start, end), [sequences, 2].

    Returns:
        First tokens, last tokens and sums, [sequences] each; -inf where the utterance is empty.
    """
    places = torch.arange(start.shape[1], device=start.device)
    outside = (places < user[:, :1]) | (places >= user[:, 1:])
    begun, first = start.masked_fill(outside, -torch.inf).cummax(1)
    score, last = (begun + end.masked_fill(outside, -torch.inf)).max(1)
    return first.gather(1, last[:, None])[:, 0], last, score
