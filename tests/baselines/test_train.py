"""The command that trains: what it prints and records, and what it refuses in one line."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from baselines import predict, train
from baselines.system import model_provenance
from baselines.training.task import Provenance
from sgdx_dataset import SgdxError

from ..conftest import Run
from .conftest import Recipe, Refuse, command, write_recipe

CORRUPT = ["corrupt-1", "corrupt-2", "corrupt-3"]


def test_a_finished_training_is_made_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a constant rate the longer run is that of all steps, bit for bit; the files say of it."""
    constant: dict[str, Any] = {
        "schedule": "constant",
        "warmup": 0.0,
        "evaluate_every": 2,
        "log_every": 2,
    }
    short = write_recipe(tmp_path / "short.yaml", steps=2, **constant)
    long = write_recipe(tmp_path / "long.yaml", steps=4, **constant)
    run, whole = tmp_path / "run", tmp_path / "whole"
    assert command(monkeypatch, train, "--config", short, "--output", run) == 0
    (run / "scores.json").write_text("those of the shorter training")
    assert command(monkeypatch, train, "--config", long, "--output", run, "--resume") == 0
    assert not (run / "scores.json").exists()
    assert command(monkeypatch, train, "--config", long, "--output", whole) == 0
    weights = Path("checkpoints/step-00000004/model.safetensors")
    assert (run / weights).read_bytes() == (whole / weights).read_bytes()
    record = json.loads((run / "run.json").read_text())["record"]
    assert (record["settings"]["steps"], record["extended"]) == (4, [2])
    assert "- steps before it was made longer: 2\n" in (run / "README.md").read_text()
    assert "extended" not in json.loads((whole / "run.json").read_text())["record"]


def test_a_seed_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", steps=1, evaluate_every=1)
    arguments = ("--config", recipe, "--output", tmp_path / "run", "--seed", 7)
    assert command(monkeypatch, train, *arguments) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())["record"]
    assert (record["settings"]["seed"], record["seen"]["seed"]) == (7, 7)


def test_the_guard(refuse: Refuse, recipe: Recipe, tmp_path: Path) -> None:
    """Training on what models are judged on needs --oracle, and leaves nothing behind without."""
    message = refuse(train, *recipe(augment={"schemas": "oracle"}))
    assert message.startswith("augment: oracle has texts of variants that trackers are judged on")
    assert "give --oracle" in message
    assert not (tmp_path / "run").exists()


def test_an_oracle_says_so_everywhere(
    monkeypatch: pytest.MonkeyPatch, recipe: Recipe, tmp_path: Path
) -> None:
    arguments = (*recipe(augment={"schemas": "oracle"}, steps=1), "--oracle")
    assert command(monkeypatch, train, *arguments) == 0
    run = tmp_path / "run"
    assert json.loads((run / "run.json").read_text())["oracle"] is True
    (last,) = (run / "checkpoints").iterdir()
    assert json.loads((last / "state.json").read_text())["training"]["progress"]["oracle"] is True
    for folder in (run, last):
        assert json.loads((folder / "config.json").read_text())["sgdx"]["oracle"] is True
    card = (run / "README.md").read_text()
    assert "- oracle\n" in card
    assert "**Oracle: an upper bound.**" in card
    arguments = ("--model", run, "--config", "v3", "--split", "validation", "--output", run / "p")
    assert command(monkeypatch, predict, *arguments) == 0
    header = (run / "p" / "v3.jsonl").read_text().splitlines()[0]
    assert json.loads(header)["metadata"]["oracle"] is True


