"""The running mean of the weights: its values, its place in a training, its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from baselines import train
from baselines.training.averaging import AveragedWeights
from sgdx_dataset import SgdxError

from ..conftest import command, write_recipe
from . import broken_off


def test_the_mean_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    weight = model.weight
    weight.data.fill_(4.0)
    average = AveragedWeights(model, 0.5)
    means = []
    for step, value in enumerate((8.0, 0.0, 1.0), 1):
        weight.data.fill_(value)
        average.update(step)
        means.append(average.means["weight"].item())
    first = 4.0 * 2 / 11 + 8.0 * 9 / 11  # the past counts (1 + step) / (10 + step), 0.5 at most
    second = first * 3 / 12
    assert means == pytest.approx([first, second, second * 4 / 13 + 1.0 * 9 / 13])
    for step in range(4, 40):
        average.update(step)
    weight.data.fill_(3.0)
    average.update(40)
    assert average.means["weight"].item() == pytest.approx(2.0)
    with average.in_place():
        assert weight.item() == pytest.approx(2.0)
    assert weight.item() == 3.0


def test_without_ema_nothing_is_kept(tmp_path: Path) -> None:
    average = AveragedWeights(nn.Linear(1, 1), None)
    average.update(1)
    average.save(tmp_path)
    average.load(tmp_path)
    assert not average.means
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_without_the_mean_is_refused(tmp_path: Path) -> None:
    average = AveragedWeights(nn.Linear(1, 1), 0.9)
    with pytest.raises(SgdxError, match=r"average\.safetensors"):
        average.load(tmp_path)


def test_the_model_is_the_mean_and_resumes_to_the_bit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", steps=6, save_every=3, evaluate_every=6, ema=0.9)
    for main, place in ((train, "whole"), (broken_off, "broken")):
        arguments = ("--config", recipe, "--output", tmp_path / place)
        assert command(monkeypatch, main, *arguments) == 0
    (last,) = (tmp_path / "whole" / "checkpoints").iterdir()
    own, mean = (load_file(last / f"{name}.safetensors") for name in ("model", "average"))
    best = load_file(tmp_path / "whole" / "model.safetensors")
    assert all(torch.equal(best[name], mean[name]) for name in best)
    assert any(not torch.equal(best[name], own[name]) for name in best)
    (again,) = (tmp_path / "broken" / "checkpoints").iterdir()
    for file in ("model.safetensors", "average.safetensors", "optimizer.safetensors"):
        assert (again / file).read_bytes() == (last / file).read_bytes()
    assert load_file(tmp_path / "broken" / "model.safetensors").keys() == best.keys()
    whole, broken = ((tmp_path / p / "model.safetensors").read_bytes() for p in ("whole", "broken"))
    assert whole == broken
