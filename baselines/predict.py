"""Predict a split under every schema variant.

For several processes, accelerate launch -m baselines.predict.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from datasets import concatenate_datasets

from sgdx_dataset import CONFIGS, VARIANTS, SgdxError, frames, load
from sgdx_dataset.release.schema import split_name

from .command_line import add_source, add_struct, read_struct, run_command
from .data.frames import SYSTEM_ACTS, track
from .data.prediction_files import is_finished, write_predictions
from .tracker import (
    PredictionOptions,
    Tracker,
    get_tracker,
    learns,
    tracker_of,
    trained_precision,
)
from .training.run_folder import versions
from .training.settings import Precision

if TYPE_CHECKING:
    from accelerate import Accelerator

DEFAULT_CONFIGS = ("original", *VARIANTS)


@dataclass(frozen=True)
class Request:
    """Which tracker to run on which data.

    Attributes:
        kind: Class of the tracker.
        model: A run folder or a repository on the Hub; for a tracker that is not trained, its
            name.
        options: Options that the tracker adds, of its type ``OPTIONS``.
        source: Where SGD is, as for ``sgdx_dataset.load``.
        configs: Schema variants to predict, without repetition.
        split: ``train``, ``validation`` or ``test``.
        precision: Number format of the model's arithmetic; None for what it was trained in. A
            tracker that is not trained has none.
    """

    kind: type[Tracker]
    model: str
    options: PredictionOptions
    source: str | None
    configs: Sequence[str]
    split: str
    precision: Precision | None = None


def predict(request: Request, output: Path) -> dict[str, Any] | None:
    """Write the predictions for each config into ``CONFIG.jsonl``; finished files are kept.

    Args:
        request: Which tracker to run on which data.
        output: Folder for the files.

    Returns:
        The metadata that the headers of all files have in common; None in all processes but the
        first, which alone writes.

    Raises:
        SgdxError: The model, the source or a config cannot be used, or the folder holds
            predictions of another run.
    """
    accelerator = _accelerator(request.kind)
    first = accelerator is None or accelerator.is_main_process
    numerics, arithmetic = _numerics(request, accelerator)
    tracker = request.kind.load(request.model, request.options, accelerator)
    header = {
        "model": request.model,
        "tracker": request.kind.NAME,
        **tracker.describe(),
        **arithmetic,
        "split": request.split,
        "system_acts": SYSTEM_ACTS in request.kind.READS,
    }
    paths = {config: output / f"{config}.jsonl" for config in request.configs}
    missing = [c for c, path in paths.items() if not is_finished(path, {**header, "variant": c})]
    if missing:
        parts = [frames(load(config, request.split, request.source)) for config in missing]
        shards = output / "shards" / arithmetic.get("precision", "")
        with numerics:
            predicted = track(tracker, concatenate_datasets(parts), shards)
        metadata = {**header, **({"counts": predicted.counts} if predicted.counts else {})}
        if learns(request.kind):
            metadata["versions"] = versions()
        if first:
            for config in missing:
                rows = [row for row in predicted.rows if row["variant"] == config]
                write_predictions(paths[config], {**metadata, "variant": config}, rows)
            shutil.rmtree(output / "shards", ignore_errors=True)
            for name, count in predicted.counts.items():
                print(f"{name}: {count}")
    if accelerator is not None:
        accelerator.wait_for_everyone()
    return header if first else None


def _accelerator(kind: type[Tracker]) -> Accelerator | None:
    if not learns(kind):
        return None
    from transformers.utils import logging

    from .training.accelerator import make_accelerator

    logging.disable_progress_bar()  # transformers would show a bar for each file that it reads
    return make_accelerator()


def _numerics(
    request: Request, accelerator: Accelerator | None
) -> tuple[AbstractContextManager[Any], dict[str, Precision]]:
    """The context to predict in, and the header's entry about it, which names the precision."""
    if accelerator is None:
        return nullcontext(), {}
    from .training.precision import autocast, resolved

    wanted = request.precision or trained_precision(request.model)
    precision = resolved(wanted, accelerator.device)
    return autocast(precision, accelerator.device), {"precision": precision}


def parse_request(name: str, description: str | None, output_help: str) -> tuple[Request, Path]:
    """Read the command line of ``predict`` or ``evaluate``.

    The tracker determines which options exist, so the command line is parsed twice.

    Args:
        name: Module name of the command.
        description: The command's description in the help.
        output_help: Help of ``--output``.

    Returns:
        The request and the output folder.

    Raises:
        SgdxError: The options name no tracker, or an option has a wrong value.
    """
    parser = argparse.ArgumentParser(f"python -m {name}", description=description, add_help=False)
    parser.add_argument("--model", help="a run folder, or a name on the Hub")
    parser.add_argument(
        "--tracker",
        help="lexical, which needs no --model; or the tracker of a --model that does not record it",
    )
    chosen, _ = parser.parse_known_args()
    add_source(parser)
    parser.add_argument(
        "--config",
        nargs="+",
        action="extend",
        metavar="CONFIG",
        help=f"any of {', '.join(CONFIGS)}; default: {' '.join(DEFAULT_CONFIGS)}",
    )
    parser.add_argument("--split", default="test", help="train, validation or test; default: test")
    parser.add_argument(
        "--precision",
        choices=get_args(Precision),
        help="number format of a trained tracker's arithmetic; auto: bf16 where the device has it "
        "natively, else fp32; default: what the model was trained in",
    )
    parser.add_argument("--output", type=Path, required=True, help=output_help)
    parser.add_argument(
        "-h",
        "--help",
        action="help",
        help="show this help and exit; with --tracker NAME, also the options of that tracker",
    )
    kind = _chosen_tracker(chosen)
    if kind is not None:
        add_struct(parser, kind.OPTIONS, f"options of {kind.NAME}")
    options = parser.parse_args()
    if kind is None:
        raise SgdxError("found neither --model nor --tracker, expected one of them")
    if learns(kind) and options.model is None:
        raise SgdxError(f"--tracker {kind.NAME}: it is trained, expected --model too")
    if options.precision is not None and not learns(kind):
        raise SgdxError(f"--precision {options.precision}: {kind.NAME} is not trained, has none")
    tracker_options = read_struct(options, kind.OPTIONS)
    configs = list(dict.fromkeys(options.config or DEFAULT_CONFIGS))
    model = options.model or kind.NAME
    split = split_name(options.split)
    request = Request(
        kind, model, tracker_options, options.source, configs, split, options.precision
    )
    return request, options.output


def _chosen_tracker(options: argparse.Namespace) -> type[Tracker] | None:
    if options.tracker is None and options.model is None:
        return None
    return get_tracker(options.tracker or tracker_of(options.model))


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""

    def run() -> None:
        request, output = parse_request("baselines.predict", __doc__, "folder for CONFIG.jsonl")
        if predict(request, output) is not None:
            print(*(output / f"{config}.jsonl" for config in request.configs), sep="\n")

    return run_command("baselines.predict", run)


if __name__ == "__main__":
    sys.exit(main())
