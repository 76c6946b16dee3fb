"""``python -m benchmarks.sgp_dst``: what SGP-DST's work costs, and which submodel errs.

Training is timed with untrained weights. The questions of tracking are counted along the gold
states, as a tracker without an error would ask them, so that the counts do not depend on a model.
They are counted as they are now, and as they were before, when copies into every slot without a
value were asked about, batches of 16,384 tokens were padded to a multiple of 8, and dialogues of
one variant were tracked together. Both are answered, now in the device's best precision and before
in fp32.

With ``--blame RUN``, a trained run is tracked instead. Each of its submodels is put beside three
teachers, which answer from the gold state; the loss in joint goal accuracy is what it costs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset, concatenate_datasets
from rich.console import Console
from rich.table import Table

from baselines.data.dialogues import Dialogue, prediction_rows, read_dialogues
from baselines.data.frames import training_columns, whole_dialogues
from baselines.encoders.load import load_encoder
from baselines.encoders.tiny import corpus_texts, tiny_encoder
from baselines.sgp_dst.batches import (
    READS,
    ExampleColumns,
    TrainingData,
    training_examples,
)
from baselines.sgp_dst.prompts import cross_prompt
from baselines.sgp_dst.questions import (
    Question,
    combine_questions,
    copy_candidates,
    intent_question,
    text_of,
    values_elsewhere,
)
from baselines.sgp_dst.sequences import Questions, Sequences
from baselines.sgp_dst.settings import SgpOptions
from baselines.sgp_dst.submodels import PARTS, Part, SgpProvenance, SubModel, new_part
from baselines.sgp_dst.teacher import gold_submodels
from baselines.sgp_dst.tracker import SgpTracker
from baselines.sgp_dst.tracking import (
    Candidates,
    CombineAnswers,
    FrameQuery,
    Queries,
    Submodels,
    track_dialogues,
)
from baselines.system import recorded_precision
from baselines.training.accelerator import make_accelerator
from baselines.training.batching import by_length, epoch
from baselines.training.precision import autocast, resolved
from benchmarks.clock import timing
from benchmarks.sources import SGP_LIMITS, evenly_spaced_test_rows
from sgdx_dataset import frames, load
from sgdx_dataset.schema import NONE_INTENT
from sgdx_metric import report, score_frames
from sgdx_metric.rows import PREDICTION, REFERENCE

_GROUPS = {"all": "#ALL_SERVICES", "seen": "#SEEN_SERVICES", "unseen": "#UNSEEN_SERVICES"}
_BEFORE = SgpOptions(batch_size=256, token_budget=16384)
Calls = dict[Part, list[list[Question]]]  # the questions of each time that a submodel is asked


def train_speed(sub: SubModel, rows: Dataset, steps: int) -> tuple[float, float, float]:
    """Examples made, batches made and examples trained on, each in examples per second."""
    seconds: dict[str, float] = {}
    with timing(seconds, "make"):
        data = TrainingData(ExampleColumns(training_examples(sub.provenance.part, rows)), sub)
    batches = epoch(data.sequences.lengths, 32, 6272, 0, 0)[:steps]
    optimizer = torch.optim.AdamW(sub.model.parameters(), lr=2e-5)
    sub.model.train()
    for indices in batches:
        with timing(seconds, "batch"):
            batch = data.batch(indices)
        with timing(seconds, "step"):
            on = {name: tensor.to(sub.model.device) for name, tensor in batch.items()}
            sub.model(**on).loss.backward()
            torch.nn.utils.clip_grad_norm_(sub.model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    count = sum(map(len, batches))
    return (
        len(data.kinds) / seconds["make"],
        count / seconds["batch"],
        count / (seconds["batch"] + seconds["step"]),
    )


def asked(dialogues: Sequence[Dialogue]) -> tuple[Calls, Calls]:
    """What a tracker without an error asks: as it does now, and as it did before."""
    teachers = gold_submodels(dialogues)
    now: Calls = {part: [] for part in PARTS}
    before: Calls = {part: [] for part in PARTS}

    def intent(queries: Queries) -> list[str]:
        now["intent"].append([intent_question(*query) for query in queries])
        return teachers.intent(queries)

    def combine(queries: Queries) -> list[CombineAnswers]:
        questions = [combine_questions(*query).values() for query in queries]
        now["combine"].append([question for of_frame in questions for question in of_frame])
        return teachers.combine(queries)

    def copies(part: Part) -> Callable[[Queries, Candidates], list[list[float]]]:
        def ask(queries: Queries, candidates: Candidates) -> list[list[float]]:
            now[part].append([candidate.question for frame in candidates for candidate in frame])
            before[part].append([q for query in queries for q in copies_before(part, query)])
            return list(getattr(teachers, part)(queries, candidates))

        return ask

    track_dialogues(Submodels(intent, combine, copies("copy"), copies("cross")), dialogues)
    return now, {**before, "intent": now["intent"], "combine": now["combine"]}


def copies_before(part: Part, query: FrameQuery) -> Iterator[Question]:
    """The questions of ``copy`` or ``cross`` about every slot without a value before the turn."""
    schema = query.frame.schema
    unset = schema.tracked - query.memory.state(schema.service_name).values.keys()
    if part == "copy":
        candidates = copy_candidates(*query, NONE_INTENT)
        yield from (candidate.question for candidate in candidates if candidate.slot in unset)
        return
    for other, source, values in values_elsewhere(query.memory, schema.service_name):
        for target in sorted(unset):
            if schema.slot(target).admits(values[0]):
                yield Question(text_of(query.turn), cross_prompt(schema, target, other, source))


def padded(lengths: np.ndarray, options: SgpOptions, multiple: int) -> int:
    """Number of tokens of all batches, padding included."""
    batches = by_length(lengths, options.batch_size, options.token_budget)
    widths = [-(-int(lengths[batch].max()) // multiple) * multiple for batch in batches]
    return sum(len(batch) * width for batch, width in zip(batches, widths))


def print_tracking(console: Console, tracker: SgpTracker, parts: list[Dataset]) -> None:
    """Print what each submodel is asked per frame, and how long answers take."""
    rows = concatenate_datasets(parts)
    dialogues = list(read_dialogues(training_columns(rows, READS)))
    # Before, the dialogues of one variant were tracked together, 32 at a time.
    first = list(read_dialogues(training_columns(parts[0], READS)))[:32]
    count = sum(len(turn.frames) for dialogue in first for turn in dialogue.turns)
    ways = {
        "before": (asked(first)[1], count, _BEFORE, 8, "fp32"),
        "now": (asked(dialogues)[0], len(rows), SgpOptions(), 1, "auto"),
    }
    table = Table("per frame", "part", "sequences", "tokens", "with padding", "seconds")
    for name, (calls, frame_count, options, multiple, precision_name) in ways.items():
        timed = SgpTracker(tracker.parts, options, tracker.accelerator)
        precision = resolved(precision_name, tracker.accelerator.device)  # type: ignore[arg-type]
        total = np.zeros(4)
        for part in PARTS:
            sub, figures = tracker.parts[part], np.zeros(4)
            for questions in filter(None, calls[part]):
                max_tokens = sub.provenance.max_tokens
                lengths = Sequences(Questions(questions), sub.vocabulary, max_tokens).lengths
                figures[:3] += len(lengths), lengths.sum(), padded(lengths, options, multiple)
                seconds: dict[str, float] = {}
                with autocast(precision, tracker.accelerator.device), timing(seconds, "answer"):
                    timed.ask(part, questions)
                figures[3] += seconds["answer"]
            total += figures
            table.add_row(name, part, *(f"{figure:,.3f}" for figure in figures / frame_count))
        table.add_row(f"{name}, {precision}", "all", *(f"{f:,.3f}" for f in total / frame_count))
    console.print(table)


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Print the speed of training and tracking."""
    rows = frames(load("original", "train", options.source))
    rows = training_columns(whole_dialogues(rows, options.frames), READS)
    name = options.model
    if name == "tiny":
        name = str(folder)
        for made in tiny_encoder(corpus_texts(rows)):
            made.save_pretrained(folder)
    accelerator = make_accelerator()
    parts = {}
    table = Table("part", "examples made/s", "batches made, examples/s", "trained, examples/s")
    for part in PARTS:
        provenance = SgpProvenance(part=part, max_tokens=SGP_LIMITS[part], model=name)
        sub = new_part(*load_encoder(name), provenance)
        sub.model.to(accelerator.device)
        parts[part] = sub
        speeds = train_speed(sub, rows, options.steps)
        table.add_row(part, *(f"{speed:,.0f}" for speed in speeds))
        sub.model.train(False)
    console = Console()
    threads = torch.get_num_threads()
    console.print(f"{options.model} on {accelerator.device}, {threads} threads; untrained")
    console.print(table)
    tracker = SgpTracker(parts, SgpOptions(), accelerator)
    print_tracking(
        console,
        tracker,
        [
            evenly_spaced_test_rows(config, options.source, options.dialogues)
            for config in options.config
        ],
    )


