"""Schema elements: their sentence pairs, their numbers among all pairs, and their embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from sgdx_dataset.schema import NONE_INTENT, Service, Slot

from ..batching import by_length
from ..xla import Tensors, fill_up, in_few_shapes
from .modeling import SgdBaselineModel

Pair = tuple[str, str]
_LONGEST = 80  # maximum number of tokens of a sentence pair, as in the released code
_PAIRS, _TOKENS = 256, 8192  # maximum numbers of sentence pairs and of tokens in a batch


class Elements(NamedTuple):
    """The elements of a service, and their numbers among the sentence pairs of all services.

    Numbers count from 1, as 0 is the intent ``NONE``.
    """

    intents: list[str]  # ``NONE`` first
    intent_numbers: list[int]
    categorical: list[Slot]
    categorical_numbers: list[int]
    value_numbers: list[list[int]]  # of the possible values of each categorical slot
    free: list[Slot]
    free_numbers: list[int]


def read_elements(services: Iterable[Service]) -> tuple[list[Elements], list[Pair]]:
    """The elements of services, and their distinct sentence pairs."""
    pairs: dict[Pair, int] = {}

    def number(first: str, second: str) -> int:
        return pairs.setdefault((first, second), len(pairs)) + 1

    elements = []
    for service in services:
        categorical = [slot for slot in service.slots if slot.is_categorical]
        free = [slot for slot in service.slots if not slot.is_categorical]
        intents, of_categorical, of_free = (
            [number(service.description, f"{e.name} {e.description}") for e in of]
            for of in (service.intents, categorical, free)
        )
        of_values = [
            [number(f"{slot.name} {slot.description}", value) for value in slot.possible_values]
            for slot in categorical
        ]
        names = [NONE_INTENT, *(intent.name for intent in service.intents)]
        elements.append(
            Elements(names, [0, *intents], categorical, of_categorical, of_values, free, of_free)
        )
    return elements, list(pairs)


def embed(
    pairs: Sequence[Pair], model: SgdBaselineModel, tokenizer: PreTrainedTokenizerBase
) -> torch.Tensor:
    """The embeddings of sentence pairs [pairs, hidden] on the CPU, in batches of similar length."""
    ids = [tokenizer(*pair, truncation=True, max_length=_LONGEST) for pair in pairs]
    lengths = np.array([len(encoding["input_ids"]) for encoding in ids], np.int64)
    vectors = torch.empty(len(pairs), model.config.encoder.hidden_size)
    for batch in by_length(lengths, _PAIRS, _TOKENS):
        padded_ids = tokenizer.pad([ids[i] for i in batch.tolist()], return_tensors="pt")
        inputs = in_few_shapes(dict(padded_ids), _LONGEST, _filled, model.device)
        on_device = {name: tensor.to(model.device) for name, tensor in inputs.items()}
        # In float32 whatever the run's precision.
        with torch.autocast(model.device.type, enabled=False):
            vectors[batch] = model.embed(**on_device).cpu()[: len(batch)]
    return vectors


def _filled(inputs: Tensors, pairs: int, tokens: int) -> Tensors:
    names = dict.fromkeys(inputs, ("pairs", "tokens"))
    return fill_up(inputs, names, {"pairs": pairs, "tokens": tokens}, {})
