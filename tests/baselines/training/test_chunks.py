"""Work in chunks, whose results are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tqdm import tqdm

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


def test_a_bar_is_there_before_the_first_chunk_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    def work(chunk: Any) -> list[int]:
        seen.append(capsys.readouterr().err)
        return chunk.tolist()  # type: ignore[no-any-return]

    monkeypatch.setattr("baselines.training.chunks.shows_no_bar", lambda accelerator: False)
    monkeypatch.setattr("baselines.training.chunks.tqdm", tqdm)  # tests turn the other one off
    run_chunks(make_accelerator(), [np.arange(50)], work, tmp_path / "many")
    assert "Predicting:   0%" in seen[0]
    capsys.readouterr()
    run_chunks(make_accelerator(), [np.arange(49)], work, tmp_path / "few")
    assert "Predicting" not in seen[1] + capsys.readouterr().err