def blame(options: argparse.Namespace) -> None:
    """Print the joint goal accuracy with each submodel of a run beside three that are right."""
    accelerator = make_accelerator()
    tracker = SgpTracker.load(options.blame, SgpOptions(), accelerator)
    console = Console()
    precision = resolved(recorded_precision(options.blame), accelerator.device)
    for config in options.config:
        rows = evenly_spaced_test_rows(config, options.source, options.dialogues)
        dialogues = list(read_dialogues(training_columns(rows, READS)))
        teachers, learned = gold_submodels(dialogues), tracker.submodels()
        mixed = {"none: all answers are right": teachers}
        for part in PARTS:
            mixed[part] = teachers._replace(**{part: getattr(learned, part)})
        mixed["all: the run itself"] = learned
        table = Table("answers of the run", *(f"JGA, {name}" for name in _GROUPS), "points lost")
        bound = 0.0
        for name, submodels in mixed.items():
            with autocast(precision, accelerator.device):
                accuracy = joint_goal_accuracies(rows, dialogues, submodels)
            bound = bound or accuracy["all"]
            figures = (*accuracy.values(), bound - accuracy["all"])
            table.add_row(name, *(f"{100 * figure:.1f}" for figure in figures))
        console.print(f"{config}: {len(rows)} frames of {len(dialogues)} test dialogues")
        console.print(table)


