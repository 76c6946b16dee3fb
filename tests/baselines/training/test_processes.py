"""Several processes: what they train is what one process trains that reads as many batches a step.

They are started by ``accelerate launch`` with the files of ``baselines/accelerate``, on CPUs.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from baselines import train

from ...conftest import ROOT, Run
from ..conftest import command, write_recipe

ACCELERATE = ROOT / "baselines" / "accelerate"
ADAMW: Any = {"optimizer": "adamw", "learning_rate": 0.001}  # which FSDP shards


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of one process that reads two batches a step."""
    folder = tmp_path_factory.mktemp("alone")
    recipe = write_recipe(folder / "r.yaml", steps=4, accumulation=2, **ADAMW)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, train, "--config", recipe, "--output", folder / "run") == 0
    return folder / "run"


def assert_same(one: Path, other: Path) -> None:
    """The weights and the optimizer's state of two runs are equal but for rounding."""
    for name in ("model", "optimizer"):
        file = f"checkpoints/step-00000004/{name}.safetensors"
        first, second = load_file(one / file), load_file(other / file)
        assert first.keys() == second.keys()
        for key, tensor in first.items():
            torch.testing.assert_close(second[key], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_fsdp_trains_evaluates_saves_and_resumes(alone: Path, run: Run, tmp_path: Path) -> None:
    """Dev has one chunk of inputs, so only one of the processes predicts."""
    recipe = write_recipe(tmp_path / "r.yaml", steps=4, save_every=2, **ADAMW)
    done = run(
        "accelerate.commands.launch", "--config_file", ACCELERATE / "fsdp.yaml",
        "--num_processes", 2, "--main_process_port", 0,
        "-m", "tests.baselines.training.broken_off", "--config", recipe, "--output", "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "going on at step 2 of 4" in done.stdout
    assert_same(alone, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["architectures"] == ["T5ForConditionalGeneration"]
    scores = [
        [line for line in (folder / "log.jsonl").read_text().splitlines() if "dev_joint" in line]
        for folder in (alone, tmp_path / "run")
    ]
    assert scores[0] == scores[1]


@pytest.mark.slow
def test_two_nodes_train_one_model(alone: Path, tmp_path: Path) -> None:
    """Two launchers on this machine, of one process each, stand for two nodes."""
    recipe = write_recipe(tmp_path / "r.yaml", steps=4, log_with=["tensorboard"], **ADAMW)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [
        sys.executable, "-m", "accelerate.commands.launch",
        "--config_file", ACCELERATE / "multi_node.yaml", "--num_machines", 2, "--num_processes", 2,
        "--main_process_ip", "127.0.0.1", "--main_process_port", port,
    ]  # fmt: skip
    training = ["-m", "baselines.train", "--config", recipe, "--output", "run"]
    nodes = [
        subprocess.Popen(
            [str(part) for part in (*launch, "--machine_rank", rank, *training)],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [node.communicate(timeout=300)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], said
    assert "4 steps of 8 examples (2 processes x 1 batches x 4) in fp32" in said[0]
    assert_same(alone, tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["record"]["processes"] == 2
    assert facts["hardware"].startswith("2 processes, each on ")
    assert facts["batch"] == {
        "examples_per_step": 8, "processes": 2, "accumulation": 1, "examples_per_process": 4,
    }  # fmt: skip
    assert list((tmp_path / "run" / "logs").rglob("events.out.tfevents.*"))
