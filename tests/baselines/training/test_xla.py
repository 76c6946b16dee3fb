"""XLA, the compiler of TPUs: batches in few shapes, and trainings on its CPU device.

Tests marked ``xla`` need torch-xla, and then all processes that they start compute on XLA but for
those that are told not to.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from baselines import loop, train
from baselines.batching import cut
from baselines.settings import read_recipe
from baselines.xla import check_training, fill_up, training_shapes
from sgdx_dataset import SgdxError

from ...conftest import Run
from ..conftest import command, write_recipe

TRACKERS = ("t5dst", "sgd_baseline", "sgp_dst", "onepass", "t2g2")
# Of four submodels one is enough here; combine has the most parts.
PART = {"sgp_dst": ("--task", "combine")}
# Programs that run a few times are not worth the compiler's best.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
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
        "weight": 2.0,
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
        full = training.task.fill(batch, rows + 1, width + 8)
        sizes.append(full["input_ids"].shape[0] > batch["input_ids"].shape[0])
        return full

    for name, make in (("plain", collate), ("full", filled)):
        monkeypatch.setattr(loop.Training, "collate", make)
        parts = ("--config", recipe, "--output", tmp_path / name, *PART.get(tracker, ()))
        assert command(monkeypatch, train, *parts) == 0
    assert sizes == [True, True]
    (one,) = (tmp_path / "plain").glob("**/step-*/model.safetensors")
    first = load_file(one)
    second = load_file(tmp_path / "full" / one.relative_to(tmp_path / "plain"))
    for key, tensor in first.items():
        torch.testing.assert_close(second[key], tensor, rtol=1e-4, atol=1e-5)


def log_of(folder: Path) -> list[dict[str, Any]]:
    (file,) = folder.glob("**/log.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def without_dropout(made: Path, copy: Path) -> Path:
    """A copy of the model that a tiny training starts from, which drops nothing."""
    shutil.copytree(made, copy)
    config = json.loads((copy / "config.json").read_text())
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout_rate"):
        config |= {name: 0.0} if name in config else {}
    (copy / "config.json").write_text(json.dumps(config))
    return copy


@pytest.mark.xla
@pytest.mark.parametrize("tracker", TRACKERS)
def test_xla_trains_as_a_cpu_resumes_predicts_and_publishes(
    tracker: str, run: Run, tmp_path: Path
) -> None:
    part = PART.get(tracker, ())
    own: Any = {"dropout": 0.0} if tracker in ("sgd_baseline", "onepass") else {}
    start = write_recipe(tmp_path / "start.yaml", tracker, **FEW | {"steps": 1, "save_every": 1})
    begun = ("baselines.train", "--config", start, "--output", "start", *part)
    assert run(*begun, USE_TORCH_XLA="0").returncode == 0
    model = without_dropout(tmp_path / "start" / "initial", tmp_path / "still")
    recipe = write_recipe(tmp_path / "r.yaml", tracker, model=str(model), **FEW, **own)
    for name, module, environment in (
        ("cpu", "baselines.train", {"USE_TORCH_XLA": "0"}),
        ("xla", "baselines.train", XLA),
        ("resumed", "tests.baselines.training.broken_off", XLA),
    ):
        done = run(module, "--config", recipe, "--output", name, *part, **environment)
        assert done.returncode == 0, done.stderr
    logs = {name: log_of(tmp_path / name) for name in ("cpu", "xla", "resumed")}
    steps = {n: [line for line in log if "loss" in line] for n, log in logs.items()}
    losses = {name: [line["loss"] for line in lines] for name, lines in steps.items()}
    assert losses["xla"] == pytest.approx(losses["cpu"], rel=1e-3)
    assert losses["resumed"] == losses["xla"]
    assert sum(line["compiled"] for line in steps["xla"]) <= 12
    (file,) = (tmp_path / "xla").glob("**/step-00000006/model.safetensors")
    weights = load_file(file)
    resumed = load_file(tmp_path / "resumed" / file.relative_to(tmp_path / "xla"))
    assert all(torch.equal(resumed[name], weight) for name, weight in weights.items())
    if not part:
        few = ("--config", "v1", "--model", "xla", "--output", "xla")
        (tmp_path / "one.txt").write_text("1_00000\n")
        told = run("baselines.evaluate", *few, "--dialogues", "one.txt", **XLA)
        assert told.returncode == 0, told.stderr
        shown = run("sgdx_cli", "publish", "--model", "xla", "--output", "shown")
        assert shown.returncode == 0, shown.stderr
        assert (tmp_path / "shown" / "README.md").exists()


@pytest.mark.xla
def test_hardly_a_program_is_compiled_after_the_first_steps(run: Run, tmp_path: Path) -> None:
    longer = {"steps": 40, "log_every": 20, "evaluate_every": 40, "epochs": 9}
    recipe = write_recipe(tmp_path / "r.yaml", "sgd_baseline", **FEW | longer)
    done = run("baselines.train", "--config", recipe, "--output", "run", **XLA)
    assert done.returncode == 0, done.stderr
    first, last = (line["compiled"] for line in log_of(tmp_path / "run") if "loss" in line)
    assert 0 < first <= 12
    assert last <= 1  # one was seen, of the first step after a line of the log
    assert math.isfinite(log_of(tmp_path / "run")[0]["loss"])
