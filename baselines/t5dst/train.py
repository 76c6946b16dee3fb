"""``accelerate launch -m baselines.t5dst.train``: fine-tune an encoder-decoder to track."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import msgspec
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel

from .. import checkpoint
from ..config import Count, Settings
from ..data import GOLD, INPUTS, TrainedOn, describe, dev_frames, spread, training_frames
from ..evaluation import joint_goal_accuracy
from ..launch import accelerator_for, read_settings, run_command, run_record, training_options
from ..run import check_output, versions, write_json
from ..training import Task, train
from .formats import get_format
from .inputs import Inputs, Texts
from .model import About, Tracker, load_model, load_tracker, save_tracker
from .predict import Sizes, predict
from .publish import publish
from .tiny import tiny_t5, tiny_tokenizer


class T5Settings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a sequence-to-sequence training has besides."""

    format: str
    max_input: Count  # tokens of an input; history is cut from its beginning
    max_target: Count  # tokens of an answer
    prediction_tokens: Count = 16384  # in a batch when dev is tracked


def run(options: argparse.Namespace) -> None:
    """Train as a config says; everything is written under ``options.output``."""
    settings = read_settings(options, T5Settings)
    prompt = get_format(settings.format)
    training = training_frames(settings, options.source, options.oracle)
    dev = spread(dev_frames(options.source), settings.evaluate_frames)
    output = options.output or Path("outputs") / options.config.stem
    accelerator = accelerator_for(settings, output)
    data = {"source": options.source, "train": describe(training.rows), "dev": describe(dev)}
    record = run_record(accelerator, settings, training.seen, data)
    check_output(output, record, options.resume)
    accelerator.wait_for_everyone()  # all have looked before one writes
    output.mkdir(parents=True, exist_ok=True)
    texts = Texts()
    texts.read(training.rows.select_columns([*INPUTS, *GOLD]), prompt, shuffle=settings.seed)
    tracker = first_tracker(accelerator, settings, training.seen, texts, output, options.resume)
    inputs = Inputs(texts, tracker.tokenizer, prompt, tracker.limits)
    about = {"oracle": tracker.about.oracle, "cut": inputs.cut, "versions": versions()}
    if accelerator.is_main_process:
        write_json(output / "run.json", {"record": record, **about})
        print(f"oracle: {tracker.about.oracle}; cut to the limits: {inputs.cut}")
    shown = {name: str(value) for name, value in msgspec.to_builtins(settings).items()}
    accelerator.init_trackers("sgdx", shown)
    progress = train(
        accelerator,
        settings,
        _task(accelerator, settings, tracker, inputs, dev, output),
        output,
        options.resume,
    )
    if accelerator.is_main_process:
        print(publish(output, options.push_to_hub) or output / "README.md")
        print(f"best dev joint goal accuracy {progress.best:.4f} at step {progress.best_step}")
    accelerator.end_training()


def first_tracker(
    accelerator: Accelerator,
    settings: T5Settings,
    seen: TrainedOn,
    texts: Texts,
    output: Path,
    resume: bool,
) -> Tracker:
    """The model to begin with: the last checkpoint's, the config's, or a tiny random one."""
    about = About(
        format=settings.format,
        max_input=settings.max_input,
        max_target=settings.max_target,
        **msgspec.structs.asdict(seen),
    )
    if resume and (last := checkpoint.folders(output)):
        return load_tracker(str(last[-1]))
    name = settings.model
    if name == "tiny":
        name = str(output / "initial")
        if accelerator.is_main_process:
            checkpoint.publish(Path(name), lambda place: _make_tiny(place, settings, texts, about))
        accelerator.wait_for_everyone()
    model, tokenizer = load_model(name)
    return Tracker(model, tokenizer, about)


def _make_tiny(place: Path, settings: T5Settings, texts: Texts, about: About) -> None:
    tokenizer = tiny_tokenizer([*texts.histories, *texts.parts, *texts.answers])
    model = tiny_t5(len(tokenizer), settings.seed)
    save_tracker(Tracker(model, tokenizer, about), place, model.state_dict())


def _task(
    accelerator: Accelerator,
    settings: T5Settings,
    tracker: Tracker,
    inputs: Inputs,
    dev: Dataset,
    output: Path,
) -> Task:
    """What the loop asks of this tracker."""
    for part in (tracker.model, tracker.model.get_decoder()):  # each has a config of its own
        part.config.use_cache = False  # of use in generation alone, which asks for it

    def evaluate(model: PreTrainedModel) -> float:
        folder = output / "dev"
        if accelerator.is_main_process:
            shutil.rmtree(folder, ignore_errors=True)
        accelerator.wait_for_everyone()
        told = Tracker(model, tracker.tokenizer, tracker.about)
        sizes = Sizes(tokens=settings.prediction_tokens)
        predicted = predict(told, dev, accelerator, folder, sizes)
        if accelerator.is_main_process:
            shutil.rmtree(folder)
        return joint_goal_accuracy(dev, predicted.rows)

    def save(folder: Path, model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
        save_tracker(Tracker(model, tracker.tokenizer, tracker.about), folder, weights)

    return Task(
        tracker.model,
        inputs.lengths,
        lambda indices: inputs.training_batch(indices, settings.static_shapes),
        evaluate,
        save,
        tracker.about.oracle,
    )


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    return run_command("t5dst", run, training_options("baselines.t5dst.train", __doc__))


if __name__ == "__main__":
    sys.exit(main())
