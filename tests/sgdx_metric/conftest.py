"""The sample's gold states as predictions, for tests of the command line and of the Space."""

from __future__ import annotations

import pytest
from hypothesis import settings

from sgdx_eval.gold import open_gold

from .frames import Row

# How long an example takes depends on what else the machine does. An example has several frames, so
# that few of them are enough.
settings.register_profile("sgdx_metric", deadline=None, max_examples=25)
settings.load_profile("sgdx_metric")

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
KEYS = ["frame_id", "variant", "active_intent", "requested_slots", "slot_values", "slots"]


@pytest.fixture(scope="session")
def gold() -> dict[str, list[Row]]:
    """Prediction rows by variant."""
    references = open_gold("sample", "test", {})
    return {name: references.rows(name).select(KEYS).to_pylist() for name in VARIANTS}
