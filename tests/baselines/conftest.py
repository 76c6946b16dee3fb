"""Recipes of seconds and a model trained by one, shared by the tests of the trackers."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from baselines import predict, train
from baselines.training import chunks, loop
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.release.open import SAMPLE

# Here and in processes that tests start: sums of floats depend on how many threads share them.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

# What the recipes of all trackers have here, and what each has besides: trainings of seconds.
_RECIPE: dict[str, Any] = {
    "model": "tiny",
    "steps": 12,
    "batch_size": 8,
    "token_budget": 1024,
    "optimizer": "adamw",
    "learning_rate": 0.001,
    "clip": 1.0,
    "precision": "fp32",
    "log_every": 4,
    "save_every": 4,
    "evaluate_every": 12,
    "evaluate_frames": 20,
}
SUBMODEL = {"epochs": 2, "warmup": 0.1, "max_tokens": 144, "negatives": 1.0}
_CHANGES: dict[str, dict[str, Any]] = {
    "t5dst": {
        "format": "t5dst",
        "max_input": 160,
        "max_target": 6,
        "optimizer": "adafactor",
        "learning_rate": 0.01,
        "save_every": 3,
        "evaluate_every": 6,
        "evaluate_frames": 4,
    },
    "sgd_baseline": {
        "max_turn": 64,
        "epochs": 1,
        "steps": 8,
        "batch_size": 16,
        "save_every": 2,
        "evaluate_every": 4,
        "evaluate_frames": 12,
    },
    "sgp_dst": {
        "parts": dict.fromkeys(("intent", "combine", "copy", "cross"), SUBMODEL),
        "expected": "nothing",
    },
    "onepass": {"epochs": 1, "token_budget": 4096, "expected": "nothing"},
    "t2g2": {
        "input": "derived",
        "max_input": 64,
        "max_target": 8,
        "beams": 2,
        "steps": 4,
        "token_budget": 512,
        "learning_rate": 0.01,
        "log_every": 1,
        "save_every": 2,
        "evaluate_every": 4,
        "evaluate_frames": 4,
        "train_dialogues": 8,
    },
}
RECIPES = {name: {"tracker": name} | _RECIPE | own for name, own in _CHANGES.items()}

# Two processes on CPUs, as a launcher starts them; on a free port, as other tests run beside.
LAUNCH = (
    "accelerate.commands.launch", "--multi_gpu", "--num_processes", 2, "--num_machines", 1,
    "--main_process_port", 0, "--mixed_precision", "no", "--dynamo_backend", "no", "-m",
)  # fmt: skip


def write_recipe(path: Path, tracker: str = "t5dst", **changes: Any) -> Path:
    """Write a recipe of seconds for a tracker, one of ``RECIPES`` with the given changes."""
    path.write_bytes(msgspec.yaml.encode(RECIPES[tracker] | changes))
    return path


def command(monkeypatch: pytest.MonkeyPatch, module: Any, *arguments: object) -> int:
    """Run a command's ``main`` in this process."""
    monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
    status: int = module.main()
    return status


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Interrupt trainings before their step of this number, counted from 0."""
    step = loop._step

    def killed(training: Any, batches: Any) -> None:
        if training.progress.step == number:
            raise KeyboardInterrupt
        step(training, batches)

    monkeypatch.setattr(loop, "_step", killed)


def stopped_prediction(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Stop a prediction after its first chunk, which then gets an intent put in by hand.

    Args:
        model: The model that predicts.
        folder: A new folder for a copy of the sample corpus and for the predictions, ``out``.
        monkeypatch: Restores what is changed to stop it.

    Returns:
        The arguments of the prediction but for the value of ``--output``.
    """
    shutil.copytree(SAMPLE, folder / "source")
    (folder / "two.txt").write_text("1_00000\n2_00000\n")
    arguments: list[object] = [
        *("--model", model, "--source", folder / "source", "--dialogues", folder / "two.txt"),
        *("--config", "original", "--chunk-size", 1, "--output"),
    ]

    def write_first(path: Path, content: bytes) -> None:
        if path.name != "000000.json":
            raise KeyboardInterrupt
        write_bytes(path, re.sub(rb'("active_intent":")[^"]*', rb"\1Xanadu", content))

    with monkeypatch.context() as patch:
        patch.setattr(chunks, "write_bytes", write_first)
        assert command(patch, predict, *arguments, folder / "out") == 130
    return arguments


