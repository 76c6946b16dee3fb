"""Recipes of seconds for a generator, and runs trained by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import train_once

PREFIX = {"prefix": 3, "prefix_hidden": 16}
KINDS = {"fine-tuned": {}, "prefix-tuned": PREFIX}


@pytest.fixture(scope="session")
def fine_tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that trained a whole model."""
    return train_once(tmp_path_factory, "t2g2")


@pytest.fixture(scope="session")
def prefix_tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that trained a prefix."""
    return train_once(tmp_path_factory, "t2g2", **PREFIX)


@pytest.fixture
def unbroken(kind: str, request: pytest.FixtureRequest) -> Path:
    """The run of the test's ``kind``, a name of ``KINDS``."""
    run: Path = request.getfixturevalue(kind.replace("-", "_"))
    return run
