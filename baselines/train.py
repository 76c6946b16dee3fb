"""Train a tracker or a generator from a recipe: ``sgdx train``."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import to_builtins
from msgspec.structs import asdict, replace

from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import locked, write_json
from sgdx_dataset.options import EACH, Source

from .recipes import find_recipe, read_recipe
from .run_folder import append_log, check_free, check_output, in_words, public_settings, read_log
from .settings import TINY, Augment

# What is slow to import is imported where it is used: a mistake is told before that.
if TYPE_CHECKING:
    from accelerate import Accelerator
    from datasets import Dataset

    from .data.rows import TrainingRows


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TrainingOptions(Source):
    """What is trained, on what, and where it lies."""

    recipe: Annotated[str, Parameter(metavar="RECIPE")]
    """Train with this recipe: a YAML file, or TRACKER/NAME for a recipe of this package, as in
    onepass/smoke."""

    set: Annotated[Sequence[str], EACH, Parameter(metavar="KEY=VALUE")] = ()
    """Change a setting of the recipe, as in learning_rate=1e-4 or augment.ratio=0.5. The option may
    be given several times. docs/settings.md lists the settings."""

    output: Path | None = None
    """Write the model into this folder. Default: outputs/TRACKER-RECIPE."""

    seed: Annotated[int | None, Parameter(validator=Number(gte=0, lt=2**32))] = None
    """Set the random seed, 0 or more. Default: the recipe's."""

    resume: bool = False
    """Continue the run in --output from its last checkpoint. If the recipe has more steps now, the
    run becomes longer."""

    augment: Annotated[str | None, Parameter(metavar="SCHEMAS")] = None
    """Also train on reworded schemas: backtrans (back-translations), corrupt (words changed at
    random), a folder of your own variants, or oracle (v1 to v5, with --oracle)."""

    oracle: bool = False
    """Allow training on schemas that trackers are evaluated on, as an upper bound. All files of the
    run say so."""

    push_to_hub: Annotated[str | None, Parameter(metavar="REPO")] = None
    """At the end, push the model with the best score on dev to this repository, YOU/NAME."""


def train(options: TrainingOptions) -> None:
    """Train a tracker or a generator from a recipe.

    Ctrl-C keeps a checkpoint, from which --resume goes on. To train with several processes:
    accelerate launch -m sgdx_cli train --recipe RECIPE.
    """
    path = find_recipe(options.recipe)
    settings = read_recipe(path, options.set)
    if options.seed is not None:
        settings = replace(settings, seed=options.seed)
    if options.augment is not None:
        schemas = replace(settings.augment or Augment(), schemas=options.augment)
        settings = replace(settings, augment=schemas)
    output = options.output or Path("outputs") / f"{settings.tracker.split(':')[-1]}-{path.stem}"
    _check(options, settings, output)
    run = _prepare(options, settings, output)
    import torch

    first = run.accelerator.is_main_process
    with ExitStack() as kept:
        for name in settings.TASKS if first else ():
            kept.enter_context(locked(output / name))
        # AdamW's moments of a word that is not read any more fall below the smallest normal number,
        # with which its step takes ten times as long.
        torch.set_flush_denormal(True)
        kept.callback(torch.set_flush_denormal, False)
        _prepare_output(run)
        for name in settings.TASKS:
            _train_task(run, name)
        if len(settings.TASKS) > 1:
            _evaluate_joined(run)
        if first:
            from .publish import publish_model, write_card

            card = write_card(output)
            print(publish_model(output, options.push_to_hub) if options.push_to_hub else card)
        run.accelerator.wait_for_everyone()
        run.accelerator.end_training()


