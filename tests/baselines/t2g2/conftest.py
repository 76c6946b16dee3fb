"""A run of a generator, trained by a recipe of seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import train_once


@pytest.fixture(scope="session")
def fine_tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    return train_once(tmp_path_factory, "t2g2")
