"""Train a tracker or a generator from a recipe: ``sgdx train``."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
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

from .run_folder import append_log, check_free, check_output, public_settings, read_log
from .settings import Augment, Settings, find_recipe, read_recipe

# What is slow to import is imported where it is used: a mistake is told before that.
if TYPE_CHECKING:
    from datasets import Dataset

    from .system import SystemClass
    from .task import Run

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
    output = output or Path("outputs") / f"{settings.tracker}-{path.stem}"
    _check(settings, tasks, output, resume)
    source = data.named()
    if is_first():  # before torch is imported, which takes a while
        print(f"training {settings.tracker} on {source}", flush=True)
    if push_to_hub:
        _check_push(push_to_hub, settings, tasks, output)
    oracle = oracle or augment == "oracle"  # which the name implies
    run, system_class, record, all_dev = _prepare(settings, source, oracle, output, resume)
    from .processes import denormals_are_zero

    with ExitStack() as kept:
        if run.accelerator.is_main_process:
            for name in tasks:
                kept.enter_context(locked(output / name))
        kept.enter_context(denormals_are_zero())
        if extended := _prepare_output(run, tasks, record):
            record["extended"] = extended
            (output / "scores.json").unlink(missing_ok=True)  # of the model before
        # Loggers accept nothing but texts.
        texts = {n: str(value) for n, value in msgspec.to_builtins(run.settings).items()}
        run.accelerator.init_trackers("sgdx", texts)
        for name in tasks:
            _train_task(run, system_class, name, record)
        if all(any((output / name).glob("*.safetensors")) for name in settings.TASKS):
            if len(settings.TASKS) > 1:
                _evaluate_joined(run, system_class, record, all_dev)
            if run.accelerator.is_main_process:
                from .publish import publish_model, write_card

                card = write_card(output)
                print(publish_model(output, push_to_hub) if push_to_hub else card)
            run.accelerator.wait_for_everyone()
        run.accelerator.end_training()


def _check(settings: Settings, tasks: Sequence[str], output: Path, resume: bool) -> None:
    """Refuse what can be seen to be wrong before torch is loaded or the Hub is asked."""
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


def _check_push(repository: str, settings: Settings, tasks: Sequence[str], output: Path) -> None:
    """Refuse what could not be pushed at the end, before hours of training."""
    from sgdx_dataset.push import Place, check_upload

    trained = [name for name in settings.TASKS if any((output / name).glob("*.safetensors"))]
    if lacking := [name for name in settings.TASKS if name not in (*tasks, *trained)]:
        found = f"found no model of {', '.join(lacking)}"
        raise SgdxError(f"--push-to-hub {repository}: {found}, expected all parts of the tracker")
    check_upload(Place(repository, "model", "model"))


def _prepare(
    settings: Settings, source: str, oracle: bool, output: Path, resume: bool
) -> tuple[Run[Any], SystemClass, Record, Dataset]:
    """The run, its system, its record, and all dev rows: what a system builds its tasks from."""
    from datasets import concatenate_datasets

    from sgdx_dataset import open_release

    from .batching import share
    from .system import get_trainable

    system_class = get_trainable(settings.tracker)
    from .data.rows import describe, dev_rows, training_rows, visible
    from .precision import resolved
    from .processes import launch_settings, quiet_transformers, training_accelerator
    from .task import Run
    from .xla import check_training

    quiet_transformers()
    launch = launch_settings()
    accelerator = training_accelerator(settings, output)
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
    rows = visible(training.rows, system_class, gold=True)
    parts = (training.provenance, rows, training.data, dev, output, resume)
    run = Run(accelerator, settings, *parts)
    return run, system_class, record, all_dev


def _prepare_output(run: Run[Any], tasks: Sequence[str], record: Record) -> list[int]:
    """Check that the folders of all tasks can be used, then create them."""
    accelerator, output = run.accelerator, run.output
    accelerator.wait_for_everyone()  # until the first process has found the folders free
    begun = [name for name in tasks if run.resume and (output / name / "run.json").exists()]
    checks = [check_output(output / name, record, name in begun) for name in tasks]
    accelerator.wait_for_everyone()  # every process has checked before the first one writes
    if accelerator.is_main_process:
        if not run.resume:  # a run that failed before its first step may have left this folder
            shutil.rmtree(output / "initial", ignore_errors=True)
        for name in tasks:
            (output / name).mkdir(parents=True, exist_ok=True)
    accelerator.wait_for_everyone()
    return max(checks, key=len)


def _train_task(run: Run[Any], system_class: SystemClass, name: str, record: Record) -> None:
    """Train one task; afterwards its folder holds the model with the best score on dev."""
    from sgdx_eval.predictions import versions

    from . import loop
    from .batching import share
    from .processes import hardware

    accelerator, task = run.accelerator, system_class.task(run, name)
    label = f"{name}: " if name else ""
    settings, processes = task.settings, accelerator.num_processes
    size = share(settings.batch_size, settings.accumulation, processes)
    batch = {
        "examples_per_step": settings.batch_size,
        "processes": processes,
        "accumulation": settings.accumulation,
        "examples_per_process": size,
    }
    if accelerator.is_main_process:
        oracle, made_on = run.provenance.oracle, hardware(accelerator)
        facts = {"oracle": oracle, "batch": batch, **task.facts}
        facts |= {"versions": versions(), "hardware": made_on}
        write_json(run.output / name / "run.json", {"record": record, **facts}, renews=True)
        shares = ""
        if processes > 1 or settings.accumulation > 1:
            shares = f" ({processes} processes x {settings.accumulation} batches x {size})"
        warning = "; an oracle: trained on schemas that it is evaluated on" if oracle else ""
        steps = f"{settings.steps} steps of {settings.batch_size} examples{shares}"
        print(f"{label}{steps} in {settings.precision}, {made_on}{warning}")
        if task.facts:
            print(f"{label}learns from {in_words(task.facts)}", flush=True)
    progress = loop.train(run, task, name)
    accelerator.free_memory()
    if accelerator.is_main_process:
        measure = task.measure.replace("_", " ")
        best = f"{100 * progress.best:.2f}{'' if 'bleu' in measure else ' %'}"
        print(f"{label}best {measure} {best} at step {progress.best_step}")


def in_words(facts: Mapping[str, Any]) -> str:
    """Facts as words: numbers before their names, and groups of them after theirs.

    >>> in_words({"turns": 482, "cut": 0, "labels": {"changes": 390, "not_in_turn": 44}})
    '482 turns, 0 cut, labels: 390 changes, 44 not in turn'
    >>> in_words({"cut": {"of": 482, "inputs": 3}, "commit": "", "model": None})
    'cut: 3 inputs of 482'
    """
    words = []
    for key, value in facts.items():
        name = key.replace("_", " ")
        if isinstance(value, Mapping):
            group = in_words({k: count for k, count in value.items() if k != "of"})
            words.append(f"{name}: {group}" + (f" of {value['of']}" if "of" in value else ""))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            words.append(f"{value} {name}")
        elif value not in (None, ""):
            words.append(f"{name} {value}")
    return ", ".join(words)


def _evaluate_joined(
    run: Run[Any], system_class: SystemClass, record: Record, dev: Dataset
) -> None:
    """Track dev with the models of all tasks together, and write ``run.json`` and ``log.jsonl``."""
    from sgdx_eval.predictions import versions

    from .data.rows import predict, whole_dialogues
    from .precision import autocast
    from .processes import hardware
    from .task import score_dev

    tasks = run.settings.TASKS
    tracker = system_class.load(str(run.output), system_class.OPTIONS(), run.accelerator)
    rows = whole_dialogues(dev, run.settings.evaluate_frames)
    with autocast(run.settings.precision, run.accelerator.device):
        score = score_dev(
            replace(run, dev=rows), lambda chunks: predict(tracker, rows, chunks).rows
        )
    if run.accelerator.is_main_process:
        data = record["data"] | {"dev": {"frames": len(rows)}}
        facts = {"versions": versions(), "hardware": hardware(run.accelerator)}
        facts = {"oracle": tracker.describe()["oracle"], **facts}
        write_json(
            run.output / "run.json", {"record": record | {"data": data}, **facts}, renews=True
        )
        (run.output / "log.jsonl").unlink(missing_ok=True)
        steps = sum(max(line["step"] for line in read_log(run.output / t)) for t in tasks)
        append_log(run.output, {"step": steps, "dev_joint_goal_accuracy": score})
        # AutoModel looks for code at the top of a repository, even for a model in a subfolder.
        for code in (run.output / tasks[0]).glob("*.py"):
            shutil.copy(code, run.output)
        print(f"all models together: dev joint goal accuracy {score:.4f}")


def main() -> int:
    """The command, for ``accelerate launch -m baselines.train``."""
    from sgdx_cli import main as sgdx

    return sgdx(["train", *sys.argv[1:]])


def main_of_tpus() -> None:
    """The command, for torch-xla's launcher, which sets no RANK and looks at no status."""
    from torch_xla import runtime

    os.environ["RANK"] = str(runtime.global_ordinal())
    os.environ["WORLD_SIZE"] = str(runtime.global_device_count())
    if status := main():
        sys.exit(status)


if __name__ == "__main__":
    sys.exit(main())
