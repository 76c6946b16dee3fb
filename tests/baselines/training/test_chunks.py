"""Work in chunks, whose results are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from baselines.training.accelerator import make_accelerator
from baselines.training.chunks import run_chunks


def test_chunks_that_are_there_are_not_worked_on(tmp_path: Path) -> None:
    worked: list[list[int]] = []

    def work(chunk: Any) -> list[int]:
        worked.append(chunk.tolist())
        return [10 * index for index in chunk.tolist()]

    chunks = [np.array([2, 0]), np.array([1])]
    accelerator = make_accelerator()
    assert run_chunks(accelerator, chunks, work, tmp_path) == [0, 10, 20]
    (tmp_path / "000001.json").unlink()
    assert run_chunks(accelerator, chunks, work, tmp_path) == [0, 10, 20]
    assert worked == [[2, 0], [1], [1]]