def test_a_model_that_starts_from_an_oracle_is_one(
    monkeypatch: pytest.MonkeyPatch, refuse: Refuse, recipe: Recipe, tmp_path: Path
) -> None:
    """What the model that it starts from was trained on stands in all of its files too."""
    first = (*recipe(augment={"schemas": "oracle"}, steps=1), "--oracle")
    assert command(monkeypatch, train, *first) == 0
    oracle = (tmp_path / "run").rename(tmp_path / "oracle")
    second = recipe(model=str(oracle), steps=1, augment={"schemas": "corrupt"})
    message = refuse(train, *second)
    assert message.startswith(f"model: {oracle} was trained on texts of variants that trackers are")
    assert not (tmp_path / "run").exists()
    assert command(monkeypatch, train, *second, "--oracle") == 0
    start = json.loads((oracle / "config.json").read_text())["sgdx"]
    config = json.loads((tmp_path / "run" / "config.json").read_text())["sgdx"]
    assert start["overlaps"] > 100
    assert config["overlaps"] == start["overlaps"]
    assert config["train"] == ["original", "v1", "v2", "v3", "v4", "v5", *CORRUPT]
    assert (config["augment"]["schemas"], config["oracle"]) == ("corrupt", True)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["oracle"] is True
    arguments = ("--config", "v3", "--split", "validation", "--output", tmp_path / "predictions")
    assert command(monkeypatch, predict, "--model", tmp_path / "run", *arguments) == 0
    header = (tmp_path / "predictions" / "v3.jsonl").read_text().splitlines()[0]
    told = json.loads(header)["metadata"]
    assert told["oracle"] is True
    for name in ("train", "augment", "overlaps"):
        assert told["system"][name] == config[name]


def test_a_model_of_elsewhere_has_seen_nothing(tmp_path: Path) -> None:
    """And one of an earlier version, whose provenance has fewer fields, what it says."""
    assert model_provenance(str(tmp_path)) is None
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    assert model_provenance(str(tmp_path)) is None
    earlier = {"tracker": "sgp_dst", "part": "copy", "train": ["original", "v1"], "oracle": True}
    (tmp_path / "config.json").write_text(json.dumps({"sgdx": earlier}))
    assert model_provenance(str(tmp_path)) == Provenance(
        tracker="sgp_dst", train=("original", "v1"), oracle=True
    )
    (tmp_path / "config.json").write_text('{"sgdx": {"oracle": "no"}}')
    with pytest.raises(SgdxError, match=r"config.json: sgdx: Expected `bool`, got `str`.*oracle"):
        model_provenance(str(tmp_path))


@pytest.mark.parametrize(
    ("settings", "words", "named"),
    [
        ({}, ("--augment", "paraphrases"), "augment: paraphrases: "),
        ({}, ("--task", "copy"), "--task copy: "),
        ({}, ("--resume",), "run.json"),
        ({"model": "./no/such"}, (), "./no/such: "),
        ({"log_with": ["trackio"]}, (), "log_with: trackio "),
    ],
)
def test_what_cannot_be_trained(
    settings: dict[str, Any], words: tuple[str, ...], named: str, refuse: Refuse, recipe: Recipe,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if "log_with" in settings:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert named in refuse(train, *recipe(**settings), *words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("tracker", ["t7", "lexical"])
def test_who_cannot_be_trained(tracker: str, refuse: Refuse, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(f"tracker: {tracker}\n")
    arguments = ("--config", tmp_path / "r.yaml", "--output", tmp_path / "run")
    assert f"'{tracker}'" in refuse(train, *arguments)


def test_weights_in_a_pickle(refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path) -> None:
    shutil.copytree(trained, tmp_path / "model", ignore=shutil.ignore_patterns("checkpoints"))
    weights = tmp_path / "model" / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    assert "safetensors" in refuse(train, *recipe(model=str(tmp_path / "model")))


def test_another_run_s_folder(refuse: Refuse, recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    message = refuse(train, *recipe())
    assert message.startswith(f"{tmp_path / 'run'}: ")


def test_a_resume_with_other_settings(
    refuse: Refuse, recipe: Recipe, tmp_path: Path, trained: Path
) -> None:
    shutil.copytree(trained, tmp_path / "run")
    message = refuse(train, *recipe(seed=1), "--resume")
    assert "run.json: settings.seed is 0, " in message


def test_through_the_real_command(run: Run, tmp_path: Path) -> None:
    done = run("baselines.train", "--config", tmp_path / "none.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert str(tmp_path / "none.yaml") in done.stderr
