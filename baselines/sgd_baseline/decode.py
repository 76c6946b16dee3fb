"""From a batch to the model's logits, the changes of states that they mean, and prediction rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from sgdx_dataset.schema import DONTCARE, NONE_INTENT
from sgdx_eval.prediction_files import prediction_row

from ..system import Row
from ..training.batching import Ints
from .batches import SlotQuestions, TurnExamples
from .frames import Change, accumulate
from .labels import ACTIVE, IS_DONTCARE
from .modeling import CLS, ENCODER_INPUTS, SgdBaselineModel
from .turns import SYSTEM, USER

Spot = tuple[int, int, int]  # index of a free-form slot in the batch, first and last token


@torch.inference_mode()
def predict_batch(
    model: SgdBaselineModel, examples: TurnExamples, indices: Ints
) -> list[list[Change]]:
    """Predict the changes that the frames of some examples make."""
    cpu_batch, questions = examples.batch(indices.tolist())
    batch = {name: tensor.to(model.device) for name, tensor in cpu_batch.items()}
    pooled, tokens = model.encode(**{n: batch[n] for n in ENCODER_INPUTS if n in batch})
    logits = {name: tensor.float().cpu() for name, tensor in model.run_heads(pooled, batch).items()}
    # Spans are looked for in the free-form slots alone that have a value in the turn.
    active = (logits["free_status"].argmax(-1) == ACTIVE).nonzero()[:, 0]
    with_spans = batch | {"span": active.to(tokens.device)}
    span_logits = model.spans(tokens, batch["attention_mask"], with_spans)
    start, end = (span_logits[name].float().cpu() for name in ("start", "end"))
    sides = examples.turns.batch_sides(examples.texts[indices].tolist(), tokens.shape[1])
    turn = batch["turn"].cpu()[torch.from_numpy(questions.free_frame)[active]]
    first, last = best_spans(start, end, sides[turn])
    spans = list(zip(active.tolist(), first.tolist(), last.tolist()))
    changes = iter(read_changes(examples, questions, logits, spans))
    return [[next(changes) for _ in examples.groups[index]] for index in indices.tolist()]


def best_spans(
    start: torch.Tensor, end: torch.Tensor, sides: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """First and last tokens with the highest sum of probabilities [spans]; -1 for no span."""
    # Logits and sides are [spans, tokens]. A span lies within the system's or the user's utterance,
    # or is the token ``CLS`` alone, to which the model points if the value is not in the turn.
    start, end = (logits.softmax(-1, dtype=torch.float32) for logits in (start, end))
    infinite = -float("inf")
    scores, firsts = [], []  # of system and user, [spans, tokens]: the best span that ends there
    for side in (SYSTEM, USER):
        # The best start up to each token is computed first, so that one pass tries all ends.
        best, first = start.masked_fill(sides != side, infinite).cummax(-1)
        scores.append((best + end).masked_fill(sides != side, infinite))
        firsts.append(first)
    # Positions in the second half of the concatenation are of the user: modulo gives the token.
    score, position = torch.cat(scores, -1).max(-1)
    first = torch.cat(firsts, -1).gather(-1, position[:, None])[:, 0]
    last = position % max(1, start.shape[-1])
    nowhere = score <= start[:, CLS] + end[:, CLS]
    return first.masked_fill(nowhere, -1), last.masked_fill(nowhere, -1)


def read_changes(
    examples: TurnExamples,
    questions: SlotQuestions,
    logits: dict[str, torch.Tensor],
    spans: Sequence[Spot],
) -> list[Change]:
    """The change of the state that each frame of a batch makes."""
    table, frames = examples.table, examples.frames
    intents = logits["intent"].argmax(-1).tolist()
    services = [table.services[index] for index in frames.service[questions.frames]]
    changes = [
        Change([NONE_INTENT, *service.intents][intent])
        for service, intent in zip(services, intents)
    ]
    names = [table.categorical_names[i] for i in questions.categorical]
    names += [table.free_names[i] for i in questions.free]
    owners = [*questions.categorical_frame.tolist(), *questions.free_frame.tolist()]
    for slot in (logits["requested"] > 0).nonzero()[:, 0].tolist():
        changes[owners[slot]].requested_slots.append(names[slot])
    for slot, value in _values(examples, questions, logits, spans):
        changes[owners[slot]].slot_values[names[slot]] = value
    return changes


def _values(
    examples: TurnExamples,
    questions: SlotQuestions,
    logits: dict[str, torch.Tensor],
    spans: Sequence[Spot],
) -> Iterator[tuple[int, str]]:
    """Each slot that changes, as an index among the batch's slots, and its value."""
    value_indices = logits["value"].argmax(-1).tolist()
    for slot, status in enumerate(logits["categorical_status"].argmax(-1).tolist()):
        choices = examples.table.choices[questions.categorical[slot]]
        if status == IS_DONTCARE:
            yield slot, DONTCARE
        elif status == ACTIVE and choices:
            yield slot, choices[value_indices[slot]]
    # The indices of free-form slots follow those of categorical slots.
    before = len(questions.categorical)
    for slot in (logits["free_status"].argmax(-1) == IS_DONTCARE).nonzero()[:, 0].tolist():
        yield before + slot, DONTCARE
    texts = examples.frames.text[questions.frames[questions.free_frame]]
    for slot, first, last in spans:
        if first >= 0:
            yield before + slot, examples.turns.turn(int(texts[slot])).text(first, last)


def prediction_rows(examples: TurnExamples, changes: list[Change]) -> Iterator[Row]:
    """The prediction row of each frame, whose slot values are the sum of the changes so far."""
    frames = examples.frames
    groups = map(frames.group, range(len(frames)))
    for index, values in enumerate(accumulate(groups, changes)):
        frame = {"frame_id": frames.ids[index], "variant": frames.variants[index]}
        change = changes[index]
        in_lists = {slot: [value] for slot, value in values.items()}
        yield prediction_row(frame, change.active_intent, sorted(change.requested_slots), in_lists)