def _check(options: TrainingOptions, settings: Any, output: Path) -> None:
    """Refuse what can be seen to be wrong before torch is loaded, or trained for hours."""
    for name in settings.TASKS if is_first() and not options.resume else ():
        check_free(output / name)
    if options.resume and not any((output / name / "run.json").exists() for name in settings.TASKS):
        raise SgdxError(f"{output}: found no run.json, expected a run to resume")
    for name in settings.log_with:
        if importlib.util.find_spec(name) is None:
            raise SgdxError(f"log_with: {name} is not installed; pip install {name}")
    if getattr(settings, "bits", None):
        require("compressed_tensors", "packed")
    elif getattr(settings, "rounded", 0):
        raise SgdxError("rounded: found no bits, expected 4, 5, 6 or 8 to round to")
    if options.push_to_hub:
        from sgdx_dataset.push import Place, check_upload

        check_upload(Place(options.push_to_hub, "model", "model"))


@dataclass(frozen=True)
class Run:
    """A training: who trains what on which rows, and where it lies."""

    accelerator: Accelerator
    system_class: Any
    settings: Any  # the recipe, of the system's ``Settings``
    training: TrainingRows
    all_dev: Dataset
    dev: Dataset  # those that the models are chosen by
    record: dict[str, Any]  # what a run that goes on must have in common with this one
    output: Path
    resume: bool


def _prepare(options: TrainingOptions, settings: Any, output: Path) -> Run:
    """The run: its processes, its rows, and its record."""
    source = options.named()
    if is_first():  # before the tracker is imported, which takes a while
        print(f"training {settings.tracker} on {source}", flush=True)
    from .system import get_trainable

    system_class = get_trainable(settings.tracker)  # which says what is not installed
    from sgdx_dataset import open_release

    from .batching import share
    from .data.rows import describe, dev_rows, judging_rows, training_rows
    from .precision import resolved
    from .processes import launch_settings, make_accelerator
    from .xla import check_training

    launch = launch_settings()
    accelerator = make_accelerator(
        settings.model,
        gradient_accumulation_steps=settings.accumulation,
        log_with=list(settings.log_with) or None,
        project_dir=output / "logs",
    )
    check_training(accelerator.device, settings)
    settings = replace(settings, precision=resolved(settings.precision, accelerator.device))
    share(settings.batch_size, settings.accumulation, accelerator.num_processes)  # or it is refused
    oracle = options.oracle or options.augment == "oracle"
    training = training_rows(settings, source, oracle, system_class.ROWS)
    all_dev = dev_rows(source, system_class.ROWS)
    dev = judging_rows(all_dev, settings, system_class)
    record = {
        "settings": public_settings(settings),
        "seen": training.provenance,
        "data": {
            "release": open_release(source).version(),
            "train": describe(training.rows),
            "dev": describe(dev),
        },
        "processes": accelerator.num_processes,
        **({"launch": launch} if launch else {}),
    }
    resume = options.resume
    return Run(accelerator, system_class, settings, training, all_dev, dev, record, output, resume)


def _prepare_output(run: Run) -> None:
    """Check that the folders of all tasks can be used, then create them, and a tiny model."""
    from .checkpoint import write_folder
    from .data.rows import visible

    accelerator, output, tasks = run.accelerator, run.output, run.settings.TASKS
    accelerator.wait_for_everyone()  # until the first process has found the folders free
    begun = [name for name in tasks if run.resume and (output / name / "run.json").exists()]
    checks = [check_output(output / name, run.record, name in begun) for name in tasks]
    if extended := max(checks, key=len):
        run.record["extended"] = extended
        (output / "scores.json").unlink(missing_ok=True)  # of the model before
    accelerator.wait_for_everyone()  # every process has checked before the first one writes
    initial = output / "initial"
    if accelerator.is_main_process:
        if not run.resume:  # a run that failed before its first step may have left this folder
            shutil.rmtree(initial, ignore_errors=True)
        for name in tasks:
            (output / name).mkdir(parents=True, exist_ok=True)
        if run.settings.model == TINY and not initial.exists():
            rows = visible(run.training.rows, run.system_class, gold=True)
            tiny = run.system_class.tiny(rows, run.settings)
            write_folder(initial, lambda folder: [of.save_pretrained(folder) for of in tiny])
    accelerator.wait_for_everyone()
    # Loggers accept nothing but texts.
    texts = {name: str(value) for name, value in to_builtins(run.settings).items()}
    accelerator.init_trackers("sgdx", texts)


