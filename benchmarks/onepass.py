"""``python -m benchmarks.onepass``: onepass beside SGP-DST, with the same encoder and frames.

Both are untrained and answer what a tracker without an error would be asked along the gold states,
so the counts do not depend on a model. A figure of tracking has everything in it from the dialogues
to the answers. With ``--context``, the tokens of other readings are counted: without the system's
dialogue acts, or with more utterances.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset, concatenate_datasets
from rich.console import Console
from rich.table import Table

from baselines.data.dialogues import Dialogue, State, read_dialogues
from baselines.data.frames import training_columns, whole_dialogues
from baselines.encoders.load import load_encoder
from baselines.encoders.tiny import corpus_texts, tiny_encoder
from baselines.onepass.decode import decode
from baselines.onepass.examples import FrameExamples, SchemaNoise
from baselines.onepass.frames import FrameInput, gold_frames
from baselines.onepass.labels import labels_of
from baselines.onepass.layout import MARKERS, sequences
from baselines.onepass.model import OnePassProvenance, new_model
from baselines.onepass.settings import OnePassOptions
from baselines.onepass.teacher import gold_answer, gold_examples
from baselines.onepass.tracker import READS, OnePassTracker
from baselines.onepass.tracking import Reading, track_dialogues
from baselines.sgp_dst.decode import Answer
from baselines.sgp_dst.questions import Question
from baselines.sgp_dst.sequences import Questions, Sequences
from baselines.sgp_dst.settings import SgpOptions
from baselines.sgp_dst.submodels import PARTS, Part, SgpProvenance, new_part
from baselines.sgp_dst.teacher import gold_submodels
from baselines.sgp_dst.tracker import SgpTracker
from baselines.sgp_dst.tracking import Submodels
from baselines.sgp_dst.tracking import track_dialogues as sgp_track_dialogues
from baselines.training.accelerator import make_accelerator
from baselines.training.batching import epoch
from baselines.training.precision import autocast, resolved
from benchmarks.clock import timing
from benchmarks.sources import SGP_LIMITS, evenly_spaced_test_rows
from sgdx_dataset import frames, load

_READINGS = {
    "acts, 2 utterances": Reading(acts=True, utterances=2),
    "no acts, 4 utterances": Reading(acts=False, utterances=4),
    "no acts, 8 utterances": Reading(acts=False, utterances=8),
}


def untrained(name: str, accelerator: Accelerator) -> OnePassTracker:
    """A tracker with random heads on an encoder."""
    provenance = OnePassProvenance(acts=True, utterances=2, max_tokens=512)
    encoder, tokenizer = load_encoder(name)
    model = new_model(encoder, tokenizer, provenance)
    model.train(False).to(accelerator.device)
    return OnePassTracker(model, tokenizer, provenance, OnePassOptions(), accelerator)


def onepass_tracking(tracker: OnePassTracker, rows: Dataset) -> tuple[float, float, float]:
    """Sequences, tokens and seconds per frame."""
    seen = training_columns(rows, tracker.READS)
    dialogues, gold = list(read_dialogues(seen)), dict(gold_frames(seen))
    counts = np.zeros(2)
    for frame in inputs_of(dialogues, rows, tracker.reading):
        parts = sequences(frame, tracker.vocabulary, tracker.provenance.max_tokens)
        counts += len(parts), sum(len(part.ids) for part in parts)
    seconds: dict[str, float] = {}

    def reader(asked: Sequence[tuple[str, str, FrameInput]]) -> list[State]:
        tracker.answers(tracker.model, [frame for _, _, frame in asked])
        return [
            decode(frame, gold_answer(frame, labels_of(frame, gold[v, name])))
            for v, name, frame in asked
        ]

    with timing(seconds, "track"):
        track_dialogues(reader, dialogues, tracker.reading)
    count, tokens = counts / len(rows)
    return count, tokens, seconds["track"] / len(rows)


def inputs_of(dialogues: Sequence[Dialogue], rows: Dataset, reading: Reading) -> list[FrameInput]:
    """What is read of each frame along the right states."""
    gold = dict(gold_frames(training_columns(rows, READS)))
    return [example.frame for example in gold_examples(dialogues, gold, reading)[0]]


def sgp_tracking(tracker: SgpTracker, rows: Dataset) -> tuple[float, float, float]:
    """Sequences, tokens and seconds per frame."""
    dialogues = list(read_dialogues(training_columns(rows, READS)))
    learned, teachers = tracker.submodels(), gold_submodels(dialogues)
    seconds: dict[str, float] = {}

    def asked(name: str) -> Callable[..., Any]:
        """The function that asks a submodel and then answers as its teacher."""

        def ask(*arguments: Any) -> Any:
            getattr(learned, name)(*arguments)
            return getattr(teachers, name)(*arguments)

        return ask

    with timing(seconds, "track"):
        sgp_track_dialogues(Submodels(*map(asked, Submodels._fields)), dialogues)
    count, tokens = np.array(COUNTED).sum(0) / len(rows)
    return count, tokens, seconds["track"] / len(rows)


COUNTED: list[tuple[int, int]] = []  # sequences and tokens of each time that a submodel is asked


class CountingTracker(SgpTracker):
    """SGP-DST that counts what its submodels read."""

    def ask(self, part: Part, questions: Sequence[Question]) -> list[Answer]:
        """Answer questions, and count them."""
        sub = self.parts[part]
        lengths = Sequences(Questions(questions), sub.vocabulary, sub.provenance.max_tokens).lengths
        COUNTED.append((len(lengths), int(lengths.sum())))
        return super().ask(part, questions)


def training(tracker: OnePassTracker, rows: Dataset, steps: int) -> tuple[float, float]:
    """Frames and tokens per second of training, with making the batches."""
    seen = training_columns(rows, tracker.READS)
    dialogues = list(read_dialogues(seen))
    examples, _ = gold_examples(dialogues, dict(gold_frames(seen)), tracker.reading)
    data = FrameExamples(
        examples, tracker.vocabulary, tracker.provenance.max_tokens, SchemaNoise(), 0
    )
    batches = epoch(data.lengths, 12, 4096, 0, 0)[:steps]
    optimizer = torch.optim.AdamW(tracker.model.parameters(), lr=1e-4)
    device, seconds = tracker.accelerator.device, dict[str, float]()
    tracker.model.train()
    for indices in batches:
        with timing(seconds, "step"):
            batch = {name: tensor.to(device) for name, tensor in data.batch(indices).items()}
            with autocast(resolved("auto", device), device):
                loss = tracker.model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(tracker.model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    tracker.model.train(False)
    tokens = sum(int(data.lengths[indices].sum()) for indices in batches)
    return sum(map(len, batches)) / seconds["step"], tokens / seconds["step"]


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Print the figures of both trackers."""
    parts = [
        evenly_spaced_test_rows(config, options.source, options.dialogues)
        for config in options.config
    ]
    rows, name = concatenate_datasets(parts), options.model
    if name == "tiny":
        name = str(folder)
        for made in tiny_encoder([*corpus_texts(rows), *MARKERS.values()]):
            made.save_pretrained(folder)
    accelerator, console = make_accelerator(), Console()
    tracker = untrained(name, accelerator)
    provenances = [
        SgpProvenance(part=part, max_tokens=SGP_LIMITS[part], model=name) for part in PARTS
    ]
    subs = {part.part: new_part(*load_encoder(name), part) for part in provenances}
    for sub in subs.values():
        sub.model.train(False).to(accelerator.device)
    sgp = CountingTracker(subs, SgpOptions(), accelerator)
    precision = resolved("auto", accelerator.device)
    threads = torch.get_num_threads()
    console.print(f"{options.model} on {accelerator.device}, {threads} threads, {precision}")
    console.print(f"{len(rows)} frames of {' '.join(options.config)}; untrained weights")
    table = Table("tracker", "sequences a frame", "tokens a frame", "frames/s")
    with autocast(precision, accelerator.device):
        for label, figures in (
            ("onepass", onepass_tracking(tracker, rows)),
            ("sgp_dst", sgp_tracking(sgp, rows)),
        ):
            count, tokens, seconds = figures
            table.add_row(label, f"{count:.2f}", f"{tokens:.0f}", f"{1 / seconds:.1f}")
    console.print(table)
    if options.context:
        print_readings(console, tracker, parts[0])
    if options.steps:
        learnt = frames(load("original", "train", options.source))
        speeds = training(tracker, whole_dialogues(learnt, 1000), options.steps)
        console.print(f"onepass is trained on {speeds[0]:.1f} frames/s, {speeds[1]:.0f} tokens/s")


