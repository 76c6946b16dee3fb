"""Derived copies of the sample corpus under two variants, for tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.copies import copy_system, generate
from sgdx_eval.requested import RequestedData


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with original.jsonl and v1.jsonl for each copy system, by its name."""
    folder = tmp_path_factory.mktemp("copies")
    data = RequestedData("sample", "test")
    for name in ("gold", "derived", "empty"):
        generate(copy_system(name), data, ["original", "v1"], folder / name)
    return folder
