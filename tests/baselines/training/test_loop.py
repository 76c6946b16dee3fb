"""The loop through real processes: what a kill leaves, what --resume makes of it, who may train."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from baselines import train
from baselines.t5dst.settings import T5Settings
from baselines.training import loop, task
from baselines.training.optimizer import learning_rate

from ...conftest import ROOT
from ..conftest import command, write_recipe

DEV = "dev_joint_goal_accuracy"


def log(output: Path, key: str) -> dict[int, float]:
    lines = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return {line["step"]: line[key] for line in lines if key in line}


def weights(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_kill_and_resume_end_in_the_weights_of_an_unbroken_run(
    number: signal.Signals, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``trained`` is the unbroken run, of the same recipe, in another process."""
    recipe = write_recipe(tmp_path / "recipe.yaml")
    arguments = ("--config", recipe, "--output", tmp_path / "run")
    words = [sys.executable, "-m", "baselines.train", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=environment) as process:
        checkpoints = tmp_path / "run" / "checkpoints"
        wait_for(lambda: checkpoints.is_dir() and any(checkpoints.glob("step-*")), process)
        process.send_signal(number)
    kept = [folder.name for folder in checkpoints.glob("step-*")]
    assert kept
    assert kept != ["step-00000012"], "it was killed too late to test anything"
    if number == signal.SIGTERM:  # which a checkpoint of the step that it came in answers
        assert process.returncode == 143
        assert "step-00000003" < min(kept) < "step-00000006"
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert weights(checkpoints / "step-00000012") == weights(trained / "checkpoints/step-00000012")
    assert weights(tmp_path / "run") == weights(trained)
    assert list(log(tmp_path / "run", "loss")) == [3, 6, 9, 12]
    assert log(tmp_path / "run", DEV) == log(trained, DEV)


def test_a_stop_in_an_evaluation_loses_no_step(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    arguments = ("--config", write_recipe(tmp_path / "r.yaml"), "--output", tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(task, "joint_goal_accuracy", interrupt)
        assert command(patch, train, *arguments) == 130
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == [
        "step-00000006-unscored"
    ]
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    assert weights(tmp_path / "run") == weights(trained)
    assert log(tmp_path / "run", DEV) == log(trained, DEV)


def wait_for(condition: Any, process: subprocess.Popen[bytes]) -> None:
    for _ in range(1200):
        if condition():
            return
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    pytest.fail("nothing happened for a minute")


def test_a_checkpoint_is_safetensors_and_json(trained: Path) -> None:
    (last,) = (trained / "checkpoints").iterdir()
    kinds = {path.suffix for path in last.iterdir()}
    assert kinds == {".safetensors", ".json"}
    tensors = load_file(last / "optimizer.safetensors")
    assert tensors["shared.weight|exp_avg_sq_row"].dtype == torch.float32
    state = json.loads((last / "state.json").read_text())
    assert state["training"]["progress"]["step"] == 12
    assert state["optimizer"]["shared.weight"]["step"] == 12


@pytest.mark.slow
def test_loss_falls_on_the_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", steps=24, log_every=4, save_every=99, evaluate_every=99,
        accumulation=2, gradient_checkpointing=True, optimizer="adamw", schedule="linear",
        warmup=0.1, weight_decay=0.01, static_shapes=True,
        augment={"schemas": "backtrans", "ratio": 0.5},
    )  # fmt: skip
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 0
    losses = list(log(tmp_path / "run", "loss").values())
    assert len(losses) == 6
    assert losses[-1] < 0.75 * losses[0]


def test_the_step_does_not_wait_for_the_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No step reads a tensor's value, once the loader has begun."""
    reads: list[str] = []
    counts: list[int] = []
    inside = loop._step

    def noted(name: str, method: Any) -> Any:
        def call(*given: Any) -> Any:
            reads.append(name)
            return method(*given)

        return call

    def step(*arguments: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("item", "tolist", "__float__", "__bool__", "__int__", "cpu", "numpy"):
                patch.setattr(torch.Tensor, name, noted(name, getattr(torch.Tensor, name)))
            inside(*arguments)
        counts.append(len(reads))

    monkeypatch.setattr(loop, "_step", step)
    recipe = write_recipe(tmp_path / "r.yaml", steps=3, evaluate_every=99)
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 0
    assert counts == [counts[0]] * 3


def test_early_stop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", learning_rate=0.0, evaluate_every=1, patience=2, log_every=1
    )
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 0
    assert list(log(tmp_path / "run", "dev_joint_goal_accuracy")) == [1, 2, 3]
    arguments = ("--config", recipe, "--output", tmp_path / "run", "--resume")
    assert command(monkeypatch, train, *arguments) == 0  # and stays stopped
    assert list(log(tmp_path / "run", "dev_joint_goal_accuracy")) == [1, 2, 3]


def test_rates() -> None:
    settings = T5Settings(
        tracker="t5dst", model="tiny", format="t5dst", max_input=8, max_target=8, steps=10,
        batch_size=1, token_budget=1, optimizer="adamw", learning_rate=1.0, schedule="linear",
        warmup=0.2,
        save_every=1, evaluate_every=1,
    )  # fmt: skip
    rates = [learning_rate(step, settings) for step in range(10)]
    assert rates == [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
