"""What tasks have in common whose items are frames, such as states and calls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_metric.columns import column, strings
from sgdx_metric.figures import variant_differences
from sgdx_metric.robustness import check_same_frames, frame_scores
from sgdx_metric.scoring import FrameScores
from sgdx_metric.signature import OFFICIAL, Rules, Setup, Subset, signature
from sgdx_metric.statistics import RIGHT, Sample
from sgdx_metric.units import (
    ALL,
    SEEN,
    UNSEEN,
    ScoredFrames,
    Scores,
    dialogue_ids_of,
    only_dialogues,
    only_services,
    subset_of,
)

from ..explain import (
    Flip,
    Line,
    Row,
    flipping,
    frame_row,
    print_broken,
    print_explanation,
    print_flips,
)
from ..inputs import Inputs, check_services, note_subset
from ..options import OF_FRAMES
from ..prediction_files import is_oracle, system_acts
from ..predictions import Predictions, located, with_frame_ids
from ..references import References
from ..tables import terminal
from ..task import Given, Scored, Task


class FrameTask(Task):
    """A task whose items are frames, or what is done in them."""

    # The metrics whose scores of single items scores.json has; the first is always there.
    paired: ClassVar[Sequence[str]]
    option_groups: ClassVar[Sequence[str]] = (OF_FRAMES,)

    # The columns of references and predictions that `slot_lines` reads.
    explained: ClassVar[Sequence[str]] = ("frame_id",)

    @abstractmethod
    def score_rows(
        self, references: pa.Table, predictions: pa.Table, variant: str, rules: Rules
    ) -> ScoredFrames:
        """Score the rows of one variant."""

    def report(self, by_variant: Mapping[str, Any], dialogues: int, setup: Setup) -> dict[str, Any]:
        """Sum up the scores of all variants, of so many dialogues, as scores.json has them."""
        scores = frame_scores(by_variant, self.paired, setup.rules)
        groups = {name: scores.only(scores.items.groups()[name]) for name in (ALL, SEEN, UNSEEN)}
        sums = {name: self._sums(of_group) for name, of_group in groups.items()}
        counts = {name: len(of_group.items.ids) for name, of_group in groups.items()}
        means = Sample(self.by_variant(scores), scores.items.dialogue).values()
        changes = variant_differences(scores, self.main)
        return {
            "sgdx": {**sums.pop(ALL), **sums, "by_variant": means, "differences": changes},
            "frames": counts,
            "signature": signature(scores.variants, counts[ALL], dialogues, setup, self.name),
        }

    def _sums(self, scores: Scores) -> dict[str, Any]:
        """The figures of some frames, with their intervals."""
        sample = Sample(self.figures(scores), scores.items.dialogue)
        return {**sample.values(), "confidence": sample.intervals()}

    def frame_lines(
        self, variant: str, reference: Row, predicted: Row, scores: Mapping[str, float]
    ) -> Iterator[Line]:
        """The lines of a whole frame, by its scores."""
        yield Line(-3, self.unit, variant, "", [], [], scores[self.main], self.main)

    def slot_lines(
        self, variant: str, reference: Row, predicted: Row, aspects: list[str], rules: Rules
    ) -> Iterator[Line]:
        """The lines of which a change may make a frame right or wrong.

        Slots go by `aspects`, their names under the first variant.
        """
        yield from ()

    def write_items(self, scored: Scored, output: Path) -> None:
        """A row for each frame and variant, with all metrics."""
        by_variant = scored.by_variant.items()
        rows = pa.concat_tables(_item_rows(name, frames) for name, frames in by_variant)
        with staged(output) as path:
            if output.suffix == ".parquet":
                import pyarrow.parquet as pq  # It takes a while to import.

                pq.write_table(rows, path)
            else:
                path.write_bytes(msgspec.json.Encoder().encode_lines(rows.to_pylist()))

    def called(self, frames: pa.Table, frame_id: str, variant: str) -> pa.Table:
        """Those of a dialogue's frames in which there is something to explain."""
        return frames

    def score(self, given: Given) -> Scored:
        """Score the frames of each variant, or those that were chosen."""
        references, predictions, inputs = given
        headers = given.headers()
        acts = system_acts(headers, inputs.acts)
        ids = inputs.chosen(predictions, references, next(iter(predictions)))
        by_variant: dict[str, ScoredFrames] = {}
        subset, dialogues = None, 0
        for name, of_variant in predictions.items():
            frames, rows, subset = choose(of_variant, name, ids, references, inputs)
            with located({name: of_variant}, references):
                by_variant[name] = self.score_rows(frames, rows, name, inputs.rules)
            dialogues = len(dialogue_ids_of(frames))
        setup = Setup(
            split=inputs.split,
            release=references.release,
            rules=inputs.rules,
            system_acts=acts,
            oracle=is_oracle(headers),
            made_elsewhere=any(header.data is None for header in headers.values()),
            variants=references.marks([*predictions]),
            subset=subset,
            services=inputs.services,
        )
        content = self.report(by_variant, dialogues, setup)
        is_stated = bool(ids) and not (inputs.dialogues or inputs.limit or inputs.services)
        chosen = (dialogues, subset.available) if subset and is_stated else None
        raw = frame_scores(by_variant, self.paired, inputs.rules)
        return Scored(content, raw, by_variant, chosen)

    def explain_changes(self, given: Given, changed: Sequence[str] | None) -> None:
        """Likewise, of frames: those that flip have beside them what changed."""
        references, predictions, inputs = given
        ids = inputs.chosen(predictions, references, next(iter(predictions)))
        true, predicted = {}, {}
        for name, of_variant in predictions.items():
            true[name], predicted[name], subset = choose(of_variant, name, ids, references, inputs)
        if ids and subset and not (inputs.dialogues or inputs.limit):
            note_subset(len(set(ids)), subset.available)
        if changed is None:
            found = find_flips(true, predicted, self, inputs.rules)
            print_flips(*found, self.unit, terminal())
            return
        scored = [
            self.score_rows(true[name], predicted[name], name, inputs.rules) for name in changed
        ]
        accuracy = np.stack([frames.scores[self.main] for frames in scored])
        ids = scored[0].frame_id.to_pylist()
        print_broken(ids, accuracy, self.title, self.unit, changed, terminal())

    def explain_item(self, item: str, given: Given) -> None:
        """Print the dialogue up to a frame, and what the frame scores slot by slot."""
        true, predicted = {}, {}
        dialogue_id = item.rsplit("/", 2)[0]
        for name, of_variant in given.predictions.items():
            frames = given.references.dialogue(name, dialogue_id)
            if not frames.num_rows:
                raise SgdxError(
                    f"frame {item}: the references for {name} have no dialogue "
                    f"'{dialogue_id}', expected DIALOGUE/TURN/SERVICE of one that they have"
                )
            predicted[name] = with_frame_ids(of_variant, frames)
            true[name] = self.called(frames, item, name)
        lines = explain(item, true, predicted, self, given.inputs.rules)
        row = frame_row(next(iter(true.values())), item, "references").to_pylist()[0]
        dialogue = [(turn["speaker"], turn["utterance"]) for turn in row.get("history", [])]
        dialogue.append(("USER", row["utterance"] or ""))
        print_explanation(item, dialogue, lines, terminal())


