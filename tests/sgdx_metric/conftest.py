"""The sample's gold states as predictions, for tests of the command line and of the Space."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from sgdx_metric.cli.references import write_references

from .frames import Row

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
KEYS = ["frame_id", "variant", "active_intent", "requested_slots", "slot_values", "slots"]


@pytest.fixture(scope="session")
def gold(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """Prediction rows by variant."""
    folder = tmp_path_factory.mktemp("frames")
    assert write_references("sample", "test", list(VARIANTS), folder) == 0
    return {v: pq.read_table(folder / f"{v}.parquet", columns=KEYS).to_pylist() for v in VARIANTS}
