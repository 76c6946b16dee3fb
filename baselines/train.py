"""Train a tracker or a generator from a recipe: ``sgdx train``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from datasets import Dataset, concatenate_datasets

from sgdx_dataset import SgdxError, open_release
from sgdx_dataset.io.console import is_first
from sgdx_dataset.io.files import locked
from sgdx_dataset.push import check_upload
from sgdx_eval.prediction_files import versions

from .command_line import door, in_words
from .data.augment import ORACLE
from .data.frames import track, whole_dialogues
from .data.kinds import rows_for
from .publish import publish
from .system import SystemClass, get_trainable, settings_of
from .training.batching import share
from .training.run_folder import append_log, check_output, read_log, write_json
from .training.settings import Augment, Settings, find_recipe, read_recipe, recipe_tracker
from .training.task import Run

# What needs torch is imported where it is used, so that without torch the command ends in one line.
if TYPE_CHECKING:
    from accelerate import Accelerator

Record = dict[str, Any]


def train(
    source: str,
    config: str,
    output: Path | None,
    seed: int | None,
    resume: bool,
    chosen: Sequence[str],
    augment: str | None,
    oracle: bool,
    repository: str | None,
) -> None:
    """Train the tasks of the recipe's tracker; all files are written into the run folder."""
    recipe = find_recipe(config)
    tracker = recipe_tracker(recipe)
    settings = read_recipe(recipe, settings_of(tracker))
    if seed is not None:
        settings = msgspec.structs.replace(settings, seed=seed)
    if augment is not None:
        schemas = settings.augment or Augment(schemas=augment)
        schemas = msgspec.structs.replace(schemas, schemas=augment)
        settings = msgspec.structs.replace(settings, augment=schemas)
    if is_first():  # before torch is imported, which takes a while
        print(f"training {tracker} on {source}", flush=True)
    system_class = get_trainable(tracker)
    from .training.accelerator import quiet_transformers, training_accelerator
    from .training.optimizer import resolved

    quiet_transformers()
    for name in chosen:
        if name not in system_class.TASKS:
            known = ", ".join(filter(None, system_class.TASKS)) or "none"
            raise SgdxError(f"--task {name}: {tracker} has no such task, expected {known}")
    tasks = list(dict.fromkeys(chosen or system_class.TASKS))
    if repository:
        check_upload(repository)  # before hours of training, not after them
    output = output or Path("outputs") / f"{tracker}-{recipe.stem}"
    accelerator = training_accelerator(settings, output)
    precision = resolved(settings.precision, accelerator.device)
    settings = msgspec.structs.replace(settings, precision=precision)
    share(settings.batch_size, settings.accumulation, accelerator.num_processes)
    row_functions = rows_for(system_class)
    oracle = oracle or augment == ORACLE  # which the name implies
    training = row_functions.training(settings, source, oracle)
    all_dev = row_functions.dev(source)
    dev = system_class.dev(all_dev, settings.evaluate_frames)
    if settings.also is not None:  # as many rows of the second corpus
        second = system_class.dev(row_functions.dev(settings.also.source), settings.evaluate_frames)
        if not set(dev["dialogue_id"]).isdisjoint(second["dialogue_id"]):
            ids = [c for c in ("dialogue_id", "frame_id", "turn_id") if c in second.column_names]
            second = second.map(lambda row: {column: f"also-{row[column]}" for column in ids})
        dev = concatenate_datasets([dev, second])
    record = {
        "settings": settings,
        "seen": training.provenance,
        "data": {
            "release": open_release(source).version(),
            "train": row_functions.describe(training.rows),
            "dev": row_functions.describe(dev),
        },
        "processes": accelerator.num_processes,
    }
    rows = row_functions.training_columns(training.rows, system_class.READS)
    run = Run(accelerator, settings, training.provenance, rows, dev, output, resume)
    with ExitStack() as locks:
        if accelerator.is_main_process:
            for name in tasks:
                locks.enter_context(locked(output / name))
        if extended := prepare_output(accelerator, output, tasks, record, resume):
            record["extended"] = extended
            (output / "scores.json").unlink(missing_ok=True)  # of the model before
        # Loggers accept nothing but texts.
        texts = {name: str(value) for name, value in msgspec.to_builtins(settings).items()}
        accelerator.init_trackers("sgdx", texts)
        for name in tasks:
            train_task(run, system_class, name, record)
        if all(any((output / name).glob("*.safetensors")) for name in system_class.TASKS):
            if len(system_class.TASKS) > 1:
                evaluate_joined(run, system_class, record, all_dev)
            if accelerator.is_main_process:
                print(publish(output, repository) or output / "README.md")
            accelerator.wait_for_everyone()
        accelerator.end_training()


