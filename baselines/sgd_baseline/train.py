"""``accelerate launch -m baselines.sgd_baseline.train``: fine-tune an encoder to track."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel

from sgdx_dataset import SgdxError

from .. import checkpoint
from ..batching import Ints
from ..config import Count, Settings
from ..data import Training, describe, dev_frames, training_frames, whole_dialogues
from ..encoder import corpus_texts, tiny_encoder
from ..evaluation import joint_goal_accuracy
from ..launch import accelerator_for, read_settings, run_command, run_record, training_options
from ..run import check_output, versions, write_json
from ..training import Task, train
from .embeddings import default_cache, embeddings
from .examples import Examples
from .frames import by_turn, read_frames
from .labels import read_labels
from .model import About, Tracker, load_tracker, make_tracker, new_tracker, save_tracker
from .publish import publish
from .schemas import Table
from .track import Sizes, read_inputs, track
from .turns import Turns


class SgdSettings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What this tracker's training has besides. A batch's examples are turns of the user."""

    max_turn: Annotated[int, msgspec.Meta(ge=16)] = 80  # tokens of what system and user say
    prediction_turns: Count = 128  # in a batch when dev is tracked


def run(options: argparse.Namespace) -> None:
    """Train as a config says; everything is written under ``options.output``."""
    settings = read_settings(options, SgdSettings)
    if settings.static_shapes:
        raise SgdxError(f"{options.config}: static_shapes: services differ in size, expected false")
    training = training_frames(settings, options.source, options.oracle)
    dev = whole_dialogues(dev_frames(options.source), settings.evaluate_frames)
    output = options.output or Path("outputs") / options.config.stem
    accelerator = accelerator_for(settings, output)
    data = {"source": options.source, "train": describe(training.rows), "dev": describe(dev)}
    record = run_record(accelerator, settings, training.seen, data)
    check_output(output, record, options.resume)
    accelerator.wait_for_everyone()  # all have looked before one writes
    output.mkdir(parents=True, exist_ok=True)
    tracker = first_tracker(accelerator, settings, training, output, options.resume)
    tracker.model.to(accelerator.device)
    examples = training_examples(tracker, training.rows, accelerator)
    about = {"turns": len(examples.groups), "cut": examples.turns.cut, "labels": _counts(examples)}
    if accelerator.is_main_process:
        said = {"oracle": tracker.about.oracle, **about, "versions": versions()}
        write_json(output / "run.json", {"record": record, **said})
        print(f"oracle: {tracker.about.oracle}; {about}")
    shown = {name: str(value) for name, value in msgspec.to_builtins(settings).items()}
    accelerator.init_trackers("sgdx", shown)
    task = _task(accelerator, settings, tracker, examples, dev, output)
    progress = train(accelerator, settings, task, output, options.resume)
    if accelerator.is_main_process:
        print(publish(output, options.push_to_hub) or output / "README.md")
        print(f"best dev joint goal accuracy {progress.best:.4f} at step {progress.best_step}")
    accelerator.end_training()


def training_examples(tracker: Tracker, rows: Dataset, accelerator: Accelerator) -> Examples:
    """Examples with labels: each turn of a dialogue under each schema variant."""
    found = read_frames(rows)
    turns = Turns(found.texts, tracker.tokenizer, tracker.about.max_turn)
    table = Table(found.schemas)
    labels = read_labels(rows, found, table, turns)
    with accelerator.main_process_first():
        vectors = embeddings(table, tracker.model, tracker.tokenizer, default_cache())
    return Examples(found, by_turn(found), turns, table, vectors, labels)


def first_tracker(
    accelerator: Accelerator,
    settings: SgdSettings,
    training: Training,
    output: Path,
    resume: bool,
) -> Tracker:
    """The model to begin with: the last checkpoint's, of the config's encoder, or of a tiny one."""
    if resume and (last := checkpoint.folders(output)):
        return load_tracker(str(last[-1]))
    about = About(max_turn=settings.max_turn, **msgspec.structs.asdict(training.seen))
    if settings.model != "tiny":
        return make_tracker(settings.model, about)
    initial = output / "initial"
    if accelerator.is_main_process and not initial.exists():
        checkpoint.publish(initial, lambda place: _make_tiny(place, training.rows, about))
    accelerator.wait_for_everyone()
    return load_tracker(str(initial))


def _make_tiny(place: Path, rows: Dataset, about: About) -> None:
    texts = corpus_texts(rows.select_columns(["history", "utterance", "schema"]))
    tracker = new_tracker(*tiny_encoder(texts, hidden=128, seed=about.seed), about)
    save_tracker(tracker, place, tracker.model.state_dict())


def _counts(examples: Examples) -> dict[str, int]:
    return examples.labels.counts if examples.labels is not None else {}


def _task(
    accelerator: Accelerator,
    settings: SgdSettings,
    tracker: Tracker,
    examples: Examples,
    dev: Dataset,
    output: Path,
) -> Task:
    """What the loop asks of this tracker."""
    inputs = read_inputs(tracker, dev, default_cache(), accelerator)

    def collate(indices: Ints) -> dict[str, torch.Tensor]:
        return examples.training_batch(indices.tolist())

    def evaluate(model: PreTrainedModel) -> float:
        folder = output / "dev"
        if accelerator.is_main_process:
            shutil.rmtree(folder, ignore_errors=True)
        accelerator.wait_for_everyone()
        sizes = Sizes(batch=settings.prediction_turns)
        rows = track(model, inputs, accelerator, folder, sizes)  # type: ignore[arg-type]
        if accelerator.is_main_process:
            shutil.rmtree(folder)
        return joint_goal_accuracy(dev, rows)

    def save(folder: Path, model: Any, weights: dict[str, torch.Tensor]) -> None:
        save_tracker(Tracker(model, tracker.tokenizer, tracker.about), folder, weights)

    return Task(tracker.model, examples.lengths, collate, evaluate, save, tracker.about.oracle)


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    parser = training_options("baselines.sgd_baseline.train", __doc__)
    return run_command("sgd_baseline", run, parser)


if __name__ == "__main__":
    sys.exit(main())
