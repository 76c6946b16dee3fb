"""A tiny trained model and a recipe of seconds, shared by the tests of the trackers."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from baselines import train

# Here and in processes that tests start: sums of floats depend on how many threads share them.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

SETTINGS: dict[str, Any] = {
    "tracker": "t5dst",
    "model": "tiny",
    "format": "t5dst",
    "max_input": 160,
    "max_target": 6,
    "steps": 12,
    "batch_size": 8,
    "token_budget": 1024,
    "optimizer": "adafactor",
    "learning_rate": 0.01,
    "clip": 1.0,
    "precision": "fp32",
    "log_every": 4,
    "save_every": 3,
    "evaluate_every": 6,
    "evaluate_frames": 4,
}


# Two processes on CPUs, as a launcher starts them; on a free port, as other tests run beside.
LAUNCH = (
    "accelerate.commands.launch", "--multi_gpu", "--num_processes", 2, "--num_machines", 1,
    "--main_process_port", 0, "--mixed_precision", "no", "--dynamo_backend", "no", "-m",
)  # fmt: skip


def write_recipe(path: Path, **settings: Any) -> Path:
    """A recipe file: the settings above, changed."""
    path.write_bytes(msgspec.yaml.encode(SETTINGS | settings))
    return path


def command(monkeypatch: pytest.MonkeyPatch, module: Any, *arguments: object) -> int:
    """Run a command's ``main`` in this process."""
    monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
    status: int = module.main()
    return status


def train_once(factory: pytest.TempPathFactory, write: Callable[[Path], Path]) -> Path:
    """The folder of a run, trained in this process by the recipe that ``write`` makes."""
    folder = factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        arguments = ("--config", write(folder / "recipe.yaml"), "--output", folder / "run")
        assert command(patch, train, *arguments) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder."""
    return train_once(tmp_path_factory, write_recipe)


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
