"""XLA, the compiler of TPUs: batches in few shapes, and trainings on its CPU device.

Tests marked ``xla`` need torch-xla. They run smoke recipes as they stand, but for dropout, whose
random numbers XLA and CPUs do not share.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from baselines import loop, train
from baselines.batching import cut
from baselines.recipes import read_recipe
from baselines.xla import check_training, fill_up, training_shapes
from sgdx_dataset import SgdxError

from ...conftest import Run
from ..conftest import command, write_recipe

TRACKERS = ("t5dst", "sgd_baseline", "sgp_dst", "onepass", "t2g2")
# Programs that run a few times are not worth the compiler's best.
QUICK = "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true"
XLA = {"PJRT_DEVICE": "CPU", "XLA_FLAGS": QUICK}
FEW: Any = {
    "optimizer": "adamw", "learning_rate": 0.001, "epsilon": 1e-3, "batch_size": 8,
    "steps": 6, "log_every": 1, "save_every": 3, "evaluate_every": 6, "token_budget": 2048,
}  # fmt: skip


def test_every_batch_fits_into_the_shape_of_its_length() -> None:
    lengths = np.array([*range(1, 200), 900])
    shapes = training_shapes(lengths, 8, 600)
    assert len(shapes) == 3
    for batch in cut(np.argsort(lengths), lengths, 8, 600):
        longest = lengths[batch].max()
        rows, _ = next(shape for shape in shapes if shape[1] >= longest)
        assert rows >= len(batch)


def test_a_batch_is_filled_up_with_what_counts_for_nothing() -> None:
    batch = {
        "ids": torch.tensor([[1, 2, 3], [4, 5, 6]]),
        "label": torch.tensor([7, 8]),
        "many": torch.ones(5, dtype=torch.long),
        "none": torch.zeros(0, 2, dtype=torch.bool),
        "weight": torch.tensor(2.0),
    }
    names: Any = {"ids": ("rows", "tokens"), "label": ("rows",), "many": ("few",)}
    names |= {"none": ("few", None), "absent": ("few",)}
    full = fill_up(batch, names, {"rows": 3, "tokens": 4, "few": 2}, {"label": -100})
    assert {name: tensor.tolist() for name, tensor in full.items()} == {
        "ids": [[1, 2, 3, 0], [4, 5, 6, 0], [4, 5, 6, 0]],
        "label": [7, 8, -100],
        "many": [1] * 8,
        "none": [[False, False]] * 2,
        "weight": [2.0],
    }


@pytest.mark.parametrize(
    ("named", "settings", "environment"),
    [
        ("FSDP", {}, {"ACCELERATE_USE_FSDP": "true"}),
        ("bits", {"bits": 4}, {}),
        ("gradient_checkpointing", {"gradient_checkpointing": True}, {}),
    ],
)
def test_what_xla_cannot_do_is_refused(
    named: str, settings: Any, environment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = read_recipe(write_recipe(tmp_path / "r.yaml", "onepass", **settings))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    check_training(torch.device("cpu"), asked)
    with pytest.raises(SgdxError, match=f"^{named}: .*xla"):
        check_training(torch.device("xla"), asked)


@pytest.mark.parametrize("tracker", TRACKERS)
def test_filled_batches_teach_the_same(
    tracker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_mode, collate = nn.Module.train, loop.Training.collate
    monkeypatch.setattr(nn.Module, "train", lambda part, mode=True: set_mode(part, False))
    changed = FEW | {"steps": 2, "save_every": 2, "evaluate_every": 2, "evaluate_frames": 4}
    recipe = write_recipe(tmp_path / "r.yaml", tracker, **changed)
    sizes = []

    def filled(training: loop.Training, examples: Any) -> Any:
        batch = collate(training, examples)
        rows, width = training.shapes[-1]
        full = training.examples.fill(batch, rows + 1, width + 8)
        sizes.append(full["input_ids"].shape[0] > batch["input_ids"].shape[0])
        return full

    for name, make in (("plain", collate), ("full", filled)):
        monkeypatch.setattr(loop.Training, "collate", make)
        parts = ("--recipe", recipe, "--output", tmp_path / name)
        assert command(monkeypatch, train, *parts) == 0
    ones = [*(tmp_path / "plain").glob("**/step-*/model.safetensors")]
    assert sizes == [True, True] * len(ones)
    for one in ones:
        second = load_file(tmp_path / "full" / one.relative_to(tmp_path / "plain"))
        for key, tensor in load_file(one).items():
            torch.testing.assert_close(second[key], tensor, rtol=1e-4, atol=1e-5)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


SMOKE = ("train", "--source", "sample", "--set", "log_every=1", "--set", "precision=fp32")
RECIPES: dict[str, tuple[str, ...]] = {
    **{tracker: ("--recipe", f"{tracker}/smoke") for tracker in TRACKERS},
    "d3st": ("--recipe", "t5dst/smoke", "--set", "format=d3st"),
}
PARTS = {"sgp_dst": ("intent", "combine", "copy", "cross")}


@pytest.mark.xla
@pytest.mark.parametrize("system", RECIPES)
def test_a_smoke_recipe_runs_on_xla_from_training_to_card(
    system: str, run: Run, tmp_path: Path
) -> None:
    train_it = (*SMOKE, *RECIPES[system])
    (tmp_path / "one.txt").write_text("1_00000\n")
    of_one = ("--variant", "v1", "--dialogues", "one.txt")
    parts = PARTS.get(system, ("",))
    on_cpu = [["end", "10", *train_it, "--output", "cpu"]]
    on_xla: list[Any] = [
        [*train_it, "--output", "xla"],
        ["evaluate", *of_one, "--model", "xla", "--output", "xla"],
        ["publish", "--model", "xla", "--output", "shown"],
    ]
    if system == "onepass":  # eight steps, unbroken and broken off between two checkpoints
        few = ("--set", "steps=8", "--set", "save_every=4", "--set", "evaluate_frames=5")
        on_xla.append([*train_it, *few, "--output", "whole"])
        on_xla.append(["until", "6", *train_it, *few, "--output", "resumed"])
        on_xla.append([*train_it, *few, "--output", "resumed", "--resume"])
    for commands, environment in ((on_cpu, {"USE_TORCH_XLA": "0"}), (on_xla, XLA)):
        done = run("tests.baselines.training.at_once", json.dumps(commands), **environment)
        assert done.returncode == 0, done.stderr
    for part in parts:
        steps = [line for line in lines(tmp_path / "xla" / part) if "loss" in line]
        losses = [line["loss"] for line in steps]
        first = [line["loss"] for line in lines(tmp_path / "cpu" / part) if "loss" in line][:10]
        assert losses[:10] == pytest.approx(first, rel=1e-3)
        assert 0 < sum(line["compiled"] for line in steps[:20]) <= 12
        assert not any(line["compiled"] for line in steps[20:])
    assert (tmp_path / "shown" / "README.md").exists()
    if system == "onepass":
        whole, resumed = (
            load_file(tmp_path / n / "model.safetensors") for n in ("whole", "resumed")
        )
        assert all(torch.equal(resumed[name], weight) for name, weight in whole.items())


@pytest.mark.xla
def test_xla_trains_in_bfloat16(run: Run, tmp_path: Path) -> None:
    train_it = (*SMOKE, *RECIPES["sgd_baseline"])
    commands = [
        ["until", "3", *train_it, "--set", f"precision={name}", "--output", name]
        for name in ("fp32", "bf16")
    ]
    done = run("tests.baselines.training.at_once", json.dumps(commands), **XLA)
    assert done.returncode == 0, done.stderr
    exact, rounded = ([line["loss"] for line in lines(tmp_path / n)] for n in ("fp32", "bf16"))
    assert rounded == pytest.approx(exact, rel=0.02)
    assert rounded != exact
