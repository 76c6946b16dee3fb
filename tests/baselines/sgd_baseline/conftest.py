"""A tiny tracker, untrained, and a run of seconds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from datasets import Dataset, concatenate_datasets

from baselines.encoders import corpus_texts, tiny_encoder
from baselines.sgd_baseline.settings import Options, Settings
from baselines.sgd_baseline.system import SgdTracker
from sgdx_dataset import frames, load

from ..conftest import RECIPES, train_once


@pytest.fixture(scope="session")
def train_rows() -> Dataset:
    return frames(load("original", "train", "sample"))


@pytest.fixture(scope="session")
def test_rows() -> Dataset:
    """The first frames of the test split under three schemas, one after the other."""
    parts = [frames(load(config, "test", "sample")) for config in ("original", "v2", "v5")]
    return concatenate_datasets([part.select(range(60)) for part in parts])


@pytest.fixture(scope="session")
def tracker(train_rows: Dataset, tmp_path_factory: pytest.TempPathFactory) -> SgdTracker:
    texts = corpus_texts(train_rows.select_columns(["history", "utterance", "schema"]))
    model = tmp_path_factory.mktemp("model")
    for part in tiny_encoder(texts, hidden=64):
        part.save_pretrained(model)
    recipe = RECIPES["sgd_baseline"] | {"model": str(model)}
    tracker: SgdTracker = SgdTracker.start(msgspec.convert(recipe, Settings)).train(False)
    tracker.options = Options(batch_size=8, chunk_size=16)
    return tracker


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder."""
    return train_once(tmp_path_factory, "sgd_baseline")
