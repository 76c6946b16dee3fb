"""The score on dev by which the checkpoints of a submodel are chosen.

The rules act on an answer only above a threshold, such as p > 0.9. So the score of a submodel is
the F1 of the decisions that the rules would take, at their thresholds and with negatives as
frequent as they are in dialogues. The accuracy of the likeliest classes is not used, because a
model can have a high one and yet never pass a threshold. Joint goal accuracy is not used either: it
needs the other three submodels, and once a frame is wrong, its further errors do not show.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ..training.batching import Ints, by_length
from .rules import COPY, CROSS, REQUESTED, SPAN, VALUE
from .submodels import Part
from .tracking import Answer, decode

Decision = tuple[str | int, ...]
_TOKENS = 16384  # maximum number of tokens in a batch when dev is scored


def stratified(kinds: NDArray[np.int8], most: int) -> tuple[Ints, NDArray[np.float64]]:
    """Choose examples of all kinds evenly: indices [chosen], and how many each stands for."""
    groups = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    drawn, weights, left = [], [], most
    # From the smallest kind to the largest, so that what a rare kind leaves goes to the others.
    for number, group in enumerate(sorted(groups, key=len)):
        count = min(len(group), left // (len(groups) - number))
        left -= count
        drawn.append(group[np.arange(count) * len(group) // max(1, count)])
        weights.append(np.full(count, len(group) / max(1, count)))
    indices = np.concatenate([*drawn, np.zeros(0, np.int64)])
    order = np.argsort(indices)
    return indices[order], np.concatenate([*weights, np.zeros(0)])[order]


def decisions(part: Part, answer: Answer, categorical: bool) -> set[Decision]:
    """What the rules would do with one answer of a submodel."""
    if part == "intent":
        return {("intent", answer.number)}
    if part != "combine":
        return {("copy",)} if answer.yes > (COPY if part == "copy" else CROSS) else set()
    if answer.requested > REQUESTED:
        actions: set[Decision] = {("requested",)}
    else:
        actions = {("value", answer.number)} if answer.number and answer.score > VALUE else set()
    if not categorical and answer.span and answer.span.score > SPAN and ("value", 1) not in actions:
        actions.add(("span", answer.span.start, answer.span.end))
    return actions


def right_decisions(part: Part, labels: list[int]) -> set[Decision]:
    """What the rules should do, from the labels of an example (``examples.Example``)."""
    if part == "intent":
        return {("intent", labels[0])}
    if part != "combine":
        return {("copy",)} if labels[0] else set()
    start, end, value, requested = labels
    actions: set[Decision] = {("requested",)} if requested else set()
    if value:
        actions.add(("value", value))
    elif start >= 0:
        actions.add(("span", start, end))
    return actions


@torch.inference_mode()
def decision_f1(
    part: Part,
    model: PreTrainedModel,
    data: Any,
    sample: tuple[Ints, NDArray[np.float64]],
    accelerator: Accelerator,
) -> float:
    """F1 of the decisions that the rules would take; for ``intent`` it is the accuracy."""
    # All processes must call this together.
    examples, weights = sample
    batches = by_length(data.sequences.lengths[examples], max(1, len(examples)), _TOKENS)
    # Sums of weights over decisions: taken and right, taken, and due.
    counts = torch.zeros(3, dtype=torch.float64)
    for positions in batches[accelerator.process_index :: accelerator.num_processes]:
        indices = examples[positions]
        batch = {n: t.to(accelerator.device) for n, t in data.sequences.batch(indices).items()}
        answers = decode(model(**batch), data.sequences, indices)
        for index, weight, answer in zip(indices.tolist(), weights[positions].tolist(), answers):
            taken = decisions(part, answer, data.sequences.is_categorical(index))
            right = right_decisions(part, data.labels[index].tolist())
            sizes = (len(taken & right), len(taken), len(right))
            counts += weight * torch.tensor(sizes, dtype=torch.float64)
    # Some devices have no float64.
    right, taken, due = accelerator.reduce(counts.float().to(accelerator.device), "sum").tolist()
    return float(2 * right / (taken + due)) if right else 0.0
