"""Turn the logits of a submodel into answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ..training.batching import Ints
from .rules import Span
from .sequences import Sequences


class Answer(NamedTuple):
    """The answer of a submodel to a question."""

    number: int  # of the most likely class, from 0
    score: float  # probability of this class
    yes: float  # probability of class 1, which is "yes" in a question with two classes
    requested: float = 0.0  # probability that the slot is requested; only from ``combine``
    span: Span | None = None  # the best one, only from ``combine``; None for an empty utterance


def decode(answers: Any, sequences: Sequences, batch: Ints) -> list[Answer]:
    """Decode the answers to a batch of questions."""
    probabilities = answers.logits.softmax(-1)
    scores, numbers = probabilities.max(-1)
    columns = [numbers.tolist(), scores.tolist(), probabilities[:, 1].tolist()]
    if answers.start is not None:
        columns.append(answers.requested.softmax(-1)[:, 1].tolist())
        columns.append(_spans(answers, sequences, batch))
    return [Answer(*row) for row in zip(*columns)]


def _spans(answers: Any, sequences: Sequences, batch: Ints) -> list[Span | None]:
    """The best span for each question; None where the user's utterance is empty."""
    user = torch.tensor([sequences.user(index) for index in batch.tolist()])
    user = user.to(answers.start.device)
    best = best_spans(answers.start.softmax(-1), answers.end.softmax(-1), user)
    spans: list[Span | None] = []
    for index, first, last, score in zip(batch.tolist(), *(column.tolist() for column in best)):
        if score == -torch.inf:
            spans.append(None)  # the user's utterance is empty
            continue
        start, end = sequences.characters(index, first, last)
        text = sequences.text(index)[start:end]
        spans.append(Span(start, end, text, score))
    return spans


def best_spans(
    start: torch.Tensor, end: torch.Tensor, user: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """First token, last token and P(start) + P(end) of the likeliest spans, [sequences] each."""
    # The probabilities are [sequences, tokens], ``user`` the tokens [begin, end) of the utterance
    # [sequences, 2]. The sum is -inf where the utterance is empty.
    tokens = torch.arange(start.shape[1], device=start.device)
    outside = (tokens < user[:, :1]) | (tokens >= user[:, 1:])
    # The running maximum gives each token the best start up to it, so one pass tries all ends.
    begun, first = start.masked_fill(outside, -torch.inf).cummax(1)
    score, last = (begun + end.masked_fill(outside, -torch.inf)).max(1)
    return first.gather(1, last[:, None])[:, 0], last, score
