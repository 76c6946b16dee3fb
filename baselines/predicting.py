"""Prediction with any system: it sees what it may read, and its results are kept chunk by chunk."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from datasets import Dataset
from datasets.utils import tqdm

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.io.progress import DELAY, moving

from .data.dialogues import chunks_side_by_side, dialogue_bounds
from .data.rows import visible
from .system import Row, System

if TYPE_CHECKING:
    from accelerate import Accelerator

_SECONDS = 30.0  # from a line of progress to the next
# What a row of predictions has at least.
_KEYS = {
    "frames": {"frame_id", "variant", "active_intent", "requested_slots", "slot_values"},
    "turns": {"turn_id", "variant", "utterance"},
}


class Predictions(NamedTuple):
    """What a tracker predicts of frame rows, and a generator of turn rows."""

    rows: list[Row]  # in the order of the rows that were predicted
    counts: dict[str, int]  # figures about the prediction for the header of its file


class Shown:
    """How far a run is: a bar on a terminal, elsewhere the lines that it is given."""

    def __init__(
        self, is_first: bool, what: str, unit: str, end: int, begin: int = 0, often: bool = False
    ) -> None:
        """Begin; ``often`` prints a line now and then, too."""
        self.is_first, self.unit, self.often, self.lines = is_first, unit, often, 0
        self.begin, self.done, self.end = begin, begin, end
        self.since = time.perf_counter()
        # In the first process alone; None: on a terminal alone.
        disable = None if is_first else True
        self.bar = tqdm(
            desc=what, unit=f" {unit}", initial=begin, total=end, delay=DELAY, disable=disable
        )

    def update(self, steps: int) -> None:
        """Move on."""
        self.done += steps
        self.bar.update(steps)
        is_due = time.perf_counter() - self.since > DELAY + _SECONDS * self.lines
        if self.often and steps and is_due:
            self.lines += 1
            self.line(f"{self.done} of {self.end} {self.unit}, {self.left} left")

    @property
    def left(self) -> str:
        """The time left at the speed so far, as in 1:02:03 or 04:05; ? before anything is done."""
        if self.done == self.begin:
            return "?"
        seconds = time.perf_counter() - self.since
        rest = seconds * (self.end - self.done) / (self.done - self.begin)
        return str(tqdm.format_interval(rest))

    def line(self, text: str) -> None:
        """Print a line where no bar is shown: when the output is not a terminal."""
        if self.is_first and not sys.stderr.isatty():
            print(text, flush=True)


def predict(
    system: System,
    rows: Dataset,
    folder: Path | None = None,
    accelerator: Accelerator | None = None,
) -> Predictions:
    """Predict with a system, which gets only the columns that it declares to read.

    Args:
        system: A tracker or a generator.
        rows: Rows of whole dialogues, of one or several variants.
        folder: Where each chunk's results are kept. A killed prediction that is started again
            predicts only the chunks that it lacks. None for one chunk that is not kept.
        accelerator: The processes, which take the chunks in turn and all get all predictions; they
            need a folder.
    """
    rows = visible(rows, system)
    if folder is None:
        bar = Shown(True, "Predicting", system.ROWS, len(rows))
        with moving(bar), bar.bar:
            return Predictions(_track(system, rows), dict(system.counts))
    bounds = dialogue_bounds(rows)
    size: int = system.options.chunk_size  # type: ignore[attr-defined]  # trained ones have it
    chunks = [
        np.concatenate([np.arange(bounds[index], bounds[index + 1]) for index in dialogues])
        for dialogues in chunks_side_by_side(np.array(rows["variant"])[bounds[:-1]], size)
    ]
    files = [folder / f"{number:06d}.json" for number in range(len(chunks))]
    place, places = 0, 1
    if accelerator is not None:
        place, places = accelerator.process_index, accelerator.num_processes
    own = range(place, len(chunks), places)
    missing = [number for number in own if not files[number].exists()]
    total = sum(len(chunks[number]) for number in missing)
    shown = Shown(place == 0, "Predicting", system.ROWS, total, often=True)
    if len(missing) < len(own):
        shown.line(f"going on at chunk {len(own) - len(missing)} of {len(own)}")
    end = 0
    with moving(shown), shown.bar:
        for number in missing:
            predicted = _track(system, rows.select(chunks[number]))
            write_bytes(files[number], msgspec.json.encode((predicted, system.counts)))
            end += len(chunks[number])
            shown.update(end - shown.done)
    if accelerator is not None:
        accelerator.wait_for_everyone()
    in_order: list[Row] = [{}] * len(rows)
    counts = Counter[str]()
    for chunk, path in zip(chunks, files):
        of_chunk, of_counts = msgspec.json.decode(path.read_bytes())
        counts.update(of_counts)
        for index, row in zip(chunk.tolist(), of_chunk, strict=True):
            in_order[index] = row
    if accelerator is not None:
        accelerator.wait_for_everyone()  # before the folder is removed
    return Predictions(in_order, dict(counts))


def predict_anew(
    system: System, rows: Dataset, folder: Path, accelerator: Accelerator
) -> list[Row]:
    """Predict with all processes, never with results of an earlier model, and keep none."""
    if accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
    accelerator.wait_for_everyone()
    predicted = predict(system, rows, folder, accelerator).rows
    if accelerator.is_main_process:
        shutil.rmtree(folder)
    return predicted


def _track(system: System, rows: Dataset) -> list[Row]:
    """The rows that a system predicts, which may be somebody else's."""
    system.counts = Counter()
    predicted: list[Any] = [*system.track(rows)]
    if len(predicted) != len(rows):
        found = f"found {len(predicted)} rows, expected {len(rows)}"
        raise SgdxError(f"{system.NAME}: track: {found}")
    for row in predicted:
        lacking = _KEYS[system.ROWS] - (row.keys() if isinstance(row, dict) else set())
        if lacking:
            found = f"found a row without {', '.join(sorted(lacking))}"
            raise SgdxError(f"{system.NAME}: track: {found}")
    return predicted
