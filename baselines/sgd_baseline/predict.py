"""``python -m baselines.sgd_baseline.predict``: track a split under every variant at once."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import msgspec
from datasets import concatenate_datasets

from sgdx_dataset import frames, load

from ..checkpoint import weights_digest
from ..launch import prediction_configs, prediction_options, run_command
from ..predictions import check_predictions, write_predictions
from ..processes import make_accelerator
from ..run import versions
from .embeddings import default_cache
from .model import load_tracker
from .track import Sizes, read_inputs, track

TRACKS = ("active_intent", "requested_slots", "slot_values")
READS = "the system's last utterance and the user's, and no dialogue act"


def predict_configs(options: argparse.Namespace) -> list[Path]:
    """Track a split under all configs in one pass; one prediction file a config."""
    tracker = load_tracker(options.model)
    configs = prediction_configs(options)
    accelerator = make_accelerator()
    making = {
        "model": options.model,
        "tracker": "sgd_baseline",
        "weights": weights_digest(tracker.model),
        **msgspec.to_builtins(tracker.about),
        "tracks": TRACKS,
        "split": options.split,
        "system_acts": False,
        "reads": READS,
        "precision": accelerator.mixed_precision,
    }
    paths = {config: options.output / f"{config}.jsonl" for config in configs}
    for config, path in paths.items():
        check_predictions(path, {**making, "variant": config})
    tracker.model.to(accelerator.device)
    rows = [frames(load(config, options.split, options.source)) for config in configs]
    examples = read_inputs(tracker, concatenate_datasets(rows), options.cache, accelerator)
    sizes = Sizes(options.batch_size, options.token_budget, options.shard_size)
    shards = options.output / "shards"
    predicted = track(tracker.model, examples, accelerator, shards, sizes)
    counts = {"frames": len(predicted), "turns": len(examples.groups), "cut": examples.turns.cut}
    metadata = {**making, "counts": counts, "versions": versions()}
    if accelerator.is_main_process:
        for config, path in paths.items():
            mine = [row for row in predicted if row["variant"] == config]
            write_predictions(path, {**metadata, "variant": config}, mine)
        shutil.rmtree(shards)
        print(*(f"{name}: {count}" for name, count in counts.items()), sep="\n")
    accelerator.end_training()
    return list(paths.values())


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    sizes = msgspec.to_builtins(Sizes())
    parser = prediction_options("baselines.sgd_baseline.predict", __doc__, **sizes)
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="for embeddings of schemas"
    )
    return run_command("sgd_baseline", predict_configs, parser)


if __name__ == "__main__":
    sys.exit(main())
