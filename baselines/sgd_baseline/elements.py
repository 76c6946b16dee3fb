"""Schema elements: their sentence pairs, their numbers among all pairs, and their embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from sgdx_dataset.schema import NONE_INTENT, Service, Slot

from ..batching import Ints, by_length, padded
from ..xla import Tensors, fill_up, in_few_shapes
from .modeling import SgdBaselineModel

Pair = tuple[str, str]
_LONGEST = 80  # maximum number of tokens of a sentence pair, as in the released code
_PAIRS, _TOKENS = 256, 8192  # maximum numbers of sentence pairs and of tokens in a batch


@dataclass(frozen=True)
class Elements:
    """The elements of a service."""

    intents: list[str]  # names, ``NONE`` first
    categorical: list[Slot]
    free: list[Slot]
    # The numbers of elements among the sentence pairs of all services, by their names in a batch:
    # ``intents`` [1, intents], ``categorical`` [slots], ``values`` of these [slots, values] and
    # ``free`` [slots]. They count from 1, as 0 is the intent ``NONE``; -1 is padding.
    numbers: dict[str, Ints]


def read_elements(services: Iterable[Service]) -> tuple[list[Elements], list[Pair]]:
    """The elements of services, and their distinct sentence pairs."""
    pairs: dict[Pair, int] = {}
    numbers: list[tuple[list[int], list[int], list[list[int]], list[int]]] = []
    services = list(services)
    slots = [
        ([s for s in of.slots if s.is_categorical], [s for s in of.slots if not s.is_categorical])
        for of in services
    ]

    def number(first: str, second: str) -> int:
        return pairs.setdefault((first, second), len(pairs)) + 1

    for service, (categorical, free) in zip(services, slots):
        intents, of_categorical, of_free = (
            [number(service.description, f"{e.name} {e.description}") for e in elements]
            for elements in (service.intents, categorical, free)
        )
        values = [
            [number(f"{slot.name} {slot.description}", value) for value in slot.possible_values]
            for slot in categorical
        ]
        numbers.append(([0, *intents], of_categorical, values, of_free))
    most_intents = max((len(intents) for intents, *_ in numbers), default=1)
    most_values = max((len(row) for *_, values, _ in numbers for row in values), default=1)
    elements = [
        Elements(
            [NONE_INTENT, *(intent.name for intent in service.intents)],
            categorical,
            free,
            {
                "intents": padded([intents], -1, most_intents),
                "categorical": np.array(of_categorical, np.int64),
                "values": padded(values, -1, max(1, most_values)),
                "free": np.array(of_free, np.int64),
            },
        )
        for service, (categorical, free), (intents, of_categorical, values, of_free) in zip(
            services, slots, numbers
        )
    ]
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
