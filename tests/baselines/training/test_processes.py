"""Several processes: what they train is what one process trains that reads as many batches a step.

They are started by ``accelerate launch`` with the files of ``baselines/accelerate``, on CPUs.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from ...conftest import ROOT, Run
from ..conftest import train_once, write_recipe

ACCELERATE = ROOT / "baselines" / "accelerate"
TRACKERS = ("t5dst", "sgd_baseline", "sgp_dst", "onepass", "t2g2")
# FSDP shards AdamW's state. It divides a gradient by the root of its mean square plus epsilon: with
# an epsilon below rounding, a gradient that is 0 but for rounding (such as that of a bias before a
# softmax) would move its weight by a good part of the learning rate, each time by another.
ADAMW: Any = {
    "optimizer": "adamw", "learning_rate": 0.001, "epsilon": 1e-3,
    "batch_size": 16, "steps": 4, "save_every": 2, "evaluate_every": 4,
}  # fmt: skip
Alone = Callable[[str, int], Path]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """The folder of a run of one process that reads as many batches a step as others do."""

    def trained(tracker: str, batches: int) -> Path:
        return train_once(tmp_path_factory, tracker, accumulation=batches, **ADAMW)

    return trained


def assert_same(one: Path, other: Path) -> None:
    """The weights and the optimizer's state of two runs are equal but for rounding."""
    # A unit of T5's ReLU that is 0 but for rounding gets a gradient or none: up to 2.2e-5 was seen.
    # Most weights move by up to 1e-3 in each of the steps.
    files = sorted(file.relative_to(one) for file in one.glob("**/step-00000004/*.safetensors"))
    assert files
    for file in files:
        first, second = load_file(one / file), load_file(other / file)
        assert first.keys() == second.keys()
        for key, tensor in first.items():
            torch.testing.assert_close(second[key], tensor, rtol=1e-4, atol=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tracker", "processes"), [*((tracker, 4) for tracker in TRACKERS), ("sgp_dst", 8)]
)
def test_fsdp_trains_evaluates_saves_and_resumes(
    tracker: str, processes: int, alone: Alone, run: Run, tmp_path: Path
) -> None:
    """All models have a bias that is shorter than there are processes, but for those of T5."""
    recipe = write_recipe(tmp_path / "r.yaml", tracker, **ADAMW)
    done = run(
        "accelerate.commands.launch", "--config_file", ACCELERATE / "fsdp.yaml",
        "--num_processes", processes, "--main_process_port", 0,
        "-m", "tests.baselines.training.broken_off", "train", "--recipe", recipe, "--output", "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "going on at step 2 of 4" in done.stdout
    one = alone(tracker, processes)
    assert_same(one, tmp_path / "run")
    scores = [
        [line for line in (folder / "log.jsonl").read_text().splitlines() if "dev_" in line]
        for folder in (one, tmp_path / "run")
    ]
    assert scores[0] == scores[1]
    assert (tmp_path / "run" / "README.md").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("file", "processes"), [("one_gpu", 1), ("cpu", 2), ("ddp", 8)])
def test_each_file_starts_as_many_processes_as_it_says(
    file: str, processes: int, alone: Alone, run: Run, tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "r.yaml", **ADAMW)
    done = run(
        "accelerate.commands.launch", "--config_file", ACCELERATE / f"{file}.yaml",
        "--main_process_port", 0, "-m", "sgdx_cli", "train", "--recipe", recipe, "--output", "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_same(alone("t5dst", processes), tmp_path / "run")
    assert (
        json.loads((tmp_path / "run" / "run.json").read_text())["record"]["processes"] == processes
    )


@pytest.mark.slow
def test_two_machines_train_one_model(alone: Alone, tmp_path: Path) -> None:
    """Two launchers on this machine stand for two, with eight processes each, as the file says.

    A package `baselines` of the user's own, where they are started, hides nothing.
    """
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "__init__.py").touch()
    recipe = write_recipe(tmp_path / "r.yaml", log_with=["tensorboard"], **ADAMW)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [
        sys.executable, "-m", "accelerate.commands.launch",
        "--config_file", ACCELERATE / "multi_node.yaml", "--main_process_port", port,
    ]  # fmt: skip
    training = ["-m", "sgdx_cli", "train", "--recipe", recipe, "--output", "run"]
    machines = [
        subprocess.Popen(
            [str(part) for part in (*launch, "--machine_rank", rank, *training)],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [machine.communicate(timeout=600)[0] for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], said
    assert "4 steps of 16 examples (16 processes x 1 batches x 1) in fp32" in said[0]
    assert_same(alone("t5dst", 16), tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["record"]["processes"] == 16
    assert facts["hardware"].startswith("16 processes, each on ")
    assert facts["batch"] == {
        "examples_per_step": 16, "processes": 16, "accumulation": 1, "examples_per_process": 1,
    }  # fmt: skip
    assert list((tmp_path / "run" / "logs").rglob("events.out.tfevents.*"))
