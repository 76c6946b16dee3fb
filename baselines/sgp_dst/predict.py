"""``python -m baselines.sgp_dst.predict``: track a split under every variant."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from accelerate import Accelerator
from datasets import Dataset

from sgdx_dataset import frames, load

from ..checkpoint import weights_digest
from ..data import describe
from ..launch import prediction_configs, prediction_options, run_command
from ..predictions import check_predictions, run_shards, write_predictions
from ..processes import make_accelerator
from ..run import versions
from .dialogues import TRACKED, read_dialogues
from .parts import PARTS
from .tracker import Sizes, Tracker, load_tracker
from .tracking import prediction_rows, track

Row = dict[str, Any]
SHARD = 512  # dialogues whose turns are read together


def predict(
    tracker: Tracker, rows: Dataset, accelerator: Accelerator, folder: Path, shard: int = SHARD
) -> list[Row]:
    """Prediction rows for frame rows of one variant, in every process.

    Args:
        tracker: Its models are on the accelerator's device.
        rows: Whole dialogues, in order; only ``TRACKED`` columns are decoded.
        accelerator: Knows the processes.
        folder: Finished shards are kept in it; for this work alone.
        shard: Dialogues that are tracked together, turn by turn.
    """
    dialogues = list(read_dialogues(rows.select_columns(TRACKED)))
    places = np.arange(len(dialogues))

    def work(indices: np.ndarray) -> list[list[Row]]:
        mine = [dialogues[index] for index in indices.tolist()]
        return [prediction_rows(*pair) for pair in zip(mine, track(tracker, mine))]

    shards = [places[start : start + shard] for start in range(0, len(places), shard)]
    done = run_shards(accelerator, shards, work, folder)
    return [row for dialogue in done for row in dialogue]


def tracker_digest(tracker: Tracker) -> str:
    """A digest of the weights."""
    each = [weights_digest(tracker.parts[part].model) for part in PARTS]
    return hashlib.sha256(" ".join(each).encode()).hexdigest()


def predict_configs(options: argparse.Namespace) -> list[Path]:
    """Track a split under each config; one prediction file a config."""
    accelerator = make_accelerator()
    sizes = Sizes(options.batch_size, options.token_budget)
    tracker = load_tracker(options.model, accelerator.device, sizes)
    abouts = {part: tracker.parts[part].about for part in PARTS}
    making = {
        "model": options.model,
        "weights": tracker_digest(tracker),
        "train": list(dict.fromkeys(v for about in abouts.values() for v in about.train)),
        "oracle": any(about.oracle for about in abouts.values()),
        "parts": msgspec.to_builtins(abouts),
        "split": options.split,
        "system_acts": True,
    }
    configs = prediction_configs(options)
    paths = {config: options.output / f"{config}.jsonl" for config in configs}
    for config, path in paths.items():
        check_predictions(path, {**making, "variant": config})
    for config, path in paths.items():
        rows = frames(load(config, options.split, options.source))
        told = repr((making, describe(rows), options.shard_size))
        shards = options.output / "shards" / hashlib.sha256(told.encode()).hexdigest()[:16]
        predicted = predict(tracker, rows, accelerator, shards, options.shard_size)
        if accelerator.is_main_process:
            metadata = {**making, "variant": config, "versions": versions()}
            print(write_predictions(path, metadata, predicted))
            shutil.rmtree(shards)
    accelerator.end_training()
    return list(paths.values())


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    sizes = msgspec.to_builtins(Sizes())
    parser = prediction_options("baselines.sgp_dst.predict", __doc__, **sizes, shard=SHARD)
    return run_command("sgp_dst", predict_configs, parser)


if __name__ == "__main__":
    sys.exit(main())
