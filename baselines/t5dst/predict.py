"""``python -m baselines.t5dst.predict``: track a split under every variant with a trained model."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset, concatenate_datasets

from sgdx_dataset import frames, load

from ..batching import by_length, cut
from ..checkpoint import weights_digest
from ..data import INPUTS
from ..launch import prediction_configs, prediction_options, run_command
from ..predictions import check_predictions, run_shards, write_predictions
from ..processes import make_accelerator
from ..run import versions
from .formats import FORMATS, Format
from .formats.values import State
from .generate import greedy
from .inputs import Inputs, Texts
from .model import About, Tracker, load_tracker

Row = dict[str, Any]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Sizes:
    """Of a batch in inputs and in padded tokens, and of a shard in inputs."""

    batch: int = 256
    tokens: int = 16384
    shard: int = 2048


@dataclass(frozen=True)
class Predicted:
    """Prediction rows, and what it took: counts of frames, inputs, cut and invalid ones."""

    rows: list[Row]
    counts: dict[str, Any]


def predict(
    tracker: Tracker, rows: Dataset, accelerator: Accelerator, folder: Path, sizes: Sizes
) -> Predicted:
    """Prediction rows for frame rows, of one or several variants, in every process.

    Args:
        tracker: Its model is on the accelerator's device.
        rows: Only ``INPUTS`` of them are decoded.
        accelerator: Knows the processes.
        folder: Finished shards are kept in a folder of it, which this very work goes on from.
        sizes: What fits; small differences of floats apart, they do not change what comes out.
    """
    rows = rows.select_columns(INPUTS)
    texts = Texts()
    texts.read(rows, tracker.prompt)
    inputs = Inputs(texts, tracker.tokenizer, tracker.prompt, tracker.limits)
    answers, unique = answer_all(tracker, inputs, accelerator, folder, sizes)
    states = list(_states(rows, tracker.prompt, texts.counts, answers))
    counts = {
        "frames": len(rows),
        "inputs": len(answers),
        "unique_inputs": unique,
        "invalid": sum(state.invalid for _, state in states),
        "cut": {name: count for name, count in inputs.cut.items() if name != "answers"},
    }
    return Predicted([_prediction(row, state) for row, state in states], counts)


def answer_all(
    tracker: Tracker, inputs: Inputs, accelerator: Accelerator, folder: Path, sizes: Sizes
) -> tuple[list[str], int]:
    """The answer to each input, each different one generated once; and how many are different."""
    _, first, place = np.unique(inputs.pairs, axis=0, return_index=True, return_inverse=True)
    lengths = inputs.lengths[first]
    (order,) = by_length(lengths, len(lengths), int(lengths.sum()) * len(lengths)) or [first]
    shards = [order[i : i + sizes.shard] for i in range(0, len(order), sizes.shard)]

    def work(shard: np.ndarray) -> list[str]:
        answers: list[str] = []
        for batch in cut(shard, lengths, sizes.batch, sizes.tokens):
            asked = inputs.batch(first[batch])
            asked = {name: tensor.to(accelerator.device) for name, tensor in asked.items()}
            tokens = greedy(tracker.model, **asked, max_target=tracker.about.max_target)
            answers += _texts(tracker, tokens)
        return answers

    name = fingerprint(tracker, inputs, first, sizes)[:16]
    answers = run_shards(accelerator, shards, work, folder / name)
    return [answers[index] for index in place.reshape(-1).tolist()], len(first)


def _texts(tracker: Tracker, tokens: np.ndarray) -> list[str]:
    decoded: list[str] = tracker.tokenizer.batch_decode(
        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return decoded


def fingerprint(tracker: Tracker, inputs: Inputs, first: np.ndarray, sizes: Sizes) -> str:
    """A digest of all that decides the shards: weights, inputs and sizes."""
    digest = hashlib.sha256(repr((weights_digest(tracker.model), tracker.about, sizes)).encode())
    for index in first.tolist():
        digest.update(inputs.ids(index).tobytes() + b"|")
    return digest.hexdigest()


def _states(
    rows: Dataset, prompt: Format, counts: Sequence[int], answers: Sequence[str]
) -> Iterator[tuple[Row, State]]:
    """The state that each frame's answers mean."""
    start = 0
    for row, count in zip(rows, counts):
        said = [*(turn["utterance"] for turn in row["history"]), row["utterance"]]
        outputs = answers[start : start + count]
        yield row, prompt.decode(row["schema"], " ".join(said), outputs)
        start += count


def _prediction(row: Row, state: State) -> Row:
    return {
        "frame_id": row["frame_id"],
        "variant": row["variant"],
        "active_intent": state.active_intent,
        "requested_slots": state.requested_slots,
        "slot_values": [{"slot": s, "values": v} for s, v in sorted(state.slot_values.items())],
    }


def predict_configs(options: argparse.Namespace) -> list[Path]:
    """Track a split under each config; one prediction file a config."""
    about = None
    if options.format:
        about = About(
            format=options.format, max_input=options.max_input, max_target=options.max_target
        )
    tracker = load_tracker(options.model, about, DTYPES[options.dtype])
    configs = prediction_configs(options)
    making = {
        "model": options.model,
        "weights": weights_digest(tracker.model),
        **msgspec.to_builtins(tracker.about),
        "tracks": tracker.prompt.TRACKS,
        "split": options.split,
        "system_acts": False,
        "dtype": options.dtype,
    }
    paths = {config: options.output / f"{config}.jsonl" for config in configs}
    for config, path in paths.items():
        check_predictions(path, {**making, "variant": config})
    accelerator = make_accelerator()
    tracker.model.to(accelerator.device)
    parts = [frames(load(config, options.split, options.source)) for config in configs]
    sizes = Sizes(options.batch_size, options.token_budget, options.shard_size)
    shards = options.output / "shards"
    predicted = predict(tracker, concatenate_datasets(parts), accelerator, shards, sizes)
    metadata = {**making, "counts": predicted.counts, "versions": versions()}
    if accelerator.is_main_process:
        for config, path in paths.items():
            rows = [row for row in predicted.rows if row["variant"] == config]
            write_predictions(path, {**metadata, "variant": config}, rows)
        shutil.rmtree(shards)
        print(*(f"{name}: {count}" for name, count in predicted.counts.items()), sep="\n")
    accelerator.end_training()
    return list(paths.values())


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    sizes = msgspec.to_builtins(Sizes())
    parser = prediction_options("baselines.t5dst.predict", __doc__, **sizes)
    parser.add_argument("--dtype", default="float32", choices=DTYPES)
    parser.add_argument("--format", choices=FORMATS, help="for a model that does not say its own")
    parser.add_argument("--max-input", type=int, default=512, help="with --format: tokens")
    parser.add_argument("--max-target", type=int, default=256, help="with --format: tokens")
    return run_command("t5dst", predict_configs, parser)


if __name__ == "__main__":
    sys.exit(main())
