"""Derived copies of the sample corpus under two wordings, for tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from baselines.copies.systems import copy_system, generate
from sgsacc_metric.cli.references import open_references


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with original.jsonl and v1.jsonl for each copy system, by its name."""
    folder = tmp_path_factory.mktemp("copies")
    references = open_references("sample", None, "test", {})
    for name in ("gold", "derived", "empty"):
        generate(copy_system(name), references, ["original", "v1"], folder / name)
    return folder