def _train_task(run: Run, name: str) -> None:
    """Train one model; afterwards its folder holds the one with the best score on dev."""
    from . import checkpoint, loop, xla
    from .data.rows import visible

    accelerator, output, label = run.accelerator, run.output / name, f"{name}: " if name else ""
    tracker_class = run.system_class.PARTS[name] if name else run.system_class
    if last := checkpoint.last(output) if run.resume else None:
        tracker = tracker_class.from_pretrained(last)
    elif run.settings.model == TINY:
        tracker = tracker_class.start(replace(run.settings, model=str(run.output / "initial")))
    else:
        tracker = tracker_class.start(run.settings)
    tracker.seen = replace(tracker.seen, **asdict(run.training.provenance))
    tracker.settings, tracker.data = run.settings, run.training.data
    xla.move(tracker, accelerator.device)
    examples = tracker.examples(visible(run.training.rows, run.system_class, gold=True))
    training = loop.Training(accelerator, tracker, examples, run.dev, output, last)
    settings, processes = training.settings, accelerator.num_processes
    batch = {
        "examples_per_step": settings.batch_size,
        "processes": processes,
        "accumulation": settings.accumulation,
        "examples_per_process": training.size,
    }
    if accelerator.is_main_process:
        facts = _write_record(run, output, run.record, batch=batch, **examples.facts)
        shares = ""
        if processes > 1 or settings.accumulation > 1:
            shares = f" ({processes} processes x {settings.accumulation} batches x {training.size})"
        warning = "an oracle: trained on schemas that it is evaluated on"
        steps = f"{settings.steps} steps of {settings.batch_size} examples{shares}"
        made_on = f"in {settings.precision}, {facts['hardware']}"
        print(f"{label}{steps} {made_on}{f'; {warning}' if facts['oracle'] else ''}")
        print(f"{label}learns from {in_words(examples.facts)}", flush=True)
    progress = loop.train(training)
    accelerator.free_memory()
    if accelerator.is_main_process:
        print(f"{label}best {tracker.in_words(progress.best)} at step {progress.best_step}")


def _evaluate_joined(run: Run) -> None:
    """Track dev with the models of all tasks together, and write ``run.json`` and ``log.jsonl``."""
    from .data.rows import whole_dialogues
    from .precision import autocast
    from .predicting import predict_anew
    from .tracker import joint_goal_accuracy
    from .xla import move

    accelerator, output, tasks = run.accelerator, run.output, run.settings.TASKS
    tracker = move(run.system_class.from_pretrained(output), accelerator.device)
    rows = whole_dialogues(run.all_dev, run.settings.evaluate_frames)
    with autocast(run.settings.precision, accelerator.device):
        predicted = predict_anew(tracker, rows, output / "dev", accelerator)
    if accelerator.is_main_process:
        data = run.record["data"] | {"dev": {"frames": len(rows)}}
        _write_record(run, output, run.record | {"data": data}, tracker.describe()["oracle"])
        (output / "log.jsonl").unlink(missing_ok=True)
        steps = sum(max(line["step"] for line in read_log(output / task)) for task in tasks)
        score = joint_goal_accuracy(rows, predicted)
        append_log(output, {"step": steps, "dev_joint_goal_accuracy": score})
        # AutoModel looks for code at the top of a repository, even for a model in a subfolder.
        for code in (output / tasks[0]).glob("*.py"):
            shutil.copy(code, output)
        print(f"all models together: dev joint goal accuracy {score:.4f}")


def _write_record(run: Run, folder: Path, record: Any, oracle: bool = False, **facts: Any) -> Any:
    """Write ``run.json``: the record of a run, and the facts of this start of it."""
    from sgdx_eval.predictions import versions

    from .processes import hardware

    facts = {"oracle": oracle or run.training.provenance.oracle, **facts}
    facts |= {"versions": versions(), "hardware": hardware(run.accelerator)}
    write_json(folder / "run.json", {"record": record, **facts}, renews=True)
    return facts