def prepare_output(
    accelerator: Accelerator, output: Path, tasks: list[str], record: Record, resume: bool
) -> list[int]:
    """Check that the folders of all tasks can be used, then create them."""
    accelerator.wait_for_everyone()  # until the first process has found the folders free
    begun = [name for name in tasks if resume and (output / name / "run.json").exists()]
    if resume and not begun:
        raise SgdxError(f"{output}: found no run.json, expected a run to resume")
    checks = [check_output(output / name, record, name in begun) for name in tasks]
    accelerator.wait_for_everyone()  # every process has checked before the first one writes
    if accelerator.is_main_process:
        if not resume:  # a run that failed before its first step may have left this folder
            shutil.rmtree(output / "initial", ignore_errors=True)
        for name in tasks:
            (output / name).mkdir(parents=True, exist_ok=True)
    accelerator.wait_for_everyone()
    return max(checks, key=len)


def train_task(run: Run[Settings], system_class: SystemClass, name: str, record: Record) -> None:
    """Train one task; afterwards its folder holds the model with the best score on dev."""
    from .training import loop
    from .training.accelerator import hardware

    folder, accelerator = run.output / name, run.accelerator
    task = system_class.task(run, name)
    label = f"{name}: " if name else ""
    settings, processes = task.settings, accelerator.num_processes
    batch = {
        "examples_per_step": settings.batch_size,
        "processes": processes,
        "accumulation": settings.accumulation,
        "examples_per_process": share(settings.batch_size, settings.accumulation, processes),
    }
    if accelerator.is_main_process:
        oracle, made_on = run.provenance.oracle, hardware(accelerator)
        facts = {"oracle": oracle, "batch": batch, **task.facts}
        facts |= {"versions": versions(), "hardware": made_on}
        write_json(folder / "run.json", {"record": record, **facts})
        shares = ""
        if processes > 1 or settings.accumulation > 1:
            shares = (
                f" ({processes} processes x {settings.accumulation} batches x "
                f"{batch['examples_per_process']})"
            )
        warning = "; an oracle: trained on schemas that it is evaluated on" if oracle else ""
        steps = f"{settings.steps} steps of {settings.batch_size} examples{shares}"
        print(f"{label}{steps} in {settings.precision}, {made_on}{warning}")
        if task.facts:
            print(f"{label}learns from {in_words(task.facts)}", flush=True)
    progress = loop.train(run, task, name)
    accelerator.free_memory()
    if accelerator.is_main_process:
        measure = task.measure.replace("_", " ")
        print(f"{label}best {measure} {progress.best:.4f} at step {progress.best_step}")


def evaluate_joined(
    run: Run[Settings], system_class: SystemClass, record: Record, dev: Dataset
) -> None:
    """Track dev with the models of all tasks together, and write ``run.json`` and ``log.jsonl``."""
    from .training.accelerator import hardware
    from .training.optimizer import autocast
    from .training.task import score_dev

    tracker = system_class.load(str(run.output), system_class.OPTIONS(), run.accelerator)
    rows = whole_dialogues(dev, run.settings.evaluate_frames)
    with autocast(run.settings.precision, run.accelerator.device):
        score = score_dev(replace(run, dev=rows), lambda chunks: track(tracker, rows, chunks).rows)
    if run.accelerator.is_main_process:
        data = record["data"] | {"dev": {"frames": len(rows)}}
        facts = {"versions": versions(), "hardware": hardware(run.accelerator)}
        facts = {"oracle": tracker.describe()["oracle"], **facts}
        write_json(run.output / "run.json", {"record": record | {"data": data}, **facts})
        (run.output / "log.jsonl").unlink(missing_ok=True)
        steps = sum(
            max(line["step"] for line in read_log(run.output / t)) for t in system_class.TASKS
        )
        append_log(run.output, {"step": steps, "dev_joint_goal_accuracy": score})
        # AutoModel looks for code at the top of a repository, even for a model in a subfolder.
        for code in (run.output / system_class.TASKS[0]).glob("*.py"):
            shutil.copy(code, run.output)
        print(f"all models together: dev joint goal accuracy {score:.4f}")


main = door("train")

if __name__ == "__main__":
    sys.exit(main())
