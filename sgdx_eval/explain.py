"""Frames taken apart: reference and prediction slot by slot under every variant, and what flips."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import Floats, column, strings
from sgdx_metric.fuzzy import fuzzy_scores
from sgdx_metric.signature import Rules
from sgdx_metric.statistics import RIGHT, flipped
from sgdx_metric.variants import floor_of

from .tables import NO_VALUE, legend, number, percent, print_line, table, to_terminal

Row = dict[str, Any]
_FLIPS_TERMS = [
    "what changed: what was lost, with the prediction under the first variant of "
    '"right under" -> the prediction under the first of "wrong under" (why it is wrong).',
    f"{NO_VALUE}: no value.",
]


@dataclass(frozen=True)
class Line:
    """What one aspect of a frame scores under one variant, and why."""

    # -3 for the joint goal, -2 for the active intent, -1 for the requested slots, the slots of the
    # schema from 0 in their order, and one more for slots that the schema lacks.
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
        known = strings(column(rows, "frame_id")).to_pylist()
        of_dialogue = [name for name in known if name.startswith(frame_id.split("/")[0] + "/")]
        raise SgdxError(
            f"{whose}: found no frame {frame_id}, expected DIALOGUE/TURN/SERVICE, as in "
            f"{', '.join(of_dialogue or known[:1])}"
        )
    return row


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
class ItemTable:
    """What every item scores under each variant, and what is compared of it."""

    unit: str
    # What the scores are called.
    title: str
    variants: Sequence[str]
    ids: Sequence[str]
    scores: Floats  # [variants, items]
    # The lines of an item, by its place, under a variant: slots, or what is said.
    lines: Callable[[int, str], Sequence[Line]]


@dataclass(frozen=True)
class Flip:
    """An item that is right under one variant and wrong under another."""

    item: str
    # The variants under which it scores at least 0.5, and less.
    right: list[str]
    wrong: list[str]
    # What scores less under the first of `wrong` than under the first of `right`: the line under
    # each of these two variants.
    changes: list[tuple[Line, Line]]


def find_flips(items: ItemTable) -> list[Flip]:
    """The items that flip."""
    flips = []
    for place in np.flatnonzero(flipped(items.scores) == 1).tolist():
        of_item = zip(items.variants, items.scores[:, place])
        right = [name for name, score in of_item if score >= RIGHT]
        wrong = [name for name in items.variants if name not in right]
        changes = [
            (before, after)
            for before, after in zip(items.lines(place, right[0]), items.lines(place, wrong[0]))
            if before.score is not None and after.score is not None and after.score < before.score
        ]
        flips.append(Flip(items.ids[place], right, wrong, changes))
    return flips


def asked_variants(changed: Sequence[str] | None, predictions: Collection[str]) -> list[str]:
    """The variants whose items are listed: the two of --changed, or for --flips all other words."""
    names = list(changed or [name for name in predictions if not floor_of(name)])
    if lacking := [name for name in names if name not in predictions]:
        raise SgdxError(
            f"--changed {' '.join(names)}: found no predictions for '{lacking[0]}', expected "
            f"one of {', '.join(predictions)}"
        )
    if len(names) < 2:
        raise SgdxError(
            f"--flips: found predictions for {', '.join(names)} alone, expected those for two "
            "variants or more"
        )
    return names


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


def print_broken(items: ItemTable, console: Console) -> None:
    """List the items that score less under the second of two variants, the largest losses first."""
    (before, after), ids, names = items.scores, items.ids, items.variants
    lost = sorted(
        np.flatnonzero(after < before).tolist(), key=lambda i: (after[i] - before[i], ids[i])
    )
    rows = [[ids[i], percent(float(before[i])), percent(float(after[i]))] for i in lost]
    to_terminal(table(f"{items.title}, in %", [items.unit, *names], rows), console)
    less = f"score less under {names[1]} than under {names[0]}"
    print_line(f"{len(rows)} of {len(ids)} {items.unit}s {less}", console)


def print_flips(items: ItemTable, console: Console) -> None:
    """List the items that are right under one variant and wrong under another."""
    flips, unit, count = find_flips(items), items.unit, len(items.ids)
    rows = []
    for flip in flips:
        changed = "; ".join(
            f"{line.slot or line.aspect}: {' | '.join(before.predicted) or NO_VALUE} -> "
            f"{' | '.join(line.predicted) or NO_VALUE} ({line.why})"
            for before, line in flip.changes
        )
        rows.append([flip.item, " ".join(flip.right), " ".join(flip.wrong), changed])
    title = f"{unit.capitalize()}s that are right under one variant and wrong under another"
    headers = [unit, "right under", "wrong under", "what changed"]
    to_terminal(table(title, headers, rows, headers), console)
    if flips:
        print_line(f"{legend(_FLIPS_TERMS)}\n", console)
    right = int((items.scores >= RIGHT).all(axis=0).sum())
    share, stay = (percent(n / count if count else None) for n in (len(flips), right))
    summary = f"{len(flips)} of {count} {unit}s ({share} %) flip"
    print_line(f"{summary}; {right} are right under every variant ({stay} %)", console)