def joint_goal_accuracies(
    rows: Dataset, dialogues: Sequence[Dialogue], submodels: Submodels
) -> dict[str, float]:
    """Joint goal accuracy in [0, 1] over all, seen and unseen services.

    Args:
        rows: Frame rows of one variant, with gold states.
        dialogues: Their dialogues.
        submodels: The submodels to track them with.
    """
    states = track_dialogues(submodels, dialogues)
    predicted = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
    references = rows.select_columns(REFERENCE.names).with_format("arrow")[:]
    variant = str(rows[0]["variant"])
    table = pa.Table.from_pylist(predicted, schema=PREDICTION)
    scores = report({variant: score_frames(references, table, variant)})["variants"][variant]
    return {name: scores[key]["joint_goal_accuracy"] for name, key in _GROUPS.items()}


def main() -> None:
    """Run the command."""
    text = (__doc__ or "").replace("``", "")
    parser = argparse.ArgumentParser("python -m benchmarks.sgp_dst", description=text)
    parser.add_argument("--source", default="sample", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--blame", metavar="RUN", help="a run folder of python -m baselines.train")
    parser.add_argument("--model", default="tiny", help="an encoder's name or folder")
    parser.add_argument("--frames", type=int, default=20000, help="of train, about, to learn from")
    parser.add_argument("--steps", type=int, default=20, help="of training, for each part")
    parser.add_argument("--dialogues", type=int, default=96, help="of test, to track")
    parser.add_argument("--config", nargs="+", default=["original"], help="variants to track")
    options = parser.parse_args()
    if options.blame:
        blame(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
