"""The score on dev by which the checkpoints of a submodel are chosen.

The rules act on an answer only if it is sure enough, as with p > 0.9. So a submodel is scored by
what the rules would do with its answers: by the F1 of these decisions, at the rules' thresholds and
with negatives as frequent as they are in dialogues. The accuracy of the likeliest classes would not
do: a model can have a high one and yet never be sure enough to do anything. Joint goal accuracy
would need the other three submodels, and in it the errors of a frame hide each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ..training.batching import Ints, by_length
from .decode import Found, decode
from .rules import COPY, CROSS, REQUESTED, SPAN, VALUE
from .sequences import Sequences
from .submodels import Part

Decision = tuple[str | int, ...]
_TOKENS = 16384  # maximum number of tokens in a batch when dev is scored


def stratified(kinds: NDArray[np.int8], most: int) -> tuple[Ints, NDArray[np.float64]]:
    """Choose examples of all kinds evenly, so that rare kinds are scored on many of them too.

    Args:
        kinds: Kind of each example [examples].
        most: Maximum number of examples to choose.

    Returns:
        Indices of the chosen examples in ascending order [chosen], and how many examples each of
        them stands for [chosen]: with these weights, the kinds are as frequent as in ``kinds``.
    """
    groups = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    chosen, weights, left = [], [], most
    for number, group in enumerate(sorted(groups, key=len)):
        count = min(len(group), left // (len(groups) - number))
        left -= count
        chosen.append(group[np.arange(count) * len(group) // max(1, count)])
        weights.append(np.full(count, len(group) / max(1, count)))
    indices = np.concatenate([*chosen, np.zeros(0, np.int64)])
    order = np.argsort(indices)
    return indices[order], np.concatenate([*weights, np.zeros(0)])[order]


def decisions(part: Part, found: Found, categorical: bool) -> set[Decision]:
    """What the rules would do with one answer of a submodel.

    Args:
        part: Name of the submodel.
        found: The answer.
        categorical: Whether the slot that ``combine`` is asked about is categorical.
    """
    if part == "intent":
        return {("intent", found.number)}
    if part != "combine":
        return {("copy",)} if found.yes > (COPY if part == "copy" else CROSS) else set()
    if found.requested > REQUESTED:
        made: set[Decision] = {("requested",)}
    else:
        made = {("value", found.number)} if found.number and found.score > VALUE else set()
    if not categorical and found.span and found.span.score > SPAN and ("value", 1) not in made:
        made.add(("span", found.span.start, found.span.end))
    return made


def right_decisions(part: Part, labels: list[int]) -> set[Decision]:
    """What the rules should do, from the labels of an example (``examples.Example``)."""
    if part == "intent":
        return {("intent", labels[0])}
    if part != "combine":
        return {("copy",)} if labels[0] else set()
    start, end, value, requested = labels
    made: set[Decision] = {("requested",)} if requested else set()
    if value:
        made.add(("value", value))
    elif start >= 0:
        made.add(("span", start, end))
    return made


def decision_f1(
    part: Part,
    model: PreTrainedModel,
    data: Any,
    sample: tuple[Ints, NDArray[np.float64]],
    accelerator: Accelerator,
) -> float:
    """F1 of the decisions that the rules would take; for ``intent`` it is the accuracy.

    All processes must call this together.

    Args:
        part: Name of the submodel.
        model: The submodel.
        data: Examples with labels, a ``batches.TrainingData``.
        sample: Indices of the examples to score and their weights, as ``stratified`` returns them.
        accelerator: The processes and the device.

    Returns:
        A fraction in [0, 1], the same in every process; 0 if nothing is found.
    """
    chosen, weights = sample
    batches = by_length(data.sequences.lengths[chosen], max(1, len(chosen)), _TOKENS)
    # Weights of the decisions that are taken and right, that are taken, and that are to be taken.
    counts = torch.zeros(3, dtype=torch.float64)
    for positions in batches[accelerator.process_index :: accelerator.num_processes]:
        indices = chosen[positions]
        answers = _answers(model, data.sequences, indices, accelerator)
        for index, weight, found in zip(indices.tolist(), weights[positions].tolist(), answers):
            taken = decisions(part, found, data.sequences.is_categorical(index))
            right = right_decisions(part, data.labels[index].tolist())
            sizes = (len(taken & right), len(taken), len(right))
            counts += weight * torch.tensor(sizes, dtype=torch.float64)
    # Some devices have no float64.
    right, taken, due = accelerator.reduce(counts.float().to(accelerator.device), "sum").tolist()
    return float(2 * right / (taken + due)) if right else 0.0


@torch.inference_mode()
def _answers(
    model: PreTrainedModel, sequences: Sequences, indices: Ints, accelerator: Accelerator
) -> list[Found]:
    batch = {name: t.to(accelerator.device) for name, t in sequences.batch(indices).items()}
    return decode(model(**batch), sequences, indices)
