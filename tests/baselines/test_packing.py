"""Weights in few bits: what is stored, loaded and judged is the same, and damage is told."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from baselines import predict, publish
from baselines.use import load_tracker

from .conftest import Refuse, command, train_once

packing = pytest.importorskip("baselines.packing")
Tensors = dict[str, torch.Tensor]
QUERY = "encoder.encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_once(tmp_path_factory, "onepass", bits=5, rounded=0.5)


@pytest.mark.parametrize("bits", [4, 5, 6, 8])
def test_what_is_stored_is_the_nearest(bits: int) -> None:
    half = 2 ** (bits - 1)
    whole = torch.arange(64) * half // 32 - half
    whole[1] += 1  # which no larger scale has
    integers, scales = packing.fit(torch.stack([0.375 * whole, -whole / 1024, 0 * whole]), bits)
    assert scales.tolist() == [[0.375], [-1 / 1024], [0]] and scales.dtype == torch.float16
    assert torch.equal(integers[:2], whole.to(torch.int8).expand(2, -1))
    torch.manual_seed(0)
    matrix = torch.randn(40, 128)
    matrix[3] *= 1e-7
    groups = matrix.view(-1, 64)
    integers, scales = packing.fit(matrix, bits)
    error = (integers.view(-1, 64) * scales.view(-1, 1).float() - groups).square().sum(1)
    widest = groups.abs().amax(1, keepdim=True) / (half - 1)  # the usual scale
    usual = ((groups / widest).round() * widest - groups).square().sum(1)
    assert error.sum() < 0.95 * usual.sum() and integers.min() == -half


def test_gradients_of_rounded_weights_change_whole_ones() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 7), torch.nn.Linear(7, 3))
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    with packing.rounded(model, 4):
        near = model.get_parameter("0.weight")
        assert 0.01 < (near - before["0.weight"]).abs().max() < 0.03  # of at most 0.125
        assert all(len(row.unique()) <= 16 for row in near)
        loss: Any = near.square().sum()
        loss.backward()
        expected = 2 * near.detach()
    assert near.grad is not None and torch.equal(near.grad, expected)
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_a_packed_model_is_loaded_to_the_bit(run: Path, tmp_path: Path) -> None:
    """Also by AutoModel with the code beside it, whatever this package registers."""
    model: Any = load_tracker(run)
    stored = load_file(run / "model.safetensors")
    assert QUERY not in stored and stored[f"{QUERY}_packed"].dtype == torch.int32
    words = "encoder.embeddings.word_embeddings.weight"
    assert stored[f"{words}_packed"].shape == (len(stored[f"{words}_scale"]), 10)
    for bits in (4, 5, 6, 8):
        own, weights = packing.packed_copy(model, bits)
        folder = tmp_path / str(bits)
        shutil.copytree(run, folder, ignore=lambda *_: ["model.safetensors", "checkpoints"])
        own.save_pretrained(folder, state_dict=weights, max_shard_size="100KB")
        assert len(list(folder.glob("*.safetensors"))) > 1
        loaded: Any = load_tracker(folder)
        assert own.state_dict().keys() == loaded.state_dict().keys()
        for name, tensor in own.state_dict().items():
            assert torch.equal(tensor, loaded.state_dict()[name]), name
    code = (
        "from transformers import AutoModel\n"
        f"model = AutoModel.from_pretrained({str(run)!r}, trust_remote_code=True)\n"
        f"print(model.state_dict()[{QUERY!r}].double().sum().item())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) == model.state_dict()[QUERY].double().sum().item()


def test_a_packed_model_is_scored_and_published_as_it_is(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["weights_sha256"] == load_tracker(run).describe()["weights"]
    assert config["quantization_config"]["config_groups"]["all"]["weights"]["num_bits"] == 5
    assert QUERY in load_file(sorted((run / "checkpoints").iterdir())[-1] / "model.safetensors")
    assert command(monkeypatch, publish, "--model", run, "--output", tmp_path / "there") == 0
    here, there = (of / "model.safetensors" for of in (run, tmp_path / "there"))
    assert here.read_bytes() == there.read_bytes()
    assert 'pip install "sgdx[packed] @' in (tmp_path / "there" / "README.md").read_text()


def change(name: str, how: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights[name] = how(weights[name])
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return changed


def without(name: str) -> Callable[[Path], None]:
    def lacking(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        del weights[name]
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return lacking


def configured(**values: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        for path, value in values.items():
            *keys, last = path.split("__")
            place = config
            for key in keys:
                place = place[key]
            place[last] = value
        (folder / "config.json").write_text(json.dumps(config))

    return write


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


BITS = "quantization_config__config_groups__all__weights__num_bits"
DAMAGE: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "cut": (cut, ()),
    "no scale": (without(f"{QUERY}_scale"), (QUERY, "scales None")),
    "no integers": (without(f"{QUERY}_packed"), (QUERY, "integers None")),
    "no shape": (without(f"{QUERY}_shape"), (QUERY, "shape None")),
    "fewer integers": (change(f"{QUERY}_packed", lambda of: of[:, 1:].clone()), (QUERY, "[64, 9]")),
    "fewer rows": (change(f"{QUERY}_packed", lambda of: of[1:].clone()), (QUERY, "[63, 10]")),
    "fewer scales": (change(f"{QUERY}_scale", lambda of: of[:, 1:].clone()), (QUERY, "[64, 0]")),
    "another shape": (change(f"{QUERY}_shape", lambda of: of // 2), ("weights",)),
    "another type": (change(f"{QUERY}_packed", lambda of: of.float()), ("packed",)),
    "NaN": (change(f"{QUERY}_scale", lambda of: of * float("nan")), (QUERY, "finite")),
    "another number": (change(f"{QUERY}_packed", lambda of: of + 1), ("digest",)),
    "another digest": (configured(weights_sha256="0" * 64), ("digest", "000000000000")),
    "other bits": (configured(**{BITS: 6}), ("expected 6",)),
    "no such format": (configured(quantization_config__quant_method="none"), ("weights",)),
    "no table": (configured(quantization_config=[1]), ()),
    "more layers": (configured(encoder__num_hidden_layers=3), ("layer.2",)),
    "a larger encoder": (configured(encoder__hidden_size=128), ("encoder",)),
    "another encoder": (configured(encoder={"model_type": "mpnet"}), ("encoder",)),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_line(kind: str, run: Path, tmp_path: Path, refuse: Refuse) -> None:
    damage, parts = DAMAGE[kind]
    folder = tmp_path / "model"
    shutil.copytree(run, folder, ignore=lambda *_: ["checkpoints"])
    damage(folder)
    line = refuse(predict, "--model", folder, "--source", "sample", "--output", tmp_path / "out")
    assert str(folder) in line and all(part in line for part in parts)
    assert not (tmp_path / "out").exists()
