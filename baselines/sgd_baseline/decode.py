"""What a model's logits say: changes of the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from .batches import Examples, SlotQuestions
from .labels import ACTIVE, IS_DONTCARE
from .schema_embeddings import Table
from .states import DONTCARE, Change
from .turns import SYSTEM, USER

Spot = tuple[int, int, int]


def best_spans(
    start: torch.Tensor, end: torch.Tensor, sides: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best first token and last token, not before it and of the same text.

    Args:
        start, end: Logits [spans, tokens].
        sides: [spans, tokens], which text a token is of.

    Returns:
        Two tensors [spans]; -1 where there is no text.
    """
    infinite = -float("inf")
    whole, firsts = [], []
    for side in (SYSTEM, USER):
        # The best start up to each token, so that all ends are tried in one pass.
        best, first = start.masked_fill(sides != side, infinite).cummax(-1)
        whole.append((best + end).masked_fill(sides != side, infinite))
        firsts.append(first)
    score, place = torch.cat(whole, -1).max(-1)
    first = torch.cat(firsts, -1).gather(-1, place[:, None])[:, 0]
    last = place % max(1, start.shape[-1])
    nowhere = score == infinite
    return first.masked_fill(nowhere, -1), last.masked_fill(nowhere, -1)


def read_changes(
    examples: Examples, asked: SlotQuestions, logits: dict[str, torch.Tensor], spans: Sequence[Spot]
) -> list[Change]:
    """The change of each frame of a batch.

    Args:
        logits: Of ``SgdBaselineModel.judge``.
        spans: Per slot that has one: its place among the free slots asked, and its tokens.
    """
    table, frames = examples.table, examples.frames
    intents = logits["intent"].argmax(-1).tolist()
    services = [table.services[place] for place in frames.service[asked.frames]]
    changes = [
        Change(["NONE", *service.intents][intent]) for service, intent in zip(services, intents)
    ]
    names = [table.categorical_names[i] for i in asked.categorical]
    names += [table.free_names[i] for i in asked.free]
    owners = [*asked.categorical_frame.tolist(), *asked.free_frame.tolist()]
    for place in (logits["requested"] > 0).nonzero()[:, 0].tolist():
        changes[owners[place]].requested_slots.append(names[place])
    categorical = _categorical(table, asked, logits)
    for place, value in [*categorical, *_free(examples, asked, logits, spans)]:
        changes[owners[place]].slot_values[names[place]] = value
    return changes


def _categorical(
    table: Table, asked: SlotQuestions, logits: dict[str, torch.Tensor]
) -> Iterator[tuple[int, str]]:
    """Each categorical slot that changes, as a place among those asked, and its value."""
    chosen = logits["value"].argmax(-1).tolist()
    for place, status in enumerate(logits["categorical_status"].argmax(-1).tolist()):
        choices = table.choices[asked.categorical[place]]
        if status == IS_DONTCARE:
            yield place, DONTCARE
        elif status == ACTIVE and choices:
            yield place, choices[chosen[place]]


def _free(
    examples: Examples, asked: SlotQuestions, logits: dict[str, torch.Tensor], spans: Sequence[Spot]
) -> Iterator[tuple[int, str]]:
    """Each other slot that changes, as a place among all slots asked, and its value."""
    before = len(asked.categorical)
    for place in (logits["free_status"].argmax(-1) == IS_DONTCARE).nonzero()[:, 0].tolist():
        yield before + place, DONTCARE
    texts = examples.frames.text[asked.frames[asked.free_frame]]
    for place, first, last in spans:
        if first >= 0:
            yield before + place, examples.turns.turn(int(texts[place])).text(first, last)
