"""The rows that benchmarks of trackers read."""

from __future__ import annotations

from datasets import Dataset

from sgdx_dataset import frames, load

# Maximum numbers of tokens of SGP-DST's submodels, as in its recipe of the paper.
SGP_LIMITS = {"intent": 196, "combine": 144, "copy": 160, "cross": 160}


def evenly_spaced_test_rows(config: str, source: str, count: int) -> Dataset:
    """Frame rows of ``count`` evenly spaced dialogues of the test split, or of all if fewer."""
    dialogues = load(config, "test", source)
    count = min(count, len(dialogues))
    return frames(dialogues.select([len(dialogues) * i // count for i in range(count)]))
