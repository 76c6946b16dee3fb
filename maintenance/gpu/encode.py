"""The frames of a training as batches on disk, so that no step of it waits for them.

``python -m maintenance.gpu.encode RECIPE SOURCE MODEL FOLDER SECONDS`` writes ``index.json`` and
``train-*`` and ``dev-*.safetensors``. A file is a whole batch with its labels, as the tracker makes
it. After a pass over all frames come others while there is time, each with batches and random
changes of its own. The frames are those of
``sgdx train``, with its refusal of words that trackers are judged on.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from safetensors.torch import load_file, save_file
from torch.utils.data import DataLoader

from baselines.batching import epoch
from baselines.data.dialogues import dialogue_bounds
from baselines.data.rows import describe, training_rows, whole_dialogues
from baselines.onepass.examples import FrameExamples, SchemaNoise
from baselines.onepass.system import READS, OnePassTracker
from baselines.processes import make_accelerator
from baselines.run_folder import write_json
from baselines.settings import find_recipe, read_recipe
from baselines.task import Run
from sgdx_dataset import frames, load, open_release
from sgdx_dataset.tracker_inputs import training_columns

Tensors = dict[str, torch.Tensor]
DEV = ("SGD-original", "SGD-v5", "many-original", "many-v5")  # corpora and variants


def write_batch(path: Path, batch: Tensors) -> None:
    """Write a batch; its integers, token ids among them, are below 32,768."""
    small = {n: t.short() if t.dtype == torch.int64 else t for n, t in batch.items()}
    save_file(small, path)


def read_batch(path: Path) -> Tensors:
    """The batch of a file."""
    return {n: t.long() if t.dtype == torch.int16 else t for n, t in load_file(path).items()}


def encode(recipe: str, source: str, model: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Write the batches; returns what ``index.json`` has."""
    torch.set_num_threads(1)  # threads do not outlive the forks below
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    of_recipe = read_recipe(find_recipe(recipe))
    settings = msgspec.structs.replace(of_recipe, model=model)
    training = training_rows(settings, source, oracle=False)
    rows = training_columns(training.rows, READS)
    run = Run(make_accelerator(), settings, training.provenance, rows, rows, folder, False)
    tracker = OnePassTracker.at_start(run)
    bounds = dialogue_bounds(rows)
    count = os.cpu_count() or 1

    def write_share(share: int) -> list[tuple[str, int, int]]:
        """Write the batches of every ``count``-th dialogue: name, frames and tokens of each."""
        chosen = [range(*bounds[i : i + 2]) for i in range(share, len(bounds) - 1, count)]
        examples = tracker.noisy_examples(rows.select(np.concatenate(chosen)), settings)
        written: list[tuple[str, int, int]] = []
        size, budget, number = settings.batch_size, settings.token_budget, 0
        while number == 0 or time.monotonic() < end:
            for indices in epoch(examples.lengths, size, budget, settings.seed, number):
                if number and time.monotonic() > end:
                    break
                name = f"train-{share}-{len(written)}.safetensors"
                write_batch(folder / name, examples.batch(indices))
                written.append((name, len(indices), int(examples.lengths[indices].sum())))
            number += 1
        return written

    folder.mkdir(parents=True)
    end = time.monotonic() + seconds
    # A loader's processes are forked, with all that is here; each takes one share.
    forked: Any = DataLoader
    shares = forked(range(count), None, num_workers=count, collate_fn=write_share)
    batches = [line for share in shares for line in share]
    dev = {}
    for name in DEV:
        corpus, words = name.split("-")
        corpus = source if corpus == "SGD" else corpus
        dev[name] = dev_frames(corpus, words, settings.evaluate_frames)
    for name, of_dev in dev.items():
        exact = tracker.examples(training_columns(of_dev, READS))
        examples = FrameExamples(exact, tracker.vocabulary, settings.max_tokens, SchemaNoise(), 0)
        of_dev_batches = epoch(examples.lengths, settings.batch_size, settings.token_budget, 0, 0)
        for number, indices in enumerate(of_dev_batches):
            write_batch(folder / f"dev-{name}-{number}.safetensors", examples.batch(indices))
    originals = [of_dev for name, of_dev in dev.items() if name.endswith("original")]
    index = {
        "settings": of_recipe,
        "seen": training.provenance,
        "source": source,
        "data": {
            "release": open_release(source).version(),
            "train": describe(training.rows),
            "dev": describe(concatenate_datasets(originals)),
        },
        "batches": batches,
    }
    write_json(folder / "index.json", index)
    return index


def dev_frames(source: str, words: str, count: int) -> Dataset:
    """Whole dialogues of validation that have about ``count`` frames."""
    return whole_dialogues(frames(load(words, "validation", source)), count)


if __name__ == "__main__":
    recipe, source, model, folder, seconds = sys.argv[1:]
    encode(recipe, source, model, Path(folder), float(seconds))
