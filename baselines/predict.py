"""Predict dialogue states, or what the system says, under every wording: ``sgdx predict``."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from datasets import concatenate_datasets

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.files import locked
from sgdx_dataset.rows.tracker_inputs import SYSTEM_ACTS
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


def predict(request: Request, output: Path) -> bool:
    """Write ``CONFIG.jsonl`` for each config; returns whether this is the first process."""
    system_class = request.system_class
    if not is_trainable(system_class):
        with locked(output):
            _predict(request, system_class(), output, {})
        return True
    from .training.accelerator import make_accelerator, quiet_transformers, spare_threads
    from .training.optimizer import autocast, resolved

    quiet_transformers()
    recipe = recorded_settings(request.model)
    spare_threads(recipe.get("model"))
    accelerator = make_accelerator()
    first: bool = accelerator.is_main_process
    with locked(output) if first else nullcontext():
        accelerator.wait_for_everyone()  # until the first has locked the folder
        precision = request.precision or recipe.get("precision", "auto")
        precision = resolved(precision, accelerator.device)
        system = system_class.load(request.model, request.options, accelerator)
        numerics = autocast(precision, accelerator.device)
        _predict(request, system, output, {"precision": precision}, numerics, first)
        accelerator.wait_for_everyone()
    return first


def _predict(
    request: Request,
    system: System,
    output: Path,
    arithmetic: dict[str, Precision],
    numerics: AbstractContextManager[Any] | None = None,
    first: bool = True,
) -> None:
    """Predict what is missing; the first process writes it."""
    headers = _headers(request, system, arithmetic)
    finished = finished_names(output, headers)
    missing = [config for config in request.configs if config not in finished]
    if not missing:
        return
    row_functions = rows_for(request.system_class)
    rows = [request.data.rows(config, row_functions.rows_of) for config in missing]
    # Partial results are of these headers.
    digest = hashlib.sha256(msgspec.json.encode(headers, order="deterministic")).hexdigest()
    chunks = output / "chunks" / digest[:16]
    with numerics or nullcontext():
        predicted = row_functions.predict(system, concatenate_datasets(rows), chunks)
    if not first:
        return
    made_with = versions() if is_trainable(request.system_class) else {}
    for config in missing:
        header = msgspec.structs.replace(
            headers[config], counts=predicted.counts, versions=made_with
        )
        of_variant = [row for row in predicted.rows if row["variant"] == config]
        write_predictions(output / f"{config}.jsonl", header, of_variant)
    shutil.rmtree(output / "chunks", ignore_errors=True)
    if predicted.counts:
        print(f"predicted {in_words(predicted.counts)}")


def _headers(
    request: Request, system: System, arithmetic: dict[str, Precision]
) -> dict[str, Header]:
    """The header of each config's file, without counts and versions."""
    is_tracker = request.system_class.ROWS == "frames"
    facts = {
        "model": request.model,
        "tracker": request.system_class.NAME,
        **system.describe(),
        **arithmetic,
        **({"system_acts": SYSTEM_ACTS in system.READS} if is_tracker else {}),
    }
    oracle = facts.pop("oracle", None)  # which every reader looks for beside the system's facts
    task = "state" if is_tracker else "turns"
    return {
        config: Header(
            task=task, variant=config, oracle=oracle, system=facts, **request.data.facts(config)
        )
        for config in request.configs
    }


def make_request(
    model: str | None,
    tracker: str | None,
    precision: Precision | None,
    given: Mapping[str, str],
    data: RequestedData,
    configs: Sequence[str],
    quiet: bool,
) -> Request:
    """Check all that a command line asks for, and import the system last, which may need torch."""
    named = tracker or recorded_name(str(model))
    options = read_options(named, given)
    data.check(configs)
    if model and is_first() and not quiet:
        print(f"loading {named} from {model}", flush=True)
    system_class = get_system(named)
    name = system_class.NAME
    if is_trainable(system_class) and model is None:
        raise SgdxError(
            f"--tracker {name}: it is trained, expected --model with the trained model too"
        )
    if precision is not None and not is_trainable(system_class):
        raise SgdxError(
            f"--precision {precision}: {name} is not trained and has no precision to choose"
        )
    return Request(system_class, model or name, options, data, configs, precision)


main = door("predict")

if __name__ == "__main__":
    sys.exit(main())
