"""Batches in a folder: the training is the same, and what they were not made of is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from baselines import train
from baselines.run_folder import read_log

from ..conftest import Refuse, command, kill_at, train_once, write_recipe

NOISE: dict[str, Any] = {"acts": "sometimes", "drop_descriptions": 0.3, "drop_carried": 0.5}


def test_batches_are_made_once_and_a_killed_training_goes_on_with_them(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    refuse: Refuse,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = train_once(tmp_path_factory, "onepass", **NOISE)
    folder = tmp_path / "encoded"

    def arguments(output: str, **changes: Any) -> tuple[object, ...]:
        recipe = write_recipe(
            tmp_path / "recipe.yaml", "onepass", **(NOISE | {"encoded": str(folder)} | changes)
        )
        return "--recipe", recipe, "--output", tmp_path / output

    with monkeypatch.context() as patch:
        kill_at(patch, 6)
        assert command(patch, train, *arguments("run")) != 0
    assert len(list(folder.glob("*.safetensors"))) == 6
    assert command(monkeypatch, train, *arguments("run"), "--resume") == 0
    weights, expected = (load_file(run / "model.safetensors") for run in (tmp_path / "run", whole))
    assert all(weights[name].equal(expected[name]) for name in expected)
    losses = [[line.get("loss") for line in read_log(run)] for run in (tmp_path / "run", whole)]
    assert losses[0] == losses[1]
    assert str(tmp_path) not in (tmp_path / "run" / "run.json").read_text()
    # Another training, with another rate: from the same files.
    batches = {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}
    assert len(batches) == 12
    assert command(monkeypatch, train, *arguments("second", learning_rate=1e-4, steps=3)) == 0
    assert batches == {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}

    capsys.readouterr()
    for change, name, found, wanted in (
        ({"seed": 1}, "seed", "0", "1"),
        ({"acts": True}, "acts", "'sometimes'", "True"),
        ({"train_dialogues": 3}, "data", "", ""),
    ):
        line = refuse(train, *arguments("other", **change))
        assert all(part in line for part in (str(folder / "index.json"), name, found, wanted))
        shutil.rmtree(tmp_path / "other", ignore_errors=True)
    for path in batches:
        path.write_bytes(path.read_bytes()[:100])
    assert str(folder) in refuse(train, *arguments("other"))
    shutil.rmtree(tmp_path / "other")
    (folder / "index.json").write_text('{"lengths": "many"}')
    assert str(folder / "index.json") in refuse(train, *arguments("other"))
