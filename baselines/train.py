"""Train a tracker or a generator from a recipe: ``sgdx train``."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

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

ANY = Source()
Record = dict[str, Any]


def train(
    data: Source = ANY,
    *,
    recipe: Annotated[str, Parameter(metavar="RECIPE")],
    set: Annotated[Sequence[str], EACH, Parameter(metavar="KEY=VALUE")] = (),
    output: Path | None = None,
    seed: Annotated[int | None, Parameter(validator=Number(gte=0, lt=2**32))] = None,
    resume: bool = False,
    task: Sequence[str] = (),
    augment: Annotated[str | None, Parameter(metavar="SCHEMAS")] = None,
    oracle: bool = False,
    push_to_hub: Annotated[str | None, Parameter(metavar="REPO")] = None,
) -> None:
    """Train a tracker or a generator from a recipe.

    Ctrl-C keeps a checkpoint, from which --resume goes on. To train with several processes:
    accelerate launch -m sgdx_cli train --recipe RECIPE.

    Parameters
    ----------
    recipe
        Train with this recipe: a YAML file, or TRACKER/NAME for a recipe of this package, as in
        onepass/smoke.
    set
        Change a setting of the recipe, as in learning_rate=1e-4 or augment.ratio=0.5. The option
        may be given several times. docs/settings.md lists the settings.
    output
        Write the model into this folder. Default: outputs/TRACKER-RECIPE.
    seed
        Set the random seed, 0 or more. Default: the recipe's.
    resume
        Continue the run in --output from its last checkpoint. If the recipe has more steps now, the
        run becomes longer.
    task
        For a tracker of several models, such as sgp_dst: train only these. Default: all.
    augment
        Also train on reworded schemas: backtrans (back-translations), corrupt (words changed at
        random), a folder of your own variants, or oracle (v1 to v5, with --oracle).
    oracle
        Allow training on schemas that trackers are evaluated on, as an upper bound. All files of
        the run say so.
    push_to_hub
        At the end, push the model with the best score on dev to this repository, YOU/NAME.
    """
    path = find_recipe(recipe)
    settings = read_recipe(path, set)
    if seed is not None:
        settings = msgspec.structs.replace(settings, seed=seed)
    if augment is not None:
        schemas = msgspec.structs.replace(settings.augment or Augment(schemas=""), schemas=augment)
        settings = msgspec.structs.replace(settings, augment=schemas)
    tasks = list(dict.fromkeys(task or settings.TASKS))
    output = output or Path("outputs") / f"{settings.tracker.split(':')[-1]}-{path.stem}"
    _check(settings, tasks, output, resume, push_to_hub)
    source = data.named()
    if is_first():  # before torch is imported, which takes a while
        print(f"training {settings.tracker} on {source}", flush=True)
    run = _prepare(settings, source, oracle or augment == "oracle", output, resume)
    from .processes import denormals_are_zero
    from .publish import publish_model, write_card

    first = run.accelerator.is_main_process
    with ExitStack() as kept:
        for name in tasks if first else ():
            kept.enter_context(locked(output / name))
        kept.enter_context(denormals_are_zero())
        _prepare_output(run, tasks)
        for name in tasks:
            _train_task(run, name)
        is_whole = all(any((output / name).glob("*.safetensors")) for name in settings.TASKS)
        if is_whole and len(settings.TASKS) > 1:
            _evaluate_joined(run)
        if is_whole and first:
            card = write_card(output)
            print(publish_model(output, push_to_hub) if push_to_hub else card)
        run.accelerator.wait_for_everyone()
        run.accelerator.end_training()


def _check(
    settings: Any, tasks: Sequence[str], output: Path, resume: bool, push_to_hub: str | None
) -> None:
    """Refuse what can be seen to be wrong before torch is loaded, or trained for hours."""
    for name in tasks:
        if name not in settings.TASKS:
            known = ", ".join(filter(None, settings.TASKS)) or "none"
            raise SgdxError(f"--task {name}: {settings.tracker} has no such task, expected {known}")
        if not resume and is_first():
            check_free(output / name)
    if resume and not any((output / name / "run.json").exists() for name in tasks):
        raise SgdxError(f"{output}: found no run.json, expected a run to resume")
    for name in settings.log_with:
        if importlib.util.find_spec(name) is None:
            raise SgdxError(f"log_with: {name} is not installed; pip install {name}")
    if getattr(settings, "bits", None):
        require("compressed_tensors", "packed")
    elif getattr(settings, "rounded", 0):
        raise SgdxError("rounded: found no bits, expected 4, 5, 6 or 8 to round to")
    schemas = settings.augment.schemas if settings.augment else "backtrans"
    if schemas not in ("backtrans", "oracle", "corrupt") and not Path(schemas).exists():
        raise SgdxError(
            f"augment: {schemas}: no such folder or file, expected one of variants, an overlay, or "
            "backtrans, oracle or corrupt"
        )
    if push_to_hub:
        from sgdx_dataset.push import Place, check_upload

        trained = [name for name in settings.TASKS if any((output / name).glob("*.safetensors"))]
        if lacking := [name for name in settings.TASKS if name not in (*tasks, *trained)]:
            found = f"found no model of {', '.join(lacking)}"
            raise SgdxError(f"--push-to-hub {push_to_hub}: {found}, expected all parts")
        check_upload(Place(push_to_hub, "model", "model"))


@dataclass(frozen=True)
class Run:
    """A training: who trains what on which rows, and where it lies."""

    accelerator: Accelerator
    system_class: Any
    settings: Any  # the recipe, of the system's ``Settings``
    training: Any  # the train rows with all columns, and what a model of them has seen
    all_dev: Dataset
    dev: Dataset  # those that the models are chosen by
    record: Record  # what a run that goes on must have in common with this one
    output: Path
    resume: bool


def _prepare(settings: Any, source: str, oracle: bool, output: Path, resume: bool) -> Run:
    """The run: its processes, its rows, and its record."""
    from datasets import concatenate_datasets

    from sgdx_dataset import open_release

    from .system import get_trainable

    system_class = get_trainable(settings.tracker)  # which says what is not installed
    from .batching import share
    from .data.rows import describe, dev_rows, training_rows
    from .precision import resolved
    from .processes import launch_settings, make_accelerator, quiet_transformers, spare_threads
    from .xla import check_training

    quiet_transformers()
    launch = launch_settings()
    spare_threads(settings.model)
    accelerator = make_accelerator(
        gradient_accumulation_steps=settings.accumulation,
        log_with=list(settings.log_with) or None,
        project_dir=output / "logs",
    )
    check_training(accelerator.device, settings)
    precision = resolved(settings.precision, accelerator.device)
    settings = msgspec.structs.replace(settings, precision=precision)
    share(settings.batch_size, settings.accumulation, accelerator.num_processes)
    training = training_rows(settings, source, oracle, system_class.ROWS)
    all_dev = dev_rows(source, system_class.ROWS)
    dev = system_class.dev(all_dev, settings.evaluate_frames)
    if settings.also is not None:  # as many rows of the second corpus
        of_second = dev_rows(settings.also.source, system_class.ROWS)
        second = system_class.dev(of_second, settings.evaluate_frames)
        if not {*dev["dialogue_id"]}.isdisjoint(second["dialogue_id"]):
            ids = [c for c in ("dialogue_id", "frame_id", "turn_id") if c in second.column_names]
            second = second.map(lambda row: {column: f"also-{row[column]}" for column in ids})
        dev = concatenate_datasets([dev, second])
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
    return Run(accelerator, system_class, settings, training, all_dev, dev, record, output, resume)


def _prepare_output(run: Run, tasks: Sequence[str]) -> None:
    """Check that the folders of all tasks can be used, then create them, and a tiny model."""
    from .checkpoint import write_folder
    from .data.rows import visible

    accelerator, output = run.accelerator, run.output
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

            def write(folder: Path) -> None:
                for part in tiny:  # model and tokenizer
                    part.save_pretrained(folder)

            write_folder(initial, write)
    accelerator.wait_for_everyone()
    # Loggers accept nothing but texts.
    texts = {n: str(value) for n, value in msgspec.to_builtins(run.settings).items()}
    accelerator.init_trackers("sgdx", texts)


def _train_task(run: Run, name: str) -> None:
    """Train one model; afterwards its folder holds the one with the best score on dev."""
    from sgdx_eval.predictions import versions

    from . import checkpoint, loop, xla
    from .data.rows import visible
    from .processes import hardware

    accelerator, output = run.accelerator, run.output / name
    label = f"{name}: " if name else ""
    tracker_class = run.system_class.PARTS[name] if name else run.system_class
    if last := checkpoint.last(output) if run.resume else None:
        tracker = tracker_class.from_pretrained(last)
    elif run.settings.model == TINY:
        initial = str(run.output / "initial")
        tracker = tracker_class.start(msgspec.structs.replace(run.settings, model=initial))
    else:
        tracker = tracker_class.start(run.settings)
    trained_on = msgspec.structs.asdict(run.training.provenance)
    tracker.seen = msgspec.structs.replace(tracker.seen, **trained_on)
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
        oracle, made_on = run.training.provenance.oracle, hardware(accelerator)
        facts = {"oracle": oracle, "batch": batch, **examples.facts}
        facts |= {"versions": versions(), "hardware": made_on}
        write_json(output / "run.json", {"record": run.record, **facts}, renews=True)
        shares = ""
        if processes > 1 or settings.accumulation > 1:
            shares = f" ({processes} processes x {settings.accumulation} batches x {training.size})"
        warning = "; an oracle: trained on schemas that it is evaluated on" if oracle else ""
        steps = f"{settings.steps} steps of {settings.batch_size} examples{shares}"
        print(f"{label}{steps} in {settings.precision}, {made_on}{warning}")
        print(f"{label}learns from {in_words(examples.facts)}", flush=True)
    progress = loop.train(training)
    accelerator.free_memory()
    if accelerator.is_main_process:
        measure = tracker.MEASURE.replace("_", " ")
        best = f"{100 * progress.best:.2f}{'' if 'bleu' in measure else ' %'}"
        print(f"{label}best {measure} {best} at step {progress.best_step}")


def _evaluate_joined(run: Run) -> None:
    """Track dev with the models of all tasks together, and write ``run.json`` and ``log.jsonl``."""
    from sgdx_eval.predictions import versions

    from .data.rows import whole_dialogues
    from .precision import autocast
    from .predicting import predict_anew
    from .processes import hardware
    from .tracker import joint_goal_accuracy
    from .xla import move

    accelerator, output, tasks = run.accelerator, run.output, run.settings.TASKS
    tracker = move(run.system_class.from_pretrained(output), accelerator.device)
    rows = whole_dialogues(run.all_dev, run.settings.evaluate_frames)
    with autocast(run.settings.precision, accelerator.device):
        predicted = predict_anew(tracker, rows, output / "dev", accelerator)
    if accelerator.is_main_process:
        score = joint_goal_accuracy(rows, predicted)
        data = run.record["data"] | {"dev": {"frames": len(rows)}}
        facts = {"versions": versions(), "hardware": hardware(accelerator)}
        facts = {"oracle": tracker.describe()["oracle"], **facts}
        write_json(
            output / "run.json", {"record": run.record | {"data": data}, **facts}, renews=True
        )
        (output / "log.jsonl").unlink(missing_ok=True)
        steps = sum(max(line["step"] for line in read_log(output / task)) for task in tasks)
        append_log(output, {"step": steps, "dev_joint_goal_accuracy": score})
        # AutoModel looks for code at the top of a repository, even for a model in a subfolder.
        for code in (output / tasks[0]).glob("*.py"):
            shutil.copy(code, output)
        print(f"all models together: dev joint goal accuracy {score:.4f}")
