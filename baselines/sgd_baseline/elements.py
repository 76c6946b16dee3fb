"""Schema elements: their sentence pairs, their indices in a table, and their embeddings.

Source: Rastogi et al. 2020 (arXiv 1909.05855).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from sgdx_dataset.schema import Intent, Service, Slot, read_service

from ..batching import Ints, by_length, padded
from ..xla import Tensors, fill_up, in_few_shapes
from .modeling import SgdBaselineModel

Row = dict[str, Any]
Pair = tuple[str, str]
_LONGEST = 80  # maximum number of tokens of a sentence pair, as in the released code
_PAIRS, _TOKENS = 256, 8192  # maximum numbers of sentence pairs and of tokens in a batch


@dataclass(frozen=True)
class ServiceElements:
    """The elements of a service."""

    intents: list[str]
    categorical: list[str]  # slots
    free: list[str]  # slots
    values: list[list[str]]  # possible values of each categorical slot
    pairs: list[Pair]  # the sentence pair of each element, in the order of the fields above


def elements_of(service: Service) -> ServiceElements:
    """The elements of a service and their sentence pairs."""
    categorical = [slot for slot in service.slots if slot.is_categorical]
    free = [slot for slot in service.slots if not slot.is_categorical]
    elements: list[Intent | Slot] = [*service.intents, *categorical, *free]
    pairs = [(service.description, f"{e.name} {e.description}") for e in elements]
    for slot in categorical:
        pairs += [(f"{slot.name} {slot.description}", value) for value in slot.possible_values]
    return ServiceElements(
        [intent.name for intent in service.intents],
        [slot.name for slot in categorical],
        [slot.name for slot in free],
        [slot.possible_values for slot in categorical],
        pairs,
    )


class ElementTable:
    """The elements of all services, as indices among their distinct sentence pairs."""

    # Indices count from 1, as 0 is the intent NONE; -1 is padding. ``intents`` [services, 1 +
    # intents] start with 0; ``values`` are [categorical slots, values]; ``categorical`` and
    # ``free`` are [slots] of all services.

    def __init__(self, schemas: Sequence[Row]) -> None:
        self.services = [elements_of(read_service(schema)) for schema in schemas]
        numbers: dict[Pair, int] = {}
        intents, values = [], []
        categorical: list[int] = []
        free: list[int] = []
        for service in self.services:
            # The pairs of a service are in the order in which its elements are taken below.
            pair_numbers = iter([numbers.setdefault(p, len(numbers)) + 1 for p in service.pairs])
            intents.append([0, *islice(pair_numbers, len(service.intents))])
            categorical += islice(pair_numbers, len(service.categorical))
            free += islice(pair_numbers, len(service.free))
            values += [list(islice(pair_numbers, len(choices))) for choices in service.values]
        self.pairs = list(numbers)
        self.categorical_names = [name for s in self.services for name in s.categorical]
        self.choices = [choices for s in self.services for choices in s.values]
        self.free_names = [name for s in self.services for name in s.free]
        self.intents, self.values = padded(intents, -1), padded(values, -1)
        self.categorical, self.free = np.array(categorical, np.int64), np.array(free, np.int64)
        # Index of each service's first slot of a kind, then their number [services + 1].
        self.categorical_begin = _begins([len(s.categorical) for s in self.services])
        self.free_begin = _begins([len(s.free) for s in self.services])


def _begins(counts: list[int]) -> Ints:
    """Index of the first of each group of items, then the number of all items."""
    return np.array([0, *accumulate(counts)], np.int64)


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
