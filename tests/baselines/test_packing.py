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
    for bits in (4, 5):  # which fill 32 bits, and do not
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


Change = Callable[[Tensors], Tensors]
PACKED, SCALE, SHAPE = (f"{QUERY}_{part}" for part in ("packed", "scale", "shape"))
PACKING = "quantization_config"


def without(name: str) -> Change:
    return lambda tensors: {key: of for key, of in tensors.items() if key != name}


def other(name: str, how: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    return lambda tensors: tensors | {name: how(tensors[name]).contiguous()}


def bits(config: Any) -> Any:
    config[PACKING]["config_groups"]["all"]["weights"]["num_bits"] = 6
    return config


# What is damaged, in the weights or the configuration, and what the line says.
DAMAGE: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "no scale": (without(SCALE), None, ("packed",)),
    "no integers": (without(PACKED), None, ("packed",)),
    "fewer integers": (other(PACKED, lambda of: of[:, 1:]), None, ("digest",)),
    "fewer scales": (other(SCALE, lambda of: of[:, 1:]), None, (QUERY,)),
    "another shape": (other(SHAPE, lambda of: of // 2), None, ("weights",)),
    "another type": (other(PACKED, lambda of: of.float()), None, ("packed",)),
    "NaN": (other(SCALE, lambda of: of * float("nan")), None, (QUERY, "finite")),
    "another number": (other(PACKED, lambda of: of + 1), None, ("digest",)),
    "another digest": (None, lambda of: of | {"weights_sha256": "0" * 64}, ("000000000000",)),
    "other bits": (None, bits, ("packed",)),
    "no such format": (
        None, lambda of: of | {PACKING: of[PACKING] | {"quant_method": "none"}}, ("weights",),
    ),
    "no table": (None, lambda of: of | {PACKING: [1]}, ()),
    "a larger encoder": (
        None, lambda of: of | {"encoder": of["encoder"] | {"hidden_size": 128}}, ("encoder",),
    ),
    "another encoder": (None, lambda of: of | {"encoder": {"model_type": "mpnet"}}, ("encoder",)),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_line(kind: str, run: Path, tmp_path: Path, refuse: Refuse) -> None:
    weights, config, parts = DAMAGE[kind]
    folder = tmp_path / "model"
    shutil.copytree(run, folder, ignore=lambda *_: ["checkpoints"])
    if weights:
        file = folder / "model.safetensors"
        save_file(weights(load_file(file)), file, {"format": "pt"})
    else:
        file = folder / "config.json"
        file.write_text(json.dumps(config(json.loads(file.read_text()))))
    line = refuse(predict, "--model", folder, "--source", "sample", "--output", tmp_path / "out")
    assert str(folder) in line and all(part in line for part in parts)
    assert not (tmp_path / "out").exists()
