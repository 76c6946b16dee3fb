"""Training, resuming, predicting and their errors, as commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from baselines import evaluate, predict, publish, train
from baselines.data.frames import whole_dialogues
from baselines.model_card import published
from baselines.sgp_dst.card_example import example
from baselines.sgp_dst.settings import SgpSettings
from baselines.sgp_dst.submodels import PARTS
from baselines.training.settings import find_recipe, read_recipe
from sgdx_dataset import frames, load

from ...conftest import Run
from ..conftest import (
    LAUNCH,
    STATE,
    SUBMODEL,
    check_that_chunks_are_of_their_data,
    command,
    kill_at,
    state_of_the_cards_dialogue,
    write_recipe,
)


def test_a_run_leaves_four_sub_models_and_a_card(trained: Path) -> None:
    for name in PARTS:
        config = json.loads((trained / name / "config.json").read_text())
        assert config["sgdx"]["part"] == name
        assert set(config["auto_map"]) == {"AutoConfig", "AutoModel"}
        log = [json.loads(line) for line in (trained / name / "log.jsonl").read_text().splitlines()]
        assert log[-2]["step"] == 12
        assert log[-2]["loss"] > 0
        assert 0 <= log[-1]["dev_decision_f1"] <= 1
    card = (trained / "README.md").read_text()
    assert "expected: nothing" in card
    assert "best dev joint goal accuracy" in card
    assert json.loads((trained / "run.json").read_text())["oracle"] is False


def test_the_cards_example_runs(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(example(str(trained)), {})  # noqa: S102
    assert 0 <= float(capsys.readouterr().out.splitlines()[-1]) <= 1


def test_a_killed_part_goes_on_bit_for_bit(
    tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = write_recipe(
        tmp_path / "recipe.yaml", "sgp_dst", steps=8, model=str(trained / "initial")
    )
    arguments = ("--config", recipe, "--task", "copy", "--output")
    assert command(monkeypatch, train, *arguments, tmp_path / "whole") == 0
    whole = tmp_path / "whole" / "copy"
    with monkeypatch.context() as patch:
        kill_at(patch, 6)
        assert command(patch, train, *arguments, tmp_path / "killed") == 130
    killed = tmp_path / "killed" / "copy"
    assert [folder.name for folder in (killed / "checkpoints").iterdir()] == ["step-00000004"]
    assert command(monkeypatch, train, *arguments, tmp_path / "killed", "--resume") == 0
    one, other = (load_file(folder / "model.safetensors") for folder in (whole, killed))
    assert all(one[name].equal(other[name]) for name in one)


def test_chunks_of_changed_data_are_predicted_again(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_chunks_are_of_their_data(trained, tmp_path, monkeypatch)


def test_predictions_under_two_configs_are_scored(
    trained: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--model", trained, "--config", "original", "v3", "--dialogues", three)
    shards = ("--shard-size", 20, "--output", tmp_path)
    assert command(monkeypatch, evaluate, *arguments, *shards) == 0
    files = tmp_path / "predictions"
    assert sorted(path.name for path in files.iterdir()) == ["original.jsonl", "v3.jsonl"]
    metadata = json.loads((files / "v3.jsonl").open().readline())["metadata"]
    assert (metadata["oracle"], metadata["system"]["system_acts"]) == (False, True)
    words = {name: metadata["system"][name] for name in ("train", "augment", "overlaps")}
    assert words == {"train": ["original"], "augment": None, "overlaps": 0}
    assert "system-acts:yes" in json.loads((tmp_path / "scores.json").read_text())["signature"]


@pytest.mark.slow
def test_two_processes_train_one_sub_model(run: Run, tmp_path: Path, trained: Path) -> None:
    recipe = write_recipe(
        tmp_path / "recipe.yaml", "sgp_dst", steps=2, model=str(trained / "initial")
    )
    done = run(
        *LAUNCH, "baselines.train",
        "--config", recipe, "--task", "cross", "--output", "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run" / "cross" / "run.json").read_text())["record"]
    assert record["processes"] == 2


def test_dev_is_whole_dialogues() -> None:
    rows = frames(load("original", "validation", "sample"))
    some = whole_dialogues(rows, 50)
    ids = set(some["dialogue_id"])
    assert 25 <= len(some) <= 75
    assert some["frame_id"] == [r["frame_id"] for r in rows if r["dialogue_id"] in ids]
    assert whole_dialogues(rows, 10**6)["frame_id"] == rows["frame_id"]


def test_the_papers_recipe() -> None:
    paper = read_recipe(find_recipe("sgp_dst/paper"), SgpSettings)
    own = {name: getattr(paper.parts, name) for name in PARTS}
    assert [(p.epochs, p.warmup, p.max_tokens) for p in own.values()] == [
        (1, 0.1, 196), (3, 0.1, 144), (1, 0.7, 160), (1, 0.3, 160),
    ]  # fmt: skip
    assert (paper.learning_rate, paper.batch_size, paper.weight_decay) == (2e-5, 32, 0.01)


WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "a variant": ({"augment": {"schemas": "oracle"}}, (), "give --oracle"),
    "no epochs": (
        {"parts": {name: SUBMODEL | {"epochs": 0} for name in PARTS}}, (), "epochs|>= 1",
    ),
    "a part too few": ({"parts": {"intent": SUBMODEL}}, (), "missing required field"),
    "no model": ({"model": "/nowhere/bert"}, (), "/nowhere/bert: "),
    "no room": (
        {"parts": {name: SUBMODEL | {"max_tokens": 12} for name in PARTS}}, (), "max_tokens: 12 ",
    ),
    "nothing to resume": ({}, ("--resume",), "expected a run to resume"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, more, said = WRONG[name]
    recipe = write_recipe(tmp_path / "recipe.yaml", "sgp_dst", **settings)
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "o", *more) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert error.startswith("baselines.train: error: ")
    assert any(part in error for part in said.split("|"))


def test_another_runs_folder_and_a_missing_sub_model(
    tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    recipe = write_recipe(tmp_path / "recipe.yaml", "sgp_dst")
    assert command(monkeypatch, train, "--config", recipe, "--output", trained) == 2
    assert "holds another run's files" in capsys.readouterr().err
    shutil.copytree(trained, tmp_path / "copy", ignore=shutil.ignore_patterns("checkpoints"))
    shutil.rmtree(tmp_path / "copy" / "cross")
    arguments = ("--model", tmp_path / "copy", "--output", tmp_path / "out")
    assert command(monkeypatch, predict, *arguments) == 2
    assert "cross: no such folder or repository" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert command(monkeypatch, predict, "--model", "no/such", "--output", tmp_path / "out") == 2
    assert "no/such: no such folder or repository" in capsys.readouterr().err
    assert command(monkeypatch, publish, "--model", tmp_path) == 2
    assert "run.json" in capsys.readouterr().err


def test_what_is_published(trained: Path) -> None:
    """The four models and what tells of them; nothing of other folders, such as predictions."""
    (trained / "test").mkdir()
    (trained / "test" / "scores.json").write_text("{}")
    files = set(published(trained, PARTS))
    shutil.rmtree(trained / "test")
    own = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    logs = ("log.jsonl", "modeling.py", "run.json")
    in_parts = {f"{part}/{name}" for part in PARTS for name in (*own, *logs)}
    assert files == in_parts | {"README.md", "log.jsonl", "modeling.py", "run.json"}


def test_the_card_tracks_a_dialogue(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(state_of_the_cards_dialogue(trained, capsys)) == STATE
