"""The command that trains: what it prints and records, and what it refuses in one line."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from baselines import predict, train
from baselines.precision import has_bf16

from .conftest import Recipe, Refuse, command, train_once, write_recipe


def test_a_finished_training_is_made_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a constant rate the longer run is that of all steps, bit for bit; the files say of it."""
    same: dict[str, Any] = {"evaluate_every": 2, "log_every": 2, "precision": "auto"}
    short = write_recipe(tmp_path / "short.yaml", steps=2, **same)
    long = write_recipe(tmp_path / "long.yaml", steps=4, **same)
    run, whole = tmp_path / "run", tmp_path / "whole"
    seed = ("--seed", 7)
    assert command(monkeypatch, train, "--recipe", short, "--output", run, *seed) == 0
    (run / "scores.json").write_text("those of the shorter training")
    assert command(monkeypatch, train, "--recipe", long, "--output", run, *seed, "--resume") == 0
    assert not (run / "scores.json").exists()
    assert command(monkeypatch, train, "--recipe", long, "--output", whole, *seed) == 0
    weights = Path("checkpoints/step-00000004/model.safetensors")
    assert (run / weights).read_bytes() == (whole / weights).read_bytes()
    record = json.loads((run / "run.json").read_text())["record"]
    assert (record["settings"]["steps"], record["extended"]) == (4, [2])
    assert (record["settings"]["seed"], record["seen"]["seed"]) == (7, 7)
    native = has_bf16(torch.device("cpu"))
    assert record["settings"]["precision"] == ("bf16" if native else "fp32")
    assert "- steps before it was made longer: 2\n" in (run / "README.md").read_text()
    assert "extended" not in json.loads((whole / "run.json").read_text())["record"]


def test_an_oracle_says_so_everywhere(
    monkeypatch: pytest.MonkeyPatch, recipe: Recipe, tmp_path: Path, three: Path
) -> None:
    run, output = tmp_path / "run", tmp_path / "predictions"
    given = (*recipe(steps=1, evaluate_frames=1), "--augment", "oracle")
    assert command(monkeypatch, train, *given) == 0
    assert json.loads((run / "run.json").read_text())["oracle"] is True
    for folder in (run, run / "checkpoints" / "step-00000001"):
        assert json.loads((folder / "config.json").read_text())["sgdx"]["oracle"] is True
    card = (run / "README.md").read_text()
    assert "- oracle\n" in card and "**Oracle: an upper bound.**" in card
    some = ("--variant", "v3", "--dialogues", three, "--output", output)
    assert command(monkeypatch, predict, "--model", run, *some) == 0
    header = json.loads((output / "v3.jsonl").read_text().splitlines()[0])["metadata"]
    assert (header["oracle"], header["system"]["augment"]["schemas"]) == (True, "oracle")


def test_what_cannot_be_trained(
    refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A logger that is not installed; weights that are a pickle."""
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        assert "log_with: trackio " in refuse(train, *recipe(log_with=["trackio"]))
    shutil.copytree(trained, tmp_path / "model", ignore=shutil.ignore_patterns("checkpoints"))
    weights = tmp_path / "model" / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    assert "safetensors" in refuse(train, *recipe(model=str(tmp_path / "model")))
    assert not (tmp_path / "run").exists()


def test_a_fault_of_a_recipe_is_told_before_torch_is_imported(
    refuse: Refuse, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "baselines.loop", None)
    assert "steps is 12" in refuse(train, *recipe(), "--set", "steps.most=1")


def test_changes_of_a_recipe_and_of_the_launcher_are_recorded(
    recipe: Recipe, refuse: Refuse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changes = ("--set", "steps=1", "--set", "augment.schemas=corrupt", "--set", "clip=null")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "fp16")
    assert refuse(train, *recipe(evaluate_frames=1), *changes).startswith("ACCELERATE_MIXED_")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    assert command(monkeypatch, train, *recipe(evaluate_frames=1), *changes) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())["record"]
    settings = record["settings"]
    assert (settings["steps"], settings["clip"]) == (1, None)
    assert settings["augment"]["schemas"] == "corrupt"
    assert record["launch"] == {"ACCELERATE_MIXED_PRECISION": "no"}


def test_folders_of_other_runs(
    refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    assert refuse(train, *recipe()).startswith(f"{tmp_path / 'run'}: ")
    (tmp_path / "run" / "run.json").write_text('{"evaluation": {}}')
    assert "found no training" in refuse(train, *recipe(), "--resume")
    shutil.copytree(trained, tmp_path / "run", dirs_exist_ok=True)
    assert "run.json: settings.seed is 0, " in refuse(train, *recipe(seed=1), "--resume")


def test_a_training_starts_from_the_mean_of_trackers(
    monkeypatch: pytest.MonkeyPatch, refuse: Refuse, tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    start, other = train_once(tmp_path_factory, "onepass"), tmp_path / "other"
    shutil.copytree(start, other, ignore=shutil.ignore_patterns("checkpoints"))
    weights = load_file(start / "model.safetensors")
    zeros = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
    save_file(zeros, other / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((other / "config.json").read_text())
    config["sgdx"]["train"] = ["original", "backtrans-ja"]
    (other / "config.json").write_text(json.dumps(config))
    still = {"learning_rate": 0, "steps": 1, "evaluate_frames": 1, "average": [str(other)]}
    recipe = write_recipe(tmp_path / "recipe.yaml", "onepass", **still, model=str(start))
    run = tmp_path / "run"
    assert command(monkeypatch, train, "--recipe", recipe, "--output", run) == 0
    mean = load_file(run / "model.safetensors")
    assert mean.keys() == weights.keys()
    assert all(torch.equal(mean[name], tensor / 2) for name, tensor in weights.items())
    seen = json.loads((run / "run.json").read_text())["record"]["seen"]
    assert seen["train"] == ["original", "backtrans-ja"]
    file = other / "tokenizer.json"
    file.write_text(file.read_text().replace('"the":', '"thexe":'))
    message = refuse(train, "--recipe", recipe, "--output", tmp_path / "words")
    assert message.startswith(f"average: {other}: has other words ")
    tiny = write_recipe(tmp_path / "tiny.yaml", "onepass", **still)
    refuse(train, "--recipe", tiny, "--output", tmp_path / "tiny")


def test_a_second_corpus_is_judged_on_too(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    also = {"source": "many", "share": 0.1, "variants": ["original"]}
    assert command(monkeypatch, train, *recipe(also=also, steps=1, evaluate_frames=1)) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())["record"]
    assert record["seen"]["also"] == also
    assert record["data"]["dev"]["frames"] == 2
