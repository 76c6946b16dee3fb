"""A tiny tracker, untrained, and a recipe of seconds with the run that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelerate import Accelerator
from datasets import Dataset, concatenate_datasets

from baselines.encoders import corpus_texts, tiny_encoder
from baselines.settings import SgdOptions
from baselines.sgd_baseline.system import SgdProvenance, SgdTracker, new_model
from sgdx_dataset import frames, load

from ..conftest import train_once


@pytest.fixture(scope="session")
def train_rows() -> Dataset:
    return frames(load("original", "train", "sample"))


@pytest.fixture(scope="session")
def test_rows() -> Dataset:
    """The first frames of the test split under three schemas, one after the other."""
    parts = [frames(load(config, "test", "sample")) for config in ("original", "v2", "v5")]
    return concatenate_datasets([part.select(range(60)) for part in parts])


@pytest.fixture(scope="session")
def accelerator() -> Accelerator:
    return Accelerator(cpu=True)


@pytest.fixture(scope="session")
def tracker(
    train_rows: Dataset, accelerator: Accelerator, tmp_path_factory: pytest.TempPathFactory
) -> SgdTracker:
    texts = corpus_texts(train_rows.select_columns(["history", "utterance", "schema"]))
    encoder, tokenizer = tiny_encoder(texts, hidden=64)
    provenance = SgdProvenance(tracker="sgd_baseline", max_turn=64)
    model = new_model(encoder, provenance).train(False)
    cache = str(tmp_path_factory.mktemp("embeddings"))
    options = SgdOptions(batch_size=8, chunk_size=16, cache=cache)
    return SgdTracker(model, tokenizer, provenance, options, accelerator)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder."""
    return train_once(tmp_path_factory, "sgd_baseline")
