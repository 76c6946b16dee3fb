"""``accelerate launch -m baselines.t5dst.train``: fine-tune an encoder-decoder to track."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import torch
from accelerate import Accelerator
from accelerate.utils import is_bf16_available
from datasets import Dataset
from transformers import PreTrainedModel
from transformers.utils import logging

from sgdx_dataset import SgdxError

from .. import checkpoint
from ..config import Count, Settings, read_config
from ..data import GOLD, INPUTS, describe, dev_frames, is_oracle, training_frames
from ..evaluation import joint_goal_accuracy
from ..processes import is_first, make_accelerator
from ..run import check_output, versions, write_json
from ..training import Progress, Task, train
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


def run(options: argparse.Namespace) -> Progress:
    """Train as a config says; everything is written under ``options.output``."""
    settings = read_config(options.config, T5Settings)
    prompt = get_format(settings.format)
    rows = training_frames(settings.train, options.source, options.oracle)
    dev = dev_frames(options.source, settings.evaluate_frames)
    output = options.output or Path("outputs") / options.config.stem
    accelerator = accelerator_for(settings, output)
    data = {"source": options.source, "train": describe(rows), "dev": describe(dev)}
    record = {"settings": settings, "data": data, "processes": accelerator.num_processes}
    check_output(output, record, options.resume)
    accelerator.wait_for_everyone()  # all have looked before one writes
    output.mkdir(parents=True, exist_ok=True)
    texts = Texts()
    texts.read(rows.select_columns([*INPUTS, *GOLD]), prompt, shuffle=settings.seed)
    tracker = first_tracker(accelerator, settings, texts, output, options.resume)
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
    accelerator.end_training()
    return progress


def accelerator_for(settings: Settings, output: Path) -> Accelerator:
    """Where to train, in what precision and whom to tell.

    Raises:
        SgdxError: A package to log with is not installed.
    """
    for name in settings.log_with:
        if importlib.util.find_spec(name) is None:
            raise SgdxError(f"log_with: {name} is not installed; pip install {name}")
    precision: str | None = settings.precision
    if precision == "auto":  # as accelerate launch was told, else what the hardware has
        has = torch.cuda.is_available() and is_bf16_available()
        precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "bf16" if has else "no")
    return make_accelerator(
        mixed_precision=precision,
        gradient_accumulation_steps=settings.accumulation,
        log_with=list(settings.log_with) or None,
        project_dir=output / "logs",
    )


def first_tracker(
    accelerator: Accelerator, settings: T5Settings, texts: Texts, output: Path, resume: bool
) -> Tracker:
    """The model to begin with: the last checkpoint's, the config's, or a tiny random one."""
    about = About(
        format=settings.format,
        max_input=settings.max_input,
        max_target=settings.max_target,
        train=settings.train,
        oracle=is_oracle(settings.train),
        seed=settings.seed,
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


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser("python -m baselines.t5dst.train", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="a recipe: a YAML file")
    parser.add_argument("--source", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--output", type=Path, help="folder of the run; default: outputs/CONFIG")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --output")
    parser.add_argument(
        "--oracle", action="store_true", help="allow variants in train: an upper bound"
    )
    parser.add_argument("--push-to-hub", metavar="REPO", help="publish the best model at the end")
    return parser.parse_args()


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""
    logging.disable_progress_bar()  # of transformers, which shows one for each file it writes
    try:
        progress: Any = run(parse())
    except SgdxError as error:
        if is_first():
            print(f"t5dst: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    if is_first():
        print(f"best dev joint goal accuracy {progress.best:.4f} at step {progress.best_step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
