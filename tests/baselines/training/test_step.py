"""One step: shares of processes, weights of batches, and the end of a training that diverges."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from baselines import train
from baselines.t5dst.settings import T5Settings
from baselines.training import loop
from baselines.training.accelerator import make_accelerator
from baselines.training.averaging import AveragedWeights
from baselines.training.batching import share
from baselines.training.settings import read_recipe
from baselines.training.task import Task
from sgdx_dataset import SgdxError

from ..conftest import command, write_recipe


class Line(nn.Module):
    """A line through numbers [examples]; the loss is a mean over the examples of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.5]))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(loss=(self.slope * x - y).square().mean())


def unused(*arguments: object) -> Any:
    """What a task has and a step does not call."""
    raise AssertionError(arguments)


def slope_after_one_step(tmp_path: Path, batches: list[dict[str, torch.Tensor]]) -> float:
    recipe = write_recipe(
        tmp_path / "r.yaml", accumulation=len(batches), learning_rate=0.1, clip=None
    )
    settings = read_recipe(recipe, T5Settings)
    accelerator = make_accelerator(gradient_accumulation_steps=len(batches))
    line = Line()
    model, optimizer = accelerator.prepare(line, torch.optim.SGD(line.parameters(), lr=0.1))
    taken = iter([(batch, 1) for batch in batches])
    average, meter = AveragedWeights(line, None), loop.Meter(accelerator)
    task = Task(model, settings, np.zeros(0, np.int64), unused, unused, unused)
    training = loop._Training(
        accelerator, task, model, optimizer, average, loop.Progress(step=5), meter, tmp_path
    )
    loop._step(training, taken)
    return float(line.slope.detach())


def test_unequal_batches_make_the_step_of_one_big_batch(tmp_path: Path) -> None:
    x, y = torch.tensor([1.0, 2.0, 4.0, 3.0]), torch.tensor([2.0, 1.0, 3.0, 5.0])
    whole = slope_after_one_step(tmp_path, [{"x": x, "y": y}])
    # the gradient is the mean of 2 x (0.5 x - y): -3, 0, -8, -21, so -8
    assert whole == pytest.approx(0.5 + 0.1 * 8.0)
    parts: list[dict[str, Any]] = [{"x": x[:3], "y": y[:3]}, {"x": x[3:], "y": y[3:]}]
    weighted = [part | {"weight": torch.tensor(float(len(part["x"])))} for part in parts]
    assert slope_after_one_step(tmp_path, weighted) == pytest.approx(whole)
    # without weights each batch counts the same: (-11 / 3 - 21) / 2
    assert slope_after_one_step(tmp_path, parts) == pytest.approx(0.5 + 0.1 * 37 / 3)


def test_each_process_takes_its_share_of_a_step() -> None:
    assert share(32, 1, 1) == 32
    assert share(32, 2, 4) == 4
    with pytest.raises(SgdxError, match="^batch_size: 32 "):
        share(32, 2, 3)


@pytest.mark.parametrize("fault", ["weights", "loss"])
def test_a_diverged_training_ends_in_a_line_and_without_a_model(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a loss that is no number at a logged step, and with weights that a step has ruined."""
    recipe = write_recipe(
        tmp_path / "r.yaml", learning_rate=1e30, optimizer="adamw", steps=4,
        log_every=2 if fault == "loss" else 4, save_every=4 if fault == "loss" else 2,
    )  # fmt: skip
    assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ("loss" in error) == (fault == "loss")
    assert not list((tmp_path / "run").rglob("README.md"))
    assert not list((tmp_path / "run" / "checkpoints").glob("*"))