def change_the_data(source: Path) -> None:
    """Let all users and systems of the test split say something else."""
    for file in (source / "test").glob("dialogues_*.json"):
        dialogues = json.loads(file.read_text())
        for turn in (turn for dialogue in dialogues for turn in dialogue["turns"]):
            turn["utterance"] = "Hello."
            for frame in turn["frames"]:
                frame["slots"] = []
        file.write_text(json.dumps(dialogues))


def check_that_chunks_are_of_their_data(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped prediction goes on from its chunk, but not where the data have changed since."""
    arguments = stopped_prediction(model, folder / "same", monkeypatch)
    assert command(monkeypatch, predict, *arguments, folder / "same" / "out") == 0
    assert "Xanadu" in (folder / "same" / "out" / "original.jsonl").read_text()
    arguments = stopped_prediction(model, folder / "changed", monkeypatch)
    change_the_data(folder / "changed" / "source")
    for output in (folder / "changed" / "out", folder / "new"):
        assert command(monkeypatch, predict, *arguments, output) == 0
    predictions = (folder / "changed" / "out" / "original.jsonl").read_bytes()
    assert predictions == (folder / "new" / "original.jsonl").read_bytes()
    assert b"Xanadu" not in predictions


def train_once(factory: pytest.TempPathFactory, tracker: str, **changes: Any) -> Path:
    """The folder of a run, trained in this process by a recipe of ``write_recipe``."""
    folder = factory.mktemp("trained")
    recipe = write_recipe(folder / "recipe.yaml", tracker, **changes)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, train, "--config", recipe, "--output", folder / "run") == 0
    return folder / "run"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of T5DST."""
    return train_once(tmp_path_factory, "t5dst")


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of three dialogues, two of which are of several services."""
    path = tmp_path_factory.mktemp("dialogues") / "three.json"
    path.write_bytes(msgspec.json.encode(["1_00000", "2_00000", "2_00001"]))
    return path


def slot(name: str, description: str, *values: str) -> dict[str, Any]:
    """A slot of a schema; it is categorical if it has values."""
    return {
        "name": name,
        "description": description,
        "is_categorical": bool(values),
        "possible_values": [*values],
    }


def intent(name: str, description: str, required: list[str], optional: list[str]) -> dict[str, Any]:
    """An intent of a schema."""
    return {
        "name": name,
        "description": description,
        "is_transactional": False,
        "required_slots": required,
        "optional_slots": [{"slot": other, "value": ""} for other in optional],
        "result_slots": [],
    }


STATE = {"active_intent", "requested_slots", "slot_values"}


def state_of_the_cards_dialogue(run: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the first example of a run's card prints: the state at a dialogue's end."""
    card = (run / "README.md").read_text()
    assert "2147483647" not in card
    assert "license: apache-2.0\n" in card
    capsys.readouterr()
    exec(re.findall(r"```python\n(.*?)```", card, re.DOTALL)[0], {})  # noqa: S102
    state: dict[str, Any] = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    return state


Refuse = Callable[..., str]  # a command's module and arguments to its one line of error
Recipe = Callable[..., tuple[object, ...]]  # changed settings to arguments of train


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What a command has printed as its error: one line."""
    message: str = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Run a command that must fail; its one line."""

    def run_it(module: Any, *arguments: object) -> str:
        assert command(monkeypatch, module, *arguments) == 2
        message = error_line(capsys)
        prefix = f"{module.__name__}: error: "
        assert message.startswith(prefix)
        return message.removeprefix(prefix)

    return run_it


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """Arguments of train with a recipe of T5DST that differs from the working one."""

    def arguments(**settings: Any) -> tuple[object, ...]:
        path = write_recipe(tmp_path / "recipe.yaml", **settings)
        return ("--config", path, "--output", tmp_path / "run")

    return arguments
