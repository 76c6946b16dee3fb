"""Ten steps of small random systems: ``python -m maintenance.gpu.ten_steps FOLDER PRECISION``.

They are trained on the sample corpus, on the device that there is, without dropout. ``compare A B``
prints how far the losses of the runs in two folders differ, and ends with status 1 if it is more
than ten steps in bfloat16 differ from those in float32.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import torch

from baselines.run_folder import read_log
from baselines.settings import find_recipe
from baselines.train import train
from sgdx_dataset.options import Source

TASKS = {"onepass": "", "sgd_baseline": "", "sgp_dst": "intent", "t5dst": ""}
OFTEN = {"evaluate_frames": 8, "save_every": 2, "evaluate_every": 10, "log_every": 1}
TOLERANCE = 0.02  # of a loss; bfloat16 rounds to 0.4 %, ten steps after each other


def ten_steps(system: str, task: str, folder: Path, precision: str) -> None:
    """Ten steps of the system's smoke recipe."""
    recipe = msgspec.yaml.decode(find_recipe(f"{system}/smoke").read_bytes())
    for settings in recipe.get("parts", {"": recipe}).values():
        settings["steps"] = 10
    if system != "t5dst":  # which has no attention that a recipe could change
        recipe["attention_dropout"] = 0.0
    path = folder / f"{system}.yaml"
    path.write_bytes(msgspec.yaml.encode(recipe | OFTEN | {"precision": precision}))
    tasks = [task] if task else []
    train(Source(source="sample"), config=str(path), output=folder / system, task=tasks)


def compare(first: Path, second: Path) -> float:
    """The largest difference of a loss in the runs of the second folder, as a part of it."""
    largest = 0.0
    for log in second.rglob("log.jsonl"):
        runs = [read_log(folder / log.parent.relative_to(second)) for folder in (first, second)]
        losses = ([line["loss"] for line in run if "loss" in line] for run in runs)
        difference = max(abs(a - b) / abs(b) for a, b in zip(*losses, strict=True))
        print(f"{log.parent.relative_to(second)}: losses differ by {100 * difference:.2f} %")
        largest = max(largest, difference)
    return largest


def main() -> int:
    """Run the command; returns the exit status."""
    if sys.argv[1] == "compare":
        return 0 if compare(Path(sys.argv[2]), Path(sys.argv[3])) <= TOLERANCE else 1
    folder, precision = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True)
    # Devices draw other random numbers, so nothing is dropped.
    torch.nn.functional.dropout = lambda tensor, *_, **__: tensor
    for system, task in TASKS.items():
        ten_steps(system, task, folder, precision)
    return 0


if __name__ == "__main__":
    sys.exit(main())
