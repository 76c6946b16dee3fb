"""Predict dialogue states, or what the system says, under every variant: ``sgdx predict``."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter

from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import locked
from sgdx_eval.data_options import DataOptions

from .run_folder import in_words, recorded_name, recorded_settings, without_folders
from .settings import Precision, PredictionOptions

if TYPE_CHECKING:
    from accelerate import Accelerator

    from sgdx_eval.predictions import Header
    from sgdx_eval.requested import RequestedData

    from .system import System


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """Which system predicts, and how."""

    model: str | None = None
    """Use this trained model: a folder of 'sgdx train', or a name on the Hub."""

    tracker: Annotated[str | None, Parameter(metavar="NAME")] = None
    """Use this tracker, which is not trained, instead of --model: lexical, or MODULE:CLASS for your
    own class. Together with --model: name the tracker of a model that does not state it."""

    keep: bool = False
    """Keep the predictions of your own class that are in --output already, and go on with a run
    that was killed. Without it they are made anew, as its code may have changed; those of this
    package's trackers are always kept if model and data are the same."""


NONE, ALL = SystemOptions(), DataOptions()


def predict(
    system_: SystemOptions = NONE,  # a word --system is an option of the tracker's, that it lacks
    data_: DataOptions = ALL,
    *,
    output: Path,
    quiet: bool = False,
    **tracker_options: str,
) -> None:
    """Predict states, or what the system says, under every variant.

    The output folder then holds VARIANT.jsonl for each variant. Existing files are kept if model
    and data are the same. To resume a run that was killed, give the same command again. To predict
    with several processes: accelerate launch -m sgdx_cli predict.

    Parameters
    ----------
    output
        Write VARIANT.jsonl for each variant into this folder.
    quiet
        Do not print the paths of the files.
    tracker_options
        An option of the tracker's own. With --model or --tracker, --help shows which there are.
    """
    request = make_request(system_, data_, tracker_options, quiet)
    if write_predictions(request, output) and not quiet:
        print(*(output / f"{config}.jsonl" for config in request.configs), sep="\n")


@dataclass(frozen=True)
class Request:
    """Which system to run on which data."""

    system_class: type[System]
    # A run folder or a repository on the Hub; for a system that is not trained, its name.
    model: str
    options: PredictionOptions
    data: RequestedData
    configs: Sequence[str]  # schema variants to predict, without repetition
    keep: bool = True  # whether what is there already is kept


def make_request(
    system: SystemOptions, data: DataOptions, given: Mapping[str, str], quiet: bool
) -> Request:
    """Check all that a command line asks for, and import the system last, which may need torch."""
    from .system import SYSTEMS, get_system, read_options

    if not (system.model or system.tracker):
        raise SgdxError("found neither --model nor --tracker, expected one of them")
    named = system.tracker or recorded_name(str(system.model))
    options = read_options(named, given)
    requested, configs = data.read()
    requested.check(configs)
    if system.model and is_first() and not quiet:
        print(f"loading {named} from {system.model}", flush=True)
    system_class = get_system(named)
    name, is_trained = system_class.NAME, system_class.Settings is not None
    if is_trained and system.model is None:
        raise SgdxError(
            f"--tracker {name}: it is trained, expected --model with the trained model too"
        )
    if system.model and not is_trained:
        raise SgdxError(
            f"--model {system.model}: {name} is not trained and reads no model, expected either"
        )
    keep = system.keep or named in SYSTEMS
    return Request(system_class, system.model or name, options, requested, configs, keep)


def write_predictions(request: Request, output: Path) -> bool:
    """Write ``VARIANT.jsonl`` for each variant; returns whether this is the first process."""
    from sgdx_eval.predictions import finished_names

    with ExitStack() as kept:
        system, accelerator, precision = _begin(request, output, kept)
        headers = _headers(request, system, precision)
        finished = finished_names(output, headers) if request.keep else []
        missing = {config: headers[config] for config in request.configs if config not in finished}
        if missing:
            _predict(request, system, missing, output, accelerator)
        if accelerator is not None:
            accelerator.wait_for_everyone()
    return is_first()


