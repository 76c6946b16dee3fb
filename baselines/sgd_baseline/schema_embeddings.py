"""Embeddings of schema elements by the frozen encoder, and the files that they are kept in."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerBase

from ..batching import by_length
from ..checkpoint import weights_digest
from .modeling import SgdBaselineModel
from .schemas import Pair, Service, Table

_LONGEST = 256  # tokens of a pair
_PAIRS, _TOKENS = 256, 8192  # in a batch


def default_cache() -> Path:
    """Where embeddings are kept: in the Hugging Face cache."""
    return Path(datasets.config.HF_CACHE_HOME) / "sgdx" / "schema_embeddings"


def embeddings(
    table: Table, model: SgdBaselineModel, tokenizer: PreTrainedTokenizerBase, cache: Path
) -> torch.Tensor:
    """Embeddings [pairs, hidden] of a table's pairs, on the CPU.

    Args:
        cache: Keeps a file for each wording of a service, named by a digest of the pairs, in a
            folder for each frozen encoder; what is there is not computed again.
    """
    folder = cache / _encoder_digest(model, tokenizer)
    files = [folder / f"{_digest(service.pairs)}.safetensors" for service in table.services]
    vectors: dict[Pair, torch.Tensor] = {}
    lacking = []
    for file, service in zip(files, table.services):
        found = _read(file, service)
        if found is None:
            lacking.append((file, service))
        else:
            vectors.update(zip(service.pairs, found))
    pairs = list({pair: None for _, service in lacking for pair in service.pairs})
    vectors.update(zip(pairs, embed(pairs, model, tokenizer)))
    for file, service in lacking:
        _write(file, torch.stack([vectors[pair] for pair in service.pairs]))
    return torch.stack([vectors[pair] for pair in table.pairs])


def embed(
    pairs: Sequence[Pair], model: SgdBaselineModel, tokenizer: PreTrainedTokenizerBase
) -> torch.Tensor:
    """Embeddings [pairs, hidden], on the CPU; those of like length in one batch."""
    ids = [tokenizer(*pair, truncation=True, max_length=_LONGEST) for pair in pairs]
    lengths = np.array([len(each["input_ids"]) for each in ids], np.int64)
    vectors = torch.empty(len(pairs), model.config.encoder.hidden_size)
    for batch in by_length(lengths, _PAIRS, _TOKENS):
        inputs = tokenizer.pad([ids[i] for i in batch.tolist()], return_tensors="pt")
        vectors[batch] = model.embed(**inputs.to(model.device)).float().cpu()
    return vectors


def _encoder_digest(model: SgdBaselineModel, tokenizer: PreTrainedTokenizerBase) -> str:
    said: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    lasting = {name: part for name, part in said.items() if name not in ("truncation", "padding")}
    text = json.dumps([weights_digest(model.schema_encoder), lasting, _LONGEST])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _digest(pairs: list[Pair]) -> str:
    return hashlib.sha256(repr(pairs).encode()).hexdigest()


def _read(file: Path, service: Service) -> torch.Tensor | None:
    try:
        vectors = load_file(file)["embeddings"]
    except (OSError, SafetensorError, KeyError):  # absent or not whole: it is made anew
        return None
    return vectors if len(vectors) == len(service.pairs) else None


def _write(file: Path, vectors: torch.Tensor) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    staging = file.with_name(f".{file.name}.{os.getpid()}")
    save_file({"embeddings": vectors}, staging)
    staging.replace(file)
