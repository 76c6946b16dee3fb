"""One step: its batches, optimizers against their formulas, the mean of weights, the precision."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from baselines import loop, predict, train
from baselines.loop import average_of, make_optimizer
from baselines.precision import has_bf16, resolved
from baselines.processes import make_accelerator
from baselines.recipes import read_recipe
from baselines.settings import TrainingSettings

from ..conftest import command, write_recipe


class Line(nn.Module):
    """A line through numbers [examples]; the loss is a mean over the examples of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.5]))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(loss=(self.slope * x - y).square().mean())


def slope_after_one_step(
    tmp_path: Path, batches: list[dict[str, torch.Tensor]], step: int = 5
) -> float:
    recipe = write_recipe(
        tmp_path / "r.yaml", accumulation=len(batches), learning_rate=0.1, clip=None
    )
    settings = read_recipe(recipe)
    accelerator = make_accelerator(gradient_accumulation_steps=len(batches))
    line: Any = Line()
    line.planned = lambda *_: settings
    examples: Any = SimpleNamespace(lengths=np.array([1]))
    dev: Any = None
    training = loop.Training(accelerator, line, examples, dev, tmp_path)
    training.optimizer = accelerator.prepare(torch.optim.SGD(line.parameters(), lr=0.1))
    training.progress.step = step
    training.step(iter([(batch, 1) for batch in batches]))
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


def test_each_batch_of_each_step_has_random_numbers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(loop, "set_seed", seeds.append)
    batch = {"x": torch.ones(1), "y": torch.ones(1)}
    for step in (5, 6, 5):
        slope_after_one_step(tmp_path, [dict(batch), dict(batch)], step)
    assert len({*seeds}) == 4
    assert seeds[:2] == seeds[4:]


@pytest.mark.parametrize("fault", ["weights", "loss"])
def test_a_diverged_training_ends_in_a_line_and_without_a_model(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a loss that is no number at a logged step, and with weights that a step has ruined."""
    recipe = write_recipe(
        tmp_path / "r.yaml", learning_rate=1e30, optimizer="adamw", steps=4,
        log_every=2 if fault == "loss" else 4, save_every=4 if fault == "loss" else 2,
    )  # fmt: skip
    assert command(monkeypatch, train, "--recipe", recipe, "--output", tmp_path / "run") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ("loss" in error) == (fault == "loss")
    assert not list((tmp_path / "run").rglob("README.md"))
    assert not list((tmp_path / "run" / "checkpoints").glob("*"))


def settings(**given: Any) -> TrainingSettings:
    needed = {
        "tracker": "t5dst", "model": "tiny", "steps": 9, "batch_size": 1, "token_budget": 1,
        "learning_rate": 0.1, "save_every": 1, "evaluate_every": 1,
    }  # fmt: skip
    return TrainingSettings(**{**needed, **given})


@pytest.mark.parametrize(("scaled", "moved"), [(False, 0.1), (True, 0.1 * 4.0)])
def test_adafactor_s_rate_is_absolute_or_relative_to_the_matrix(scaled: bool, moved: float) -> None:
    """The first step moves each weight by the rate, or by the rate times the matrix's RMS of 4."""
    layer = nn.Linear(3, 2, bias=False)
    nn.init.constant_(layer.weight, 4.0)
    recipe = settings(optimizer="adafactor", multiply_by_parameter_scale=scaled)
    optimizer = make_optimizer(layer, recipe, torch.device("cpu"))
    layer.weight.grad = torch.ones(2, 3)
    optimizer.step()
    torch.testing.assert_close(layer.weight, torch.full((2, 3), 4.0 - moved))


def test_the_mean_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    weight = model.weight
    weight.data.fill_(4.0)
    average = average_of(model, 0.5)
    mean: Any = average.module.weight
    means = []
    for value in (8.0, 0.0, 1.0):
        weight.data.fill_(value)
        average.update_parameters(model)
        means.append(mean.item())
    first = 4.0 * 2 / 11 + 8.0 * 9 / 11  # the past counts (1 + step) / (10 + step), 0.5 at most
    second = first * 3 / 12
    assert means == pytest.approx([first, second, second * 4 / 13 + 1.0 * 9 / 13])
    for _ in range(4, 40):
        average.update_parameters(model)
    weight.data.fill_(3.0)
    average.update_parameters(model)
    assert mean.item() == pytest.approx(2.0)
    assert weight.item() == 3.0


def test_auto_is_what_the_device_has_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities: dict[str, bool] = {"avx512_bf16": True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    cpu = torch.device("cpu")
    assert has_bf16(cpu) and resolved("auto", cpu) == "bf16"
    capabilities["avx512_bf16"] = False
    assert not has_bf16(cpu)
    assert [resolved(of, cpu) for of in ("auto", "bf16", "fp32")] == ["fp32", "bf16", "fp32"]
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # as with torch 2.4
    assert resolved("auto", cpu) == "fp32"


def test_training_evaluation_and_prediction_share_one_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")  # as accelerate launch sets it
    monkeypatch.setattr("baselines.precision.has_bf16", lambda _: True)
    found: set[torch.dtype] = set()  # the formats of what the linear layers return
    least: set[float] = set()  # a number below the smallest normal one, as it counts in training

    def note(module: nn.Module, _: Any, result: Any) -> None:
        if isinstance(module, nn.Linear):
            found.add(result.dtype)
            least.add((torch.tensor([2.0**-130]) * 1).item())

    recipe = write_recipe(tmp_path / "r.yaml", steps=1, precision="bf16", evaluate_frames=2)
    (tmp_path / "one.txt").write_text("1_00000\n")
    one = ("--variant", "v1", "--dialogues", tmp_path / "one.txt")
    some = ("--model", tmp_path / "run", *one, "--output", tmp_path)
    with register_module_forward_hook(note):
        assert command(monkeypatch, train, "--recipe", recipe, "--output", tmp_path / "run") == 0
        assert found == {torch.bfloat16} and least == {0.0}
        found.clear()
        assert (torch.tensor([2.0**-130]) * 1).item() > 0
        assert command(monkeypatch, predict, *some) == 0
        assert found == {torch.bfloat16}
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["record"]["settings"]["precision"] == "bf16"
    header = json.loads((tmp_path / "v1.jsonl").read_text().splitlines()[0])
    assert header["metadata"]["system"]["precision"] == "bf16"
    capsys.readouterr()
    # Where bf16 is only emulated, predictions are in fp32 unless it is asked for.
    monkeypatch.setattr("baselines.precision.has_bf16", lambda _: False)
    assert command(monkeypatch, predict, *some) == 0
    assert "as the precision of v1" in capsys.readouterr().err
    header = json.loads((tmp_path / "v1.jsonl").read_text().splitlines()[0])
    assert header["metadata"]["system"]["precision"] == "fp32"
