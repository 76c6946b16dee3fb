"""Predict dialogue states, or what the system says, under every variant: ``sgdx predict``."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from datasets import concatenate_datasets

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.files import locked
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS
from sgdx_eval.prediction_files import Header, finished_names, versions, write_predictions
from sgdx_eval.requested import RequestedData

from .command_line import door, in_words
from .data.kinds import rows_for
from .system import (
    PredictionOptions,
    System,
    get_system,
    is_trainable,
    read_options,
    recorded_name,
    recorded_settings,
)
from .training.settings import Precision

if TYPE_CHECKING:
    from sgdx_eval.data_options import DataOptions

    from .commands import SystemOptions


@dataclass(frozen=True)
class Request:
    """Which system to run on which data."""

    system_class: type[System]
    # A run folder or a repository on the Hub; for a system that is not trained, its name.
    model: str
    options: PredictionOptions
    data: RequestedData
    configs: Sequence[str]  # schema variants to predict, without repetition
    # None for what the model was trained in. A system that is not trained has none.
    precision: Precision | None = None


def make_request(
    system: SystemOptions, data: DataOptions, given: Mapping[str, str], quiet: bool
) -> Request:
    """Check all that a command line asks for, and import the system last, which may need torch."""
    if not (system.model or system.tracker):
        raise SgdxError("found neither --model nor --tracker, expected one of them")
    named = system.tracker or recorded_name(str(system.model))
    options = read_options(named, given)
    requested, configs = data.read()
    requested.check(configs)
    if system.model and is_first() and not quiet:
        print(f"loading {named} from {system.model}", flush=True)
    system_class = get_system(named)
    name = system_class.NAME
    if is_trainable(system_class) and system.model is None:
        raise SgdxError(
            f"--tracker {name}: it is trained, expected --model with the trained model too"
        )
    if system.precision is not None and not is_trainable(system_class):
        raise SgdxError(
            f"--precision {system.precision}: {name} is not trained and has no precision to choose"
        )
    model = system.model or name
    return Request(system_class, model, options, requested, configs, system.precision)


def predict(request: Request, output: Path) -> bool:
    """Write ``CONFIG.jsonl`` for each config; returns whether this is the first process."""
    system_class = request.system_class
    if not is_trainable(system_class):
        with locked(output):
            _predict(request, system_class(), output)
        return True
    from .training.accelerator import make_accelerator, quiet_transformers, spare_threads
    from .training.optimizer import autocast, has_bf16, resolved

    quiet_transformers()
    recipe = recorded_settings(request.model)
    spare_threads(recipe.get("model"))
    accelerator = make_accelerator()
    first: bool = accelerator.is_main_process
    with locked(output) if first else nullcontext():
        accelerator.wait_for_everyone()  # until the first has locked the folder
        precision = request.precision or recipe.get("precision", "auto")
        if not (request.precision or has_bf16(accelerator.device)):
            precision = "fp32"  # emulated, bf16 takes thirty times as long
        precision = resolved(precision, accelerator.device)
        system = system_class.load(request.model, request.options, accelerator)
        with autocast(precision, accelerator.device):
            _predict(request, system, output, first, precision)
        accelerator.wait_for_everyone()
    return first


def _predict(
    request: Request,
    system: System,
    output: Path,
    first: bool = True,
    precision: Precision | None = None,
) -> None:
    """Predict what is missing; the first process writes it."""
    row_functions = rows_for(request.system_class)
    is_tracker = request.system_class.ROWS == "frames"
    facts = {
        "model": request.model,
        "tracker": request.system_class.NAME,
        **system.describe(),
        **({"precision": precision} if precision else {}),
        **({"system_acts": SYSTEM_ACTS in system.READS} if is_tracker else {}),
    }
    oracle = facts.pop("oracle", None)  # which every reader looks for beside the system's facts
    task = "state" if is_tracker else "turns"
    # Without counts and versions, which are known at the end.
    headers = {
        config: Header(
            task=task, variant=config, oracle=oracle, system=facts, **request.data.facts(config)
        )
        for config in request.configs
    }
    finished = finished_names(output, headers)
    missing = [config for config in request.configs if config not in finished]
    if not missing:
        return
    rows = [request.data.rows(config, row_functions.rows_of) for config in missing]
    # Partial results are of these headers.
    digest = hashlib.sha256(msgspec.json.encode(headers, order="deterministic")).hexdigest()
    chunks = output / "chunks" / digest[:16]
    predicted = row_functions.predict(system, concatenate_datasets(rows), chunks)
    if not first:
        return
    made_with = versions() if precision else {}
    for config in missing:
        header = msgspec.structs.replace(
            headers[config], counts=predicted.counts, versions=made_with
        )
        of_variant = [row for row in predicted.rows if row["variant"] == config]
        write_predictions(output / f"{config}.jsonl", header, of_variant)
    shutil.rmtree(output / "chunks", ignore_errors=True)
    if predicted.counts:
        print(f"predicted {in_words(predicted.counts)}")


main = door("predict")

if __name__ == "__main__":
    sys.exit(main())
