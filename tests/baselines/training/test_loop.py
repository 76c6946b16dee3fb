"""The loop: what a kill leaves, what --resume makes of it, when it stops, and what it waits for."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from baselines import loop, tracker, train
from baselines.loop import learning_rate, operations_of_token
from baselines.processes import matrix_peak
from baselines.t5dst.settings import Settings as T5Settings

from ..conftest import command, write_recipe

DEV = "dev_joint_goal_accuracy"


def log(output: Path, key: str) -> dict[int, float]:
    lines = map(json.loads, (output / "log.jsonl").read_text().splitlines())
    return {line["step"]: line[key] for line in lines if key in line}


def weights(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


def train_until(number: signal.Signals, where: str, arguments: tuple[object, ...]) -> None:
    """Train; a signal comes in the midst of step 4, of which 3 was saved, or in an evaluation."""
    step, accuracy = loop.Training.step, tracker.joint_goal_accuracy

    def stepped(training: Any, batches: Any) -> None:
        step(training, batches)
        if training.progress.step == 5:
            os.kill(os.getpid(), number)

    def evaluated(*given: Any) -> float:
        os.kill(os.getpid(), number)
        return accuracy(*given)

    with pytest.MonkeyPatch.context() as patch:
        if where == "step":
            patch.setattr(loop.Training, "step", stepped)
        else:
            patch.setattr(tracker, "joint_goal_accuracy", evaluated)
        sys.exit(command(patch, train, *arguments))


@pytest.mark.posix
@pytest.mark.parametrize(
    ("number", "where", "status", "kept"),
    [
        (signal.SIGKILL, "step", -9, "step-00000003"),
        (signal.SIGTERM, "step", 143, "step-00000005"),  # the step that it came in is not lost
        (signal.SIGINT, "evaluation", 130, "step-00000006"),  # it is finished first
    ],
)
def test_kill_and_resume_end_in_the_weights_of_an_unbroken_run(
    number: signal.Signals, where: str, status: int, kept: str,
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """``trained`` is the unbroken run of the same recipe."""
    run = tmp_path / "run"
    arguments = ("--recipe", write_recipe(tmp_path / "recipe.yaml"), "--output", run)
    # A process that is begun anew takes longer than the training.
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    process = context.Process(target=train_until, args=(number, where, arguments))
    process.start()
    process.join(300)
    assert process.exitcode == status
    assert [folder.name for folder in (run / "checkpoints").glob("step-*")] == [kept]
    assert command(monkeypatch, train, *arguments, "--resume") == 0
    last = "checkpoints/step-00000012"
    assert weights(run / last) == weights(trained / last)
    assert weights(run) == weights(trained)
    assert log(run, "loss") == log(trained, "loss")
    assert log(run, DEV) == log(trained, DEV)


def test_a_checkpoint_is_safetensors_and_json(trained: Path) -> None:
    (last,) = (trained / "checkpoints").iterdir()
    assert {path.suffix for path in last.iterdir()} == {".safetensors", ".json"}


def test_the_step_does_not_wait_for_the_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No step reads a tensor's value, once the loader has begun."""
    reads: list[str] = []
    counts: list[int] = []
    inside = loop.Training.step

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

    monkeypatch.setattr(loop.Training, "step", step)
    recipe = write_recipe(tmp_path / "r.yaml", steps=3, evaluate_every=99)
    assert command(monkeypatch, train, "--recipe", recipe, "--output", tmp_path / "run") == 0
    assert counts == [counts[0]] * 3


def test_early_stop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = write_recipe(
        tmp_path / "r.yaml", learning_rate=0.0, evaluate_every=1, patience=2, log_every=1
    )
    arguments = ("--recipe", recipe, "--output", tmp_path / "run")
    for resume in ((), ("--resume",)):  # and stays stopped
        assert command(monkeypatch, train, *arguments, *resume) == 0
        assert list(log(tmp_path / "run", DEV)) == [1, 2, 3]


def test_rates() -> None:
    settings = T5Settings(
        tracker="t5dst", model="tiny", format="t5dst", max_input=8, max_target=8, steps=10,
        batch_size=1, token_budget=1, optimizer="adamw", learning_rate=1.0, schedule="linear",
        warmup=0.2, save_every=1, evaluate_every=1,
    )  # fmt: skip
    rates = [learning_rate(step, settings) for step in range(10)]
    assert rates == [0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    settings = msgspec.structs.replace(settings, schedule="cosine", steps=6, warmup=1 / 3)
    rates = [learning_rate(step, settings) for step in range(6)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, (2 + 2**0.5) / 4, 0.5, (2 - 2**0.5) / 4])


def test_operations_are_of_the_matrices_that_multiply() -> None:
    model = torch.nn.Sequential(
        torch.nn.Embedding(7, 3), torch.nn.Linear(3, 4), torch.nn.Linear(4, 5).requires_grad_(False)
    )
    assert operations_of_token(model) == 6 * 12 + 2 * 20
    assert matrix_peak(torch.device("meta"), "fp32") is None
    before = torch.get_rng_state()
    assert (matrix_peak(torch.device("cpu"), "fp32") or 0) > 1e7
    assert torch.equal(before, torch.get_rng_state())
