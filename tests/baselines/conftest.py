"""Recipes of seconds and a model trained by one, shared by the tests of the trackers."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import torch
from filelock import FileLock

from baselines import loop, train
from baselines.processes import quiet_transformers
from sgdx_cli import main

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
    "log_every": 3,  # a line is of steps before and after a checkpoint
    "save_every": 4,
    "evaluate_every": 12,
    "evaluate_frames": 20,
}
SUBMODEL = {"epochs": 2, "warmup": 0.1, "max_tokens": 144, "negatives": 1.0}
_CHANGES: dict[str, dict[str, Any]] = {
    "t5dst": {
        "format": "t5dst", "max_input": 160, "max_target": 6, "optimizer": "adafactor",
        "learning_rate": 0.01, "save_every": 3, "evaluate_every": 6, "evaluate_frames": 4,
    },
    "sgd_baseline": {
        "max_turn": 64, "epochs": 1, "steps": 8, "batch_size": 16,
        "save_every": 2, "evaluate_every": 4, "evaluate_frames": 12,
    },
    "sgp_dst": {
        "parts": dict.fromkeys(("intent", "combine", "copy", "cross"), SUBMODEL),
        "expected": "nothing",
    },
    "onepass": {"epochs": 1, "token_budget": 4096, "expected": "nothing"},
    "t2g2": {
        "input": "derived", "max_input": 64, "max_target": 8, "beams": 2, "steps": 4,
        "token_budget": 512, "learning_rate": 0.01, "log_every": 1, "save_every": 2,
        "evaluate_every": 4, "evaluate_frames": 4, "train_dialogues": 8,
    },
}  # fmt: skip
RECIPES = {name: {"tracker": name} | _RECIPE | own for name, own in _CHANGES.items()}

# Two processes on CPUs, as a launcher starts them; on a free port, as other tests run beside.
LAUNCH = (
    "accelerate.commands.launch", "--multi_gpu", "--num_processes", 2, "--num_machines", 1,
    "--main_process_port", 0, "--mixed_precision", "no", "--dynamo_backend", "no", "-m",
)  # fmt: skip


def write_recipe(path: Path, tracker: str = "t5dst", /, **changes: Any) -> Path:
    """Write a recipe of seconds for a tracker, one of ``RECIPES`` with the given changes."""
    path.write_bytes(msgspec.yaml.encode(RECIPES[tracker] | changes))
    return path


def command(monkeypatch: pytest.MonkeyPatch, module: ModuleType, *arguments: object) -> int:
    """Run the command of a module's name, in this process."""
    name = module.__name__.rpartition(".")[2]
    words = [*(["responses"] if name == "rerank" else []), name, *map(str, arguments)]
    monkeypatch.setattr(sys, "argv", ["sgdx", *words])
    return main(words)


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Interrupt trainings before their step of this number, counted from 0."""
    step = loop.Training.step

    def killed(training: Any, batches: Any) -> None:
        if training.progress.step == number:
            raise KeyboardInterrupt
        step(training, batches)

    monkeypatch.setattr(loop.Training, "step", killed)


def train_once(factory: pytest.TempPathFactory, tracker: str, **changes: Any) -> Path:
    """The folder of a run by a recipe of ``write_recipe``, which all tests share and none changes.

    Also those in other processes of pytest, of which one trains while the others wait.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"run-{tracker}-{zlib.crc32(repr(changes).encode())}"
    with FileLock(f"{folder}.lock"):
        if not (folder / "run" / "README.md").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            recipe = write_recipe(folder / "recipe.yaml", tracker, **changes)
            with pytest.MonkeyPatch.context() as patch:
                assert command(patch, train, "--recipe", recipe, "--output", folder / "run") == 0
    return folder / "run"


@pytest.fixture(scope="module", autouse=True)
def few_objects_to_look_at() -> None:
    """Each training ends with a collection of garbage, which all that is imported slows down."""
    gc.freeze()
    quiet_transformers()  # whose bars, where tests save models, would be counted as lines


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of T5DST."""
    return train_once(tmp_path_factory, "t5dst")


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
        prefix = "sgdx: error: "
        assert message.startswith(prefix)
        return message.removeprefix(prefix)

    return run_it


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """Arguments of train with a recipe of T5DST that differs from the working one."""

    def arguments(**settings: Any) -> tuple[object, ...]:
        path = write_recipe(tmp_path / "recipe.yaml", **settings)
        return ("--recipe", path, "--output", tmp_path / "run")

    return arguments