def _item_rows(variant: str, frames: ScoredFrames) -> pa.Table:
    """The frames of one variant with all metrics, which are null where undefined."""
    columns = {
        "frame_id": frames.frame_id,
        "variant": pa.array([variant] * len(frames.seen), pa.string()),
        **({"service": frames.service} if isinstance(frames, FrameScores) else {}),
        "seen": frames.seen,
    }
    scores = {metric: pa.array(frames.scores[metric], from_pandas=True) for metric in frames.scores}
    return pa.table(columns | scores)


def choose(
    predictions: Predictions,
    variant: str,
    ids: Sequence[str],
    references: References,
    inputs: Inputs,
) -> tuple[pa.Table, pa.Table, Subset | None]:
    """The references and predictions of chosen dialogues and services, and which these are."""
    frames = references.rows(variant)
    rows, subset = with_frame_ids(predictions, frames), None
    if ids:
        where = str(inputs.dialogues or f"predictions for {variant}")
        subset = subset_of(frames, ids, where)
        frames, rows = only_dialogues(frames, subset), only_dialogues(rows, subset)
    elif references.available is not None:
        subset = Subset(dialogue_ids_of(frames), references.available)
    if subset and references.available is not None:
        subset = replace(subset, available=references.available)
    if services := inputs.services:
        frame_ids = column(frames, "frame_id").to_pylist()
        check_services(services, (frame_id.rpartition("/")[2] for frame_id in frame_ids))
        available = subset.available if subset else len(dialogue_ids_of(frames))
        frames, rows = (only_services(table, services) for table in (frames, rows))
        subset = Subset(dialogue_ids_of(frames), available)
    return frames, rows, subset