def print_readings(console: Console, tracker: OnePassTracker, rows: Dataset) -> None:
    """Print how many tokens a frame has if more or less of the dialogue is read."""
    table = Table("what is read", "mean", "p50", "p95", "p99", "max", ">384", ">512")
    dialogues = list(read_dialogues(training_columns(rows, READS)))
    for label, reading in _READINGS.items():
        lengths = np.array(
            [
                sum(len(part.ids) for part in sequences(frame, tracker.vocabulary, 10**6))
                for frame in inputs_of(dialogues, rows, reading)
            ]
        )
        figures = [lengths.mean(), *np.percentile(lengths, (50, 95, 99, 100))]
        over = [f"{(lengths > limit).mean():.2%}" for limit in (384, 512)]
        table.add_row(label, *(f"{figure:.0f}" for figure in figures), *over)
    console.print(table)


def main() -> None:
    """Run the command."""
    text = (__doc__ or "").replace("``", "")
    parser = argparse.ArgumentParser("python -m benchmarks.onepass", description=text)
    parser.add_argument("--source", default="sample", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--model", default="tiny", help="an encoder's name or folder")
    parser.add_argument("--dialogues", type=int, default=48, help="of test, to track")
    parser.add_argument("--config", nargs="+", default=["original"], help="variants to track")
    parser.add_argument("--steps", type=int, default=10, help="of training; 0 for none")
    parser.add_argument("--context", action="store_true", help="count tokens of other readings too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