def _predict(
    request: Request,
    system: System,
    missing: Mapping[str, Header],
    output: Path,
    accelerator: Accelerator | None,
) -> None:
    """Predict the variants that are missing; the first process writes them."""
    from datasets import concatenate_datasets

    from sgdx_eval.predictions import versions, write_predictions

    from .data.rows import ROWS_OF
    from .predicting import predict

    rows = [request.data.rows(config, ROWS_OF[system.ROWS]) for config in missing]
    # Partial results are of these headers and options.
    made_of = msgspec.json.encode((missing, request.options), order="deterministic")
    chunks = output / "chunks" / hashlib.sha256(made_of).hexdigest()[:16]
    if not request.keep:
        shutil.rmtree(chunks, ignore_errors=True)
    # Systems that are not trained are fast, so no partial results of theirs are kept.
    folder = chunks if accelerator else None
    predicted = predict(system, concatenate_datasets(rows), folder, accelerator)
    if not is_first():
        return
    made_with = versions() if accelerator else {}
    for config, header in missing.items():
        whole = msgspec.structs.replace(header, counts=predicted.counts, versions=made_with)
        of_variant = [row for row in predicted.rows if row["variant"] == config]
        write_predictions(output / f"{config}.jsonl", whole, of_variant)
    for partial in (output / "chunks").glob("*"):  # of earlier headers and options too
        if re.fullmatch("[0-9a-f]{16}", partial.name):
            shutil.rmtree(partial, ignore_errors=True)
    with suppress(OSError):  # where there is more, which is not ours
        (output / "chunks").rmdir()
    if predicted.counts:
        print(f"predicted {in_words(predicted.counts)}")


def _begin(
    request: Request, output: Path, kept: ExitStack
) -> tuple[System, Accelerator | None, Precision | None]:
    """The system, ready to predict; ``kept`` keeps the folder for this run, and its precision."""
    if request.system_class.Settings is None:
        system = request.system_class()
        kept.enter_context(locked(output))
        if hasattr(system, "fit"):
            from .data.rows import counted_rows

            system.fit(counted_rows(request.data.source, system))
        return system, None, None
    from .precision import autocast, has_bf16, resolved
    from .processes import make_accelerator
    from .xla import move

    recipe = recorded_settings(request.model)
    accelerator = make_accelerator(recipe.get("model"))
    if accelerator.is_main_process:
        kept.enter_context(locked(output))
    accelerator.wait_for_everyone()  # until the first has locked the folder
    # That of the training; emulated, bf16 takes thirty times as long.
    is_fast = has_bf16(accelerator.device)
    trained_in: Precision = recipe.get("precision", "auto") if is_fast else "fp32"
    precision = resolved(trained_in, accelerator.device)
    trained: Any = request.system_class
    options = msgspec.structs.asdict(request.options)
    tracker = move(trained.from_pretrained(request.model, **options), accelerator.device)
    kept.enter_context(autocast(precision, accelerator.device))
    return tracker, accelerator, precision


def _headers(request: Request, system: System, precision: Precision | None) -> dict[str, Header]:
    """What the files of each variant say, without counts and versions, known at the end."""
    from sgdx_dataset.configs import BACKTRANS, CONFIGS
    from sgdx_dataset.tracker_inputs import SYSTEM_ACTS
    from sgdx_eval.predictions import Header

    from .data.augment import CORRUPT

    facts = {
        "model": without_folders(request.model),
        "tracker": system.NAME,
        **system.describe(),
        **({"precision": precision} if precision else {}),
        **({"system_acts": SYSTEM_ACTS in system.READS} if system.ROWS == "frames" else {}),
    }
    oracle = facts.pop("oracle", None)  # which every reader looks for beside the system's facts
    # It says of v1 to v5. Own words may be those that the model was trained on: nobody knows.
    seen = [name for name in facts.get("train", ()) if name not in CONFIGS]
    own_seen = [name for name in seen if not name.startswith((BACKTRANS, CORRUPT))]
    unsure = set(request.data.variants if own_seen and not oracle else ())
    if unsure and is_first():
        said = f"the model was trained on words of its owner's ({', '.join(own_seen)})"
        those = f"those of {', '.join(sorted(unsure))} are among them"
        print(f"note: {said}; whether {those} is not known", file=sys.stderr)
    return {
        config: Header(
            task="state" if system.ROWS == "frames" else "turns",
            variant=config,
            oracle=None if config in unsure else oracle,
            system=facts,
            **request.data.facts(config),
        )
        for config in request.configs
    }


def print_tracker_options(words: Sequence[str]) -> None:
    """Print the options of the tracker that a command line names, if it names one."""
    named = dict(pairwise(words)) | {
        name: value for name, equals, value in (word.partition("=") for word in words) if equals
    }
    model, tracker = named.get("--model"), named.get("--tracker")
    if tracker or model:
        from .system import option_help

        print(option_help(tracker or recorded_name(str(model))))
