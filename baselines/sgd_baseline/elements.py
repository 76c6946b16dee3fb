"""Schema elements: their sentence pairs, their indices in a table, and their embeddings.

The frozen encoder computes the embeddings once for each variant of a service. They are cached in
files. Source: Rastogi et al. 2020 (arXiv 1909.05855).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from transformers import PreTrainedTokenizerBase

from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.schema import Intent, Service, Slot, read_service

from ..batching import Ints, by_length, padded
from ..checkpoint import weights_digest
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


def default_cache() -> Path:
    """The default folder for embeddings, in the Hugging Face cache."""
    return Path(datasets.config.HF_CACHE_HOME) / "sgdx" / "schema_embeddings"


def embeddings(
    table: ElementTable, model: SgdBaselineModel, tokenizer: PreTrainedTokenizerBase, cache: Path
) -> torch.Tensor:
    """The embeddings of a table's pairs [pairs, hidden]; what the cache lacks is computed."""
    # The cache has a folder for each frozen encoder, with a file for each variant of a service.
    folder = cache / _encoder_digest(model, tokenizer)
    digests = [hashlib.sha256(repr(s.pairs).encode()).hexdigest() for s in table.services]
    files = [folder / f"{digest}.safetensors" for digest in digests]
    vectors: dict[Pair, torch.Tensor] = {}
    missing = []
    for file, service in zip(files, table.services):
        cached = _read(file, service)
        if cached is None:
            missing.append((file, service))
        else:
            vectors.update(zip(service.pairs, cached))
    pairs = list({pair: None for _, service in missing for pair in service.pairs})
    vectors.update(zip(pairs, embed(pairs, model, tokenizer)))
    for file, service in missing:
        of_service = torch.stack([vectors[pair] for pair in service.pairs])
        write_bytes(file, save({"embeddings": of_service}))
    return torch.stack([vectors[pair] for pair in table.pairs])


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
        # In float32 whatever the run's precision, as the files serve runs of any.
        with torch.autocast(model.device.type, enabled=False):
            vectors[batch] = model.embed(**on_device).cpu()[: len(batch)]
    return vectors


def _filled(inputs: Tensors, pairs: int, tokens: int) -> Tensors:
    names = dict.fromkeys(inputs, ("pairs", "tokens"))
    return fill_up(inputs, names, {"pairs": pairs, "tokens": tokens}, {})


def _encoder_digest(model: SgdBaselineModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """A digest of everything that determines embeddings: weights, tokenizer and maximum length."""
    tokenizer_json: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    for call_setting in ("truncation", "padding"):  # they change from call to call
        tokenizer_json.pop(call_setting, None)
    text = json.dumps([weights_digest(model.schema_encoder), tokenizer_json, _LONGEST])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(file: Path, service: ServiceElements) -> torch.Tensor | None:
    """The embeddings of a service from the cache; None if they have to be computed."""
    try:
        vectors = load_file(file)["embeddings"]
    except (OSError, SafetensorError, KeyError):  # the file is missing or damaged
        return None
    return vectors if len(vectors) == len(service.pairs) else None