def explain(
    frame_id: str,
    references: Mapping[str, pa.Table],
    predictions: Mapping[str, pa.Table],
    task: FrameTask,
    rules: Rules = OFFICIAL,
) -> list[Line]:
    """Explain the scores of one of the frames in tables by variant.

    The lines are sorted by position, and then as the variants are. Slots that have no value on
    either side under any variant are left out.
    """
    lines: list[Line] = []
    aspects: list[str] = []
    for variant, rows in references.items():
        true_row = frame_row(rows, frame_id, f"references for {variant}")
        predicted_row = frame_row(predictions[variant], frame_id, f"predictions for {variant}")
        scores = task.score_rows(true_row, predicted_row, variant, rules).scores
        reference, predicted = true_row.to_pylist()[0], predicted_row.to_pylist()[0]
        names = [slot["name"] for slot in reference.get("schema_slots", ())]
        aspects = aspects or names
        if len(names) != len(aspects):
            raise SgdxError(
                f"references for {variant}: frame {frame_id} has {len(names)} slots in its schema, "
                f"expected {len(aspects)} as under the first variant"
            )
        of_frame = {metric: float(values[0]) for metric, values in scores.items()}
        lines += task.frame_lines(variant, reference, predicted, of_frame)
        lines += task.slot_lines(variant, reference, predicted, aspects, rules)
    lines.sort(key=lambda line: (line.position, line.aspect))
    by_aspect = [list(group) for _, group in groupby(lines, lambda x: (x.position, x.aspect))]
    return [
        line
        for group in by_aspect
        if any(line.reference or line.predicted or line.position < 0 for line in group)
        for line in group
    ]


def find_flips(
    references: Mapping[str, pa.Table],
    predictions: Mapping[str, pa.Table],
    task: FrameTask,
    rules: Rules = OFFICIAL,
) -> tuple[list[Flip], int, int]:
    """The flips in tables by variant, how many frames are always right, and how many there are."""
    names = list(references)
    scores = {
        name: task.score_rows(references[name], predictions[name], name, rules) for name in names
    }
    check_same_frames(scores)
    accuracy = np.stack([scores[name].scores[task.main] for name in names])
    found = list(flipping(accuracy, names))
    positions = pa.array([position for position, *_ in found], pa.int64())
    frame_ids = scores[names[0]].frame_id.take(positions)
    true_rows, predicted_rows = (
        {name: _rows_of(tables[name], frame_ids, task.explained) for name in names}
        for tables in (references, predictions)
    )
    flips = []
    for i, (_, right, wrong) in enumerate(found):
        aspects = [slot["name"] for slot in true_rows[names[0]][i].get("schema_slots", ())]
        before, after = (
            list(task.slot_lines(name, true_rows[name][i], predicted_rows[name][i], aspects, rules))
            for name in (right[0], wrong[0])
        )
        changes = [
            (left, line)
            for left, line in zip(before, after)
            if line.score is not None and left.score is not None and line.score < left.score
        ]
        flips.append(Flip(frame_ids[i].as_py(), right, wrong, changes))
    return flips, int((accuracy >= RIGHT).all(axis=0).sum()), accuracy.shape[1]


def _rows_of(rows: pa.Table, frame_ids: pa.Array, columns: Sequence[str]) -> list[Row]:
    """The rows of some frames, in the order of their ids, with those of some columns they have."""
    known = [name for name in columns if name in rows.column_names]
    positions = pc.index_in(frame_ids, value_set=strings(column(rows, "frame_id")))
    taken: list[Row] = rows.select(known).take(positions).to_pylist()
    return taken
