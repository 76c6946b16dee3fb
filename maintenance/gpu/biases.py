"""Choose the biases of a trained model on dev: ``python -m maintenance.gpu.biases``.

Its arguments are the folder of the batches, that of the model, and the source of SGD.
"""

from __future__ import annotations

import sys
from pathlib import Path

from datasets import concatenate_datasets

from baselines.onepass.system import OnePassTracker
from baselines.precision import autocast
from baselines.processes import make_accelerator
from baselines.run_folder import append_log, read_json, read_log, write_json
from baselines.settings import OnePassOptions

from .encode import dev_frames


def choose_biases(encoded: Path, folder: Path, source: str) -> None:
    """Write the best biases on dev of SGD and ``many`` into a model's configuration."""
    settings = read_json(encoded / "index.json")["settings"]
    accelerator = make_accelerator()
    options = OnePassOptions(batch_size=512, token_budget=65536)
    tracker = OnePassTracker.load(str(folder), options, accelerator)
    dev = concatenate_datasets(
        [dev_frames(of, "original", settings["evaluate_frames"]) for of in (source, "many")]
    )
    with autocast(settings["precision"], accelerator.device):
        score, biases, _ = tracker.dev_score(tracker.model, dev)
    config = folder / "config.json"  # the packed weights stay as they are
    write_json(config, {**read_json(config), **biases})
    step = read_log(folder)[-1]["step"]
    append_log(folder, {"step": step, "dev_joint_goal_accuracy": score})
    path = folder / "record.json"
    write_json(path, read_json(path) | {"dev_joint_goal_accuracy": score, **biases})


if __name__ == "__main__":
    choose_biases(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
