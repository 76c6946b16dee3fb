"""Recipes of seconds for a generator, and runs trained by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ..conftest import train_once

SETTINGS: dict[str, Any] = {
    "tracker": "t2g2",
    "model": "tiny",
    "input": "derived",
    "max_input": 64,
    "max_target": 8,
    "steps": 4,
    "batch_size": 8,
    "token_budget": 512,
    "optimizer": "adamw",
    "learning_rate": 0.01,
    "clip": 1.0,
    "precision": "fp32",
    "beams": 2,
    "log_every": 1,
    "save_every": 2,
    "evaluate_every": 4,
    "evaluate_frames": 4,
    "train_dialogues": 8,
}
PREFIX = {"prefix": 3, "prefix_hidden": 16}
KINDS = {"fine-tuned": {}, "prefix-tuned": PREFIX}


def write_recipe(path: Path, **settings: Any) -> Path:
    """A recipe file: the settings above, changed."""
    path.write_bytes(msgspec.yaml.encode(SETTINGS | settings))
    return path


@pytest.fixture(scope="session")
def fine_tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that trained a whole model."""
    return train_once(tmp_path_factory, write_recipe)


@pytest.fixture(scope="session")
def prefix_tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that trained a prefix."""
    return train_once(tmp_path_factory, lambda path: write_recipe(path, **PREFIX))


@pytest.fixture
def unbroken(kind: str, request: pytest.FixtureRequest) -> Path:
    """The run of the test's ``kind``, a name of ``KINDS``."""
    run: Path = request.getfixturevalue(kind.replace("-", "_"))
    return run
