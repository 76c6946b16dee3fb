"""Frames taken apart: reference and prediction slot by slot under every wording, and what flips."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import Floats, column, same_turn, strings
from sgdx_metric.core import RIGHT, flipped
from sgdx_metric.figures import check_same_frames
from sgdx_metric.fuzzy import fuzzy_scores
from sgdx_metric.signature import OFFICIAL, Rules

from .tables import NO_VALUE, legend, number, percent, print_line, table, to_terminal

if TYPE_CHECKING:
    from .task import Task
    from .tasks.frames import FrameTask

Row = dict[str, Any]
_FLIPS_TERMS = [
    "what changed: what was lost, with the prediction under the first wording of "
    '"right under" -> the prediction under the first of "wrong under" (why it is wrong).',
    f"{NO_VALUE}: no value.",
]


@dataclass(frozen=True)
class Line:
    """What one aspect of a frame scores under one variant, and why."""

    # -3 for the joint goal or the whole call, -2 for the active intent or the function that is
    # called, -1 for the requested slots, the slots of the schema from 0 in their order, and one
    # more for slots that the schema lacks.
    position: int
    # What all lines of one position share. A slot goes by its name under the first variant.
    aspect: str
    variant: str
    # The slot's name under this variant; empty for an aspect that is not a slot.
    slot: str
    # The values on each side, [] for none.
    reference: list[str]
    predicted: list[str]
    # In [0, 1]; None for a slot that the schema lacks.
    score: float | None
    # What decided the score, in a few words.
    why: str


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


def frame_row(rows: pa.Table, frame_id: str, whose: str) -> pa.Table:
    """The one row of a frame; errors begin with `whose`, such as "predictions for v1"."""
    try:
        frame_id.encode()
    except UnicodeEncodeError:  # A shell or a browser can pass what is no Unicode text.
        raise SgdxError(f"{whose}: found no frame {frame_id!a}") from None
    row = rows.filter(pc.equal(rows["frame_id"], frame_id))
    if row.num_rows > 1:
        raise SgdxError(f"{whose}: found frame {frame_id} {row.num_rows} times, expected once")
    if not row.num_rows:
        raise SgdxError(f"{whose}: {_not_found(frame_id, strings(column(rows, 'frame_id')))}")
    return row


def _not_found(frame_id: str, known_ids: pa.Array) -> str:
    """What an error message says of a frame that is not there."""
    if turn := same_turn(frame_id, known_ids):
        return f"found no frame {frame_id}{turn}"
    for dialogue_id in (frame_id, frame_id.rsplit("/", 2)[0]):
        known = known_ids.filter(pc.starts_with(known_ids, f"{dialogue_id}/")).to_pylist()
        if known:
            return (
                f"found no frame {frame_id}, expected DIALOGUE/TURN/SERVICE, one of the "
                f"{len(known)} frames of dialogue {dialogue_id}: {', '.join(known)}"
            )
    return (
        f"found no frame of dialogue {dialogue_id}, expected one of theirs, such as "
        f"{known_ids[0].as_py() if len(known_ids) else 'DIALOGUE/TURN/SERVICE'}"
    )


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


@dataclass(frozen=True)
class Flip:
    """A frame that is right under one wording and wrong under another."""

    frame_id: str
    # The wordings under which it scores at least 0.5, and less.
    right: list[str]
    wrong: list[str]
    # The slots, or the function that is called, that score less under the first of `wrong` than
    # under the first of `right`: the line under each of these two wordings.
    changes: list[tuple[Line, Line]]


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


def flipping(accuracy: Floats, names: Sequence[str]) -> Iterator[tuple[int, list[str], list[str]]]:
    """The position of each item that flips, and the wordings under which it is right and wrong."""
    for position in np.flatnonzero(flipped(accuracy) == 1).tolist():
        right = [name for name, score in zip(names, accuracy[:, position]) if score >= RIGHT]
        yield position, right, [name for name in names if name not in right]


def asked_wordings(changed: Sequence[str] | None, predictions: Collection[str]) -> list[str]:
    """The wordings whose items are listed: the two of --changed, or all for --flips."""
    names = list(changed or predictions)
    if lacking := [name for name in names if name not in predictions]:
        raise SgdxError(
            f"--changed {' '.join(names)}: found no predictions for '{lacking[0]}', expected "
            f"one of {', '.join(predictions)}"
        )
    if len(names) < 2:
        raise SgdxError(
            f"--flips: found predictions for {', '.join(names)} alone, expected those for two "
            "wordings or more"
        )
    return names


def _rows_of(rows: pa.Table, frame_ids: pa.Array, columns: Sequence[str]) -> list[Row]:
    """The rows of some frames, in the order of their ids, with those of some columns they have."""
    known = [name for name in columns if name in rows.column_names]
    positions = pc.index_in(frame_ids, value_set=strings(column(rows, "frame_id")))
    taken: list[Row] = rows.select(known).take(positions).to_pylist()
    return taken


# ---- on the terminal, in 80 columns


def print_explanation(
    frame_id: str, dialogue: Sequence[tuple[str, str]], lines: list[Line], console: Console
) -> None:
    """Print the dialogue up to a frame, and what each slot of it scores under each variant."""
    print_line(frame_id, console)
    for speaker, utterance in dialogue:
        print_line(f"{speaker.lower():>6}: {utterance}", console, fold=True)
    rows = []
    for line in lines:
        values = " | ".join(line.reference), " | ".join(line.predicted)
        rows.append([line.variant, line.slot or line.aspect, *values, number(line.score), line.why])
    breaks = [i for i, (one, two) in enumerate(pairwise(lines)) if one.aspect != two.aspect]
    headers = ["variant", "slot", "reference", "prediction", "score", "why"]
    texts = {*headers} - {"score"}
    to_terminal(table("", headers, rows, texts, breaks), console)


def print_broken(
    ids: Sequence[str], accuracy: Floats, task: Task, names: Sequence[str], console: Console
) -> None:
    """List the items that score less under the second wording; those that lose most come first.

    `accuracy` is [2, items].
    """
    before, after = accuracy
    lost = sorted(
        np.flatnonzero(after < before).tolist(), key=lambda i: (after[i] - before[i], ids[i])
    )
    rows = [[ids[i], percent(float(before[i])), percent(float(after[i]))] for i in lost]
    to_terminal(table(f"{task.title}, in %", [task.unit, *names], rows), console)
    less = f"score less under {names[1]} than under {names[0]}"
    print_line(f"{len(rows)} of {len(ids)} {task.unit}s {less}", console)


def print_flips(flips: Sequence[Flip], right: int, count: int, unit: str, console: Console) -> None:
    """List the frames that are right under one wording and wrong under another."""
    rows = []
    for flip in flips:
        changed = "; ".join(
            f"{line.slot or line.aspect}: {' | '.join(before.predicted) or NO_VALUE} -> "
            f"{' | '.join(line.predicted) or NO_VALUE} ({line.why})"
            for before, line in flip.changes
        )
        rows.append([flip.frame_id, " ".join(flip.right), " ".join(flip.wrong), changed])
    title = f"{unit.capitalize()}s that are right under one wording and wrong under another"
    headers = [unit, "right under", "wrong under", "what changed"]
    to_terminal(table(title, headers, rows, headers), console)
    if flips:
        print_line(f"{legend(_FLIPS_TERMS)}\n", console)
    share, stay = (percent(n / count if count else None) for n in (len(flips), right))
    summary = f"{len(flips)} of {count} {unit}s ({share} %) flip"
    print_line(f"{summary}; {right} are right under every wording ({stay} %)", console)
