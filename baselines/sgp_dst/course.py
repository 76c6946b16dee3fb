"""The training of one sub-model, by the loop that every tracker shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel

from sgdx_dataset import SgdxError

from .. import checkpoint
from ..batching import Ints
from ..data import TrainedOn
from ..encoder import corpus_texts, tiny_encoder
from ..run import check_output, versions, write_json
from ..training import Task, train
from .dialogues import LEARNT, TRACKED, read_dialogues
from .examples import EXAMPLES, Example
from .learning import Lesson, Lessons, accuracy, all_epochs, epoch_examples
from .parts import About, Part, PartSettings, SgpSettings, SubModel, load_part, new_part, save_part

_WORDS = "sys : usr : null do not care keep jump none sort tag # api: "  # of the layouts
_EVALUATION_TOKENS = 16384  # in a batch


@dataclass(frozen=True)
class Course:
    """A run: its settings and data, what of them decides it (``record``), and where it goes."""

    accelerator: Accelerator
    settings: SgpSettings
    record: dict[str, Any]
    rows: Dataset
    seen: TrainedOn
    dev: Dataset
    output: Path
    resume: bool

    def own(self, part: Part) -> PartSettings:
        """A sub-model's own settings."""
        found: PartSettings = getattr(self.settings.parts, part)
        return found


def train_part(course: Course, part: Part) -> None:
    """Train one sub-model; the best by its accuracy on dev stands in ``output / part`` then."""
    accelerator, folder = course.accelerator, course.output / part
    resume = course.resume and folder.exists()
    check_output(folder, course.record, resume)
    sub = _first(course, part, resume)
    lesson = Lesson(Lessons(examples(part, course.rows)), sub)
    order = all_epochs(lesson.kinds, course.own(part), course.settings.seed)
    if not len(order):
        raise SgdxError(f"{part}: found no examples in train, expected some to learn from")
    settings = part_settings(course, part, len(order))
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        about = _about(sub, lesson, len(order))
        write_json(folder / "run.json", {"record": course.record, **about})
        print(f"{part}: {settings.steps} steps; {about['examples']}")
    progress = train(accelerator, settings, _task(course, sub, lesson, order), folder, resume)
    accelerator.free_memory()
    if accelerator.is_main_process:
        print(f"{part}: best dev accuracy {progress.best:.4f} at step {progress.best_step}")


def examples(part: Part, rows: Dataset) -> Iterator[Example]:
    """A part's examples from frame rows."""
    for dialogue in read_dialogues(rows.select_columns(LEARNT)):
        yield from EXAMPLES[part](dialogue)


def part_settings(course: Course, part: Part, count: int) -> SgpSettings:
    """The settings with the steps that ``count`` examples take, and the part's warm-up."""
    shared, own = course.settings, course.own(part)
    at_once = shared.batch_size * shared.accumulation * course.accelerator.num_processes
    steps = min(shared.steps, -(-count // at_once))
    return msgspec.structs.replace(shared, steps=steps, warmup=own.warmup)


def _about(sub: SubModel, lesson: Lesson, count: int) -> dict[str, Any]:
    counts = {"of_all_epochs": count, "cut": lesson.sequences.cut, "missed_spans": lesson.missed}
    return {"oracle": sub.about.oracle, "examples": counts, "versions": versions()}


def _first(course: Course, part: Part, resume: bool) -> SubModel:
    """The sub-model to begin with: the last checkpoint's, or one over the encoder of the config."""
    settings, output = course.settings, course.output
    if resume and (last := checkpoint.folders(output / part)):
        return load_part(last[-1])
    about = About(
        part=part,
        max_tokens=course.own(part).max_tokens,
        model=settings.model,
        **msgspec.structs.asdict(course.seen),
    )
    name = settings.model
    if name == "tiny":
        name = str(output / "initial")
        if course.accelerator.is_main_process and not Path(name).exists():
            checkpoint.publish(Path(name), lambda place: _make_tiny(place, course))
        course.accelerator.wait_for_everyone()
    return new_part(name, about, settings.seed)


def _make_tiny(place: Path, course: Course) -> None:
    texts = [*corpus_texts(course.rows.select_columns(TRACKED)), _WORDS]
    for made in tiny_encoder(texts, seed=course.settings.seed):
        made.save_pretrained(place)


def _task(course: Course, sub: SubModel, lesson: Lesson, order: Ints) -> Task:
    """What the loop asks of a sub-model; ``order``: the examples of one epoch after the other."""
    part, settings = sub.about.part, course.settings
    dev = Lesson(Lessons(examples(part, course.dev)), sub)
    chosen = epoch_examples(dev.kinds, course.own(part).negatives, settings.seed, 0)
    most = min(len(chosen), settings.evaluate_frames)
    chosen = chosen[np.arange(most) * len(chosen) // max(1, most)]

    def evaluate(model: PreTrainedModel) -> float:
        return accuracy(model, dev, chosen, course.accelerator, _EVALUATION_TOKENS)

    def save(folder: Path, model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
        save_part(SubModel(model, sub.vocabulary, sub.about), folder, weights)

    return Task(
        sub.model,
        lesson.sequences.lengths[order],
        lambda indices: lesson.batch(order[indices]),
        evaluate,
        save,
        sub.about.oracle,
        "dev_accuracy",
    )
