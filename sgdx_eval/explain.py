"""One frame taken apart: reference and prediction slot by slot under every schema variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import column, same_turn, strings
from sgdx_metric.fuzzy import fuzzy_scores
from sgdx_metric.report import check_same_frames
from sgdx_metric.robustness import RIGHT, flipped
from sgdx_metric.signature import OFFICIAL, Rules
from sgdx_metric.units import ScoredFrames

if TYPE_CHECKING:
    from .tasks.frames import FrameTask

Row = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """What one aspect of a frame scores under one variant, and why.

    Attributes:
        position: The aspect's position: -3 for the joint goal or the whole call, -2 for the active
            intent or the function that is called, -1 for the requested slots, the slots of the
            schema from 0 in their order, and one more for slots that the schema lacks.
        aspect: The name that all lines of one position share. A slot goes by its name under the
            first variant.
        variant: The schema variant.
        slot: The slot's name under this variant; empty for an aspect that is not a slot.
        reference, predicted: The values on each side, [] for none.
        score: The score in [0, 1]; None for a slot that the schema lacks.
        why: What decided the score, in a few words.
    """

    position: int
    aspect: str
    variant: str
    slot: str
    reference: list[str]
    predicted: list[str]
    score: float | None
    why: str


def explain(
    frame_id: str,
    references: Mapping[str, pa.Table],
    predictions: Mapping[str, pa.Table],
    task: FrameTask,
    rules: Rules = OFFICIAL,
) -> list[Line]:
    """Explain a frame's scores.

    Args:
        frame_id: The frame, `<dialogue>/<turn>/<original service>`.
        references, predictions: Tables by variant, as for the task's `score`; other frames are
            skipped.
        task: What was predicted.
        rules: How the frame is scored.

    Returns:
        Lines sorted by position, and then in the order in which the variants were given.
        Slots that have no value on either side under any variant are left out.

    Raises:
        SgdxError: The frame is not there once, or the variants' schemas have different numbers of
            slots.
    """
    lines: list[Line] = []
    aspects: list[str] = []
    for variant, table in references.items():
        true_row = frame_row(table, frame_id, f"references for {variant}")
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
        lines += task.frame_lines(
            variant, reference, predicted, {m: float(v[0]) for m, v in scores.items()}
        )
        lines += task.slot_lines(variant, reference, predicted, aspects, rules)
    return list(_with_values(sorted(lines, key=lambda line: (line.position, line.aspect))))


def frame_row(table: pa.Table, frame_id: str, whose: str) -> pa.Table:
    """Find the one row of a frame.

    Args:
        table: Rows with a column `frame_id`.
        frame_id: The frame.
        whose: What an error message begins with, such as "predictions for v1".

    Raises:
        SgdxError: The table has no row of the frame, or several.
    """
    try:
        frame_id.encode()
    except UnicodeEncodeError:  # A shell or a browser can pass what is no Unicode text.
        raise SgdxError(f"{whose}: found no frame {frame_id!a}") from None
    rows = table.filter(pc.equal(table["frame_id"], frame_id))
    if rows.num_rows != 1:
        if rows.num_rows:
            raise SgdxError(f"{whose}: found frame {frame_id} {rows.num_rows} times, expected once")
        raise SgdxError(f"{whose}: {_not_found(frame_id, strings(column(table, 'frame_id')))}")
    return rows


def _not_found(frame_id: str, known_ids: pa.Array) -> str:
    """What an error message says of a frame that is not there."""
    if turn := same_turn(frame_id, known_ids):
        return f"found no frame {frame_id}{turn}"
    of_dialogue = known_ids.filter(pc.starts_with(known_ids, f"{frame_id}/")).to_pylist()
    if of_dialogue:
        return (
            f"{frame_id} is a dialogue's id, expected one of its {len(of_dialogue)} frames, "
            f"DIALOGUE/TURN/SERVICE: {', '.join(of_dialogue)}"
        )
    dialogue_id = frame_id.rsplit("/", 2)[0]
    of_dialogue = known_ids.filter(pc.starts_with(known_ids, f"{dialogue_id}/")).to_pylist()
    if of_dialogue:
        return (
            f"found no frame {frame_id}, expected one of the {len(of_dialogue)} frames of "
            f"dialogue {dialogue_id}: {', '.join(of_dialogue)}"
        )
    return (
        f"found no frame of dialogue {dialogue_id}, expected one of theirs, such as "
        f"{known_ids[0].as_py() if len(known_ids) else 'DIALOGUE/TURN/SERVICE'}"
    )


def broken_frames(
    first: ScoredFrames, second: ScoredFrames, accuracy: str
) -> list[tuple[str, float, float]]:
    """Find the frames whose accuracy is less under a second variant than under a first.

    Args:
        first, second: The scores of the same frames under the two variants.
        accuracy: The metric.

    Returns:
        The frame's id and its accuracy under the first and the second variant; those that lose most
        come first, and frames that lose as much are sorted by id.
    """
    before, after = (frames.scores[accuracy] for frames in (first, second))
    ids = first.frame_id.to_pylist()
    rows = [(ids[i], float(before[i]), float(after[i])) for i in np.flatnonzero(after < before)]
    return sorted(rows, key=lambda row: (row[2] - row[1], row[0]))


@dataclass(frozen=True)
class Flip:
    """A frame that is right under one wording and wrong under another.

    Attributes:
        frame_id: The frame.
        right, wrong: The wordings under which it scores at least 0.5, and less.
        changes: The slots, or the function that is called, that score less under the first of
            `wrong` than under the first of `right`: the line under each of these two wordings.
    """

    frame_id: str
    right: list[str]
    wrong: list[str]
    changes: list[tuple[Line, Line]]


def find_flips(
    references: Mapping[str, pa.Table],
    predictions: Mapping[str, pa.Table],
    task: FrameTask,
    rules: Rules = OFFICIAL,
) -> tuple[list[Flip], int, int]:
    """Find the frames that are right under one wording and wrong under another.

    Args:
        references, predictions: Tables by variant, as for the task's `score`, two or more.
        task: What was predicted.
        rules: How frames are scored.

    Returns:
        The flips, sorted by frame; how many frames are right under every wording; and how many
        frames there are.

    Raises:
        ScoreError: The variants have different frames, or rows cannot be scored.
    """
    names = list(references)
    scores = {
        name: task.score_rows(references[name], predictions[name], name, rules) for name in names
    }
    check_same_frames(scores)
    accuracy = np.stack([scores[name].scores[task.main] for name in names])
    is_right = accuracy >= RIGHT
    flipping = np.flatnonzero(flipped(accuracy) == 1)
    frame_ids = scores[names[0]].frame_id.take(pa.array(flipping))
    true_rows, predicted_rows = (
        {name: _rows_of(tables[name], frame_ids, task.explained) for name in names}
        for tables in (references, predictions)
    )
    flips = []
    for i, position in enumerate(flipping.tolist()):
        right = [name for name, ok in zip(names, is_right[:, position]) if ok]
        wrong = [name for name in names if name not in right]
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
    return flips, int(is_right.all(axis=0).sum()), accuracy.shape[1]


def _rows_of(table: pa.Table, frame_ids: pa.Array, columns: Sequence[str]) -> list[Row]:
    """The rows of some frames, in the order of their ids, with those of some columns they have."""
    own_columns = [name for name in columns if name in table.column_names]
    positions = pc.index_in(frame_ids, value_set=strings(column(table, "frame_id")))
    rows: list[Row] = table.select(own_columns).take(positions).to_pylist()
    return rows


def _with_values(lines: list[Line]) -> Iterator[Line]:
    """Leave out the slots that have no value on either side under any variant."""
    for _, group in groupby(lines, key=lambda line: (line.position, line.aspect)):
        aspect_lines = list(group)
        if any(line.reference or line.predicted or line.position < 0 for line in aspect_lines):
            yield from aspect_lines


def judge_values(
    true: list[str], guess: list[str], categorical: bool, rules: Rules
) -> tuple[float, str]:
    """The score of a slot of the schema in [0, 1], and what decided it."""
    if not (true and guess):
        return (0.0, "missing") if true else (0.0, "extra") if guess else (1.0, "no value")
    if true[0] == guess[0] or (guess[0] in true and not categorical):
        return 1.0, "equal"
    if categorical or not rules.use_fuzzy_match:
        return 0.0, "differs"
    last = np.full(len(true), len(true))
    match = fuzzy_scores([*true, guess[0]], np.arange(len(true)), last)
    best = int(match.argmax())
    return float(match[best]), f'fuzzy {100 * match[best]:.0f} against "{true[best]}"'
