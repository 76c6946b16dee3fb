"""What the commands of every tracker share: their options, their processes, how they fail."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import torch
from accelerate import Accelerator
from accelerate.utils import is_bf16_available
from transformers.utils import logging

from sgdx_dataset import VARIANTS, SgdxError

from .augment import ORACLE
from .config import AnySettings, Augment, Settings, read_config
from .data import TrainedOn
from .processes import is_first, make_accelerator


def training_options(module: str, description: str | None) -> argparse.ArgumentParser:
    """The command line of a training."""
    parser = argparse.ArgumentParser(f"python -m {module}", description=description)
    parser.add_argument("--config", type=Path, required=True, help="a recipe: a YAML file")
    parser.add_argument("--source", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--output", type=Path, help="folder of the run; default: outputs/CONFIG")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --output")
    parser.add_argument(
        "--augment",
        metavar="SCHEMAS",
        help="train on other words too: backtrans, oracle, corrupt, or a folder of variants",
    )
    parser.add_argument(
        "--oracle", action="store_true", help="allow schemas that are judged on: an upper bound"
    )
    parser.add_argument("--push-to-hub", metavar="REPO", help="publish the best model at the end")
    return parser


def prediction_options(
    module: str, description: str | None, *, batch: int, tokens: int, shard: int
) -> argparse.ArgumentParser:
    """The command line of a prediction, with these default sizes."""
    parser = argparse.ArgumentParser(f"python -m {module}", description=description)
    parser.add_argument("--model", required=True, help="folder of a training, or name on the Hub")
    parser.add_argument("--source", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--config", nargs="+", action="extend", help="default: original v1 .. v5")
    parser.add_argument("--split", default="test")
    parser.add_argument("--output", type=Path, required=True, help="folder for CONFIG.jsonl")
    parser.add_argument("--batch-size", type=int, default=batch, help="sequences in a batch")
    parser.add_argument("--token-budget", type=int, default=tokens, help="tokens in a batch")
    parser.add_argument("--shard-size", type=int, default=shard, help="what is kept together")
    return parser


def publish_options(module: str, description: str | None) -> argparse.ArgumentParser:
    """The command line that writes a card and pushes."""
    parser = argparse.ArgumentParser(f"python -m {module}", description=description)
    parser.add_argument("--model", type=Path, required=True, help="folder of a training")
    parser.add_argument("--push-to-hub", metavar="REPO", help="you/name")
    return parser


def prediction_configs(options: argparse.Namespace) -> list[str]:
    """The configs to predict, each once."""
    return list(dict.fromkeys(options.config or ["original", *VARIANTS]))


def read_settings(options: argparse.Namespace, kind: type[AnySettings]) -> AnySettings:
    """The recipe's settings, with the augmentation of the command line.

    ``--augment oracle`` says it plainly enough: it stands for ``--oracle`` too.
    """
    settings = read_config(options.config, kind)
    if options.augment is None:
        return settings
    options.oracle = options.oracle or options.augment == ORACLE
    told = settings.augment or Augment(schemas=options.augment)
    told = msgspec.structs.replace(told, schemas=options.augment)
    return msgspec.structs.replace(settings, augment=told)


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


def run_record(
    accelerator: Accelerator, settings: Settings, seen: TrainedOn, data: dict[str, Any]
) -> dict[str, Any]:
    """What decides a training: two runs of one record are one run."""
    processes = accelerator.num_processes
    return {"settings": settings, "seen": seen, "data": data, "processes": processes}


def run_command(
    tracker: str, command: Callable[[argparse.Namespace], Any], parser: argparse.ArgumentParser
) -> int:
    """Run a command of a tracker; 0, or 2 after one line that says what is wrong."""
    logging.disable_progress_bar()  # of transformers, which shows one for each file it writes
    try:
        command(parser.parse_args())
    except SgdxError as error:
        if is_first():
            print(f"{tracker}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0
