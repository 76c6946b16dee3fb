"""What tasks have in common whose items are frames, such as states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import column, strings
from sgdx_metric.result import Metric
from sgdx_metric.scoring import NAMES, check_same_frames, frame_scores
from sgdx_metric.signature import OFFICIAL, Rules, Setup, Subset, signature
from sgdx_metric.units import (
    ScoredFrames,
    dialogue_ids_of,
    only_dialogues,
    only_services,
    subset_of,
)

from ..explain import ItemTable, Line, Row, frame_row, print_explanation
from ..inputs import Inputs, check_services, note_subset
from ..options import OF_FRAMES
from ..prediction_files import is_oracle, system_acts
from ..predictions import Predictions, located, with_frame_ids
from ..references import References
from ..tables import terminal
from ..task import Given, Rows, ScoredItems, Task


def _no_lines(*_: Any) -> Iterator[Line]:
    yield from ()


def _nothing_beside(scored: ScoredItems, *_: Any) -> ScoredItems:
    return scored


@dataclass(frozen=True)
class Frames:
    """A task whose items are frames."""

    name: str
    # The first decides whether a frame is right.
    metrics: Sequence[Metric]
    # Scores the rows of one variant: references, predictions, the variant and the rules.
    score_rows: Callable[[pa.Table, pa.Table, str, Rules], Any]
    # The lines of a whole frame by its scores, and those of which a change may make it wrong.
    frame_lines: Callable[[str, Row, Row, Mapping[str, float]], Iterator[Line]] = _no_lines
    slot_lines: Callable[[str, Row, Row, list[str], Rules], Iterator[Line]] = _no_lines
    # The columns of references and predictions that `slot_lines` reads.
    explained: Sequence[str] = ("frame_id",)
    # Adds counts, and what has to be said.
    beside: Callable[[ScoredItems, Mapping[str, Any], Given], ScoredItems] = _nothing_beside

    def score(self, given: Given) -> ScoredItems:
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
        scores = frame_scores(by_variant, inputs.rules)
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
            canonical="canonical" in scores.metrics,
        )
        line = signature(scores.variants, len(scores.items.ids), dialogues, setup, self.name)
        is_stated = bool(ids) and not (inputs.dialogues or inputs.limit or inputs.services)
        chosen = (dialogues, subset.available) if subset and is_stated else None
        return self.beside(ScoredItems(scores, line, chosen=chosen), by_variant, given)

    def items(self, given: Given) -> ItemTable:
        """The frames, whose lines are those of `slot_lines`."""
        references, predictions, inputs = given
        ids = inputs.chosen(predictions, references, next(iter(predictions)))
        true, predicted = {}, {}
        for name, of_variant in predictions.items():
            true[name], predicted[name], subset = choose(of_variant, name, ids, references, inputs)
        if ids and subset and not (inputs.dialogues or inputs.limit):
            note_subset(len(set(ids)), subset.available)
        return self.item_table(true, predicted, inputs.rules)

    def item_table(
        self, true: Mapping[str, pa.Table], predicted: Mapping[str, pa.Table], rules: Rules
    ) -> ItemTable:
        """The frames of references and predictions, by variant."""
        scored = {
            name: self.score_rows(true[name], predicted[name], name, rules) for name in predicted
        }
        check_same_frames(scored)
        names, ids = [*scored], next(iter(scored.values())).frame_id
        main = self.metrics[0]
        key = next((key for key, name in NAMES.items() if name == main.name), main.name)

        def row(rows: pa.Table, place: int) -> Row:
            known = [name for name in self.explained if name in rows.column_names]
            at = pc.index(strings(column(rows, "frame_id")), ids[place]).as_py()
            taken: Row = rows.select(known).slice(at, 1).to_pylist()[0]
            return taken

        def lines(place: int, name: str) -> list[Line]:
            first = row(true[names[0]], place)
            aspects = [slot["name"] for slot in first.get("schema_slots", ())]
            sides = row(true[name], place), row(predicted[name], place)
            return list(self.slot_lines(name, *sides, aspects, rules))

        scores = np.stack([of.scores[key] for of in scored.values()])
        return ItemTable("frame", main.shown, names, ids.to_pylist(), scores, lines)

    def why(self, item: str, given: Given) -> None:
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
            true[name] = frames
        lines = explain(item, true, predicted, self, given.inputs.rules)
        row = frame_row(next(iter(true.values())), item, "references").to_pylist()[0]
        dialogue = [(turn["speaker"], turn["utterance"]) for turn in row.get("history", [])]
        dialogue.append(("USER", row["utterance"] or ""))
        print_explanation(item, dialogue, lines, terminal())


def frame_task(frames: Frames, rows: Rows, option_groups: Sequence[str] = (OF_FRAMES,)) -> Task:
    """A task whose items are frames."""
    how = frames.score, frames.why, frames.items
    return Task(frames.name, "frame", frames.metrics, rows, *how, option_groups)


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
    task: Frames,
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
