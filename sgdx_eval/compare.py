"""Runs beside each other: one system's averaged, and by how much another system's differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.figures import figures
from sgdx_metric.result import Figure, Metric, Result

from .result import (
    SYSTEM_PARTS,
    Scored,
    check_alike,
    check_part,
    only_dialogues,
    read_runs,
    with_common_metrics,
)
from .tasks import TASKS


class Comparison(Result, kw_only=True):
    """By how much the second system's figures are above the first's."""

    # What the two sides are called, and how many runs each has.
    names: list[str]
    runs: list[int]
    # Whether each reads the system's acts, and was trained on what it is evaluated on.
    system_acts: list[str]
    oracle: list[str]
    # Of samples of other harnesses, what their logs measure.
    metrics: list[Metric] | msgspec.UnsetType = msgspec.UNSET


def summarise(paths: Sequence[Path]) -> Result:
    """Average the figures of two or more runs, of any task, that were scored alike.

    `value` is the mean over the runs and `second_sd` their sample standard deviation; None where a
    run has none.
    """
    if len(paths) < 2:
        raise SgdxError(
            f"summarise: found {len(paths)} file, expected the scores.json of two runs or more"
        )
    runs = read_runs(paths)
    means = averaged([run.result.figures for run in runs])
    return Result(task=runs[0].task, signature=runs[0].signature, figures=means)


def averaged(runs: Sequence[Sequence[Figure]]) -> list[Figure]:
    """The figures of several runs as means, with their deviations, of those that all have."""
    by_key = [{_key(f): f for f in run} for run in runs]
    found = []
    for key, first in by_key[0].items():
        values = [of[key].value for of in by_key if key in of]
        known = [value for value in values if value is not None]
        if len(values) < len(runs):
            continue
        whole = len(known) == len(runs)
        fields = {name: getattr(first, name) for name in Figure.__struct_fields__}
        fields |= {"low": None, "high": None, "low_services": None, "high_services": None}
        fields["value"] = float(np.mean(known)) if whole else None
        fields["second_sd"] = float(np.std(known, ddof=1)) if whole and len(known) > 1 else None
        found.append(Figure(**fields))
    return found


def _key(figure: Figure) -> tuple[Any, ...]:
    return figure.metric, figure.figure, tuple(figure.variants), figure.group


def compare(
    first: Sequence[Path], second: Sequence[Path], dialogues: Path | None = None
) -> Comparison:
    """Compare two systems, of any task, that were scored alike on the same items.

    Each side has a scores.json for each run, such as those of several seeds; its figures are means
    over them. Where the sides have different dialogues, those of the side with fewer are compared.
    """
    sides = read_runs(first), read_runs(second)
    for key in ("release", "split"):  # Dialogues of other data cannot be chosen.
        check_part(sides[0][0], sides[1][0], key)
    sides = _on_the_same_dialogues(sides, dialogues)
    check_alike(sides[0][0], sides[1][0], free=SYSTEM_PARTS)
    left, right = sides[0][0], sides[1][0]
    return Comparison(
        task=left.task,
        signature=_common_signature(left, right),
        names=names_of(first, second),
        runs=[len(first), len(second)],
        system_acts=[left.part("system-acts"), right.part("system-acts")],
        oracle=[left.part("oracle"), right.part("oracle")],
        figures=difference(*sides),
    )


def difference(first: Sequence[Scored], second: Sequence[Scored]) -> list[Figure]:
    """By how much the second side's figures are above the first's, of all groups."""
    scores = with_common_metrics([*first, *second])
    task, rules = first[0].task, first[0].rules
    sides = scores[: len(first)], scores[len(first) :]
    return figures(sides[0], TASKS[task].metrics, rules, others=sides[1])


def names_of(first: Sequence[Path], second: Sequence[Path]) -> list[str]:
    """What two sides are called: the name of the folder or file, or the paths if that is one."""
    sides = [
        ", ".join(_name(of) for of in side)
        for side in ([path.absolute() for path in first], [path.absolute() for path in second])
    ]
    if sides[0] == sides[1]:
        sides = [", ".join(map(str, side)) for side in (first, second)]
    return sides


def _name(path: Path) -> str:
    if path.is_dir():
        return path.name
    return path.parent.name if path.name == "scores.json" else path.stem


Sides = tuple[list[Scored], list[Scored]]


def _on_the_same_dialogues(sides: Sides, dialogues: Path | None) -> Sides:
    """Both sides, narrowed to the file's dialogues, or to those of the side that has fewer."""
    fewer, more = sorted((side[0] for side in sides), key=lambda run: len(run.dialogue_ids()))
    if dialogues:
        split = fewer.part("split")
        ids = read_dialogue_ids(dialogues, None if split == "unknown" else split)
        where = str(dialogues)
    elif fewer.part("dialogues") == more.part("dialogues"):
        return sides
    else:
        ids, where = fewer.dialogue_ids(), str(fewer.path)
    first, second = ([only_dialogues(run, ids, where) for run in side] for side in sides)
    return first, second


def _common_signature(first: Scored, second: Scored) -> str:
    """The first system's signature, in which the system's own parts have both systems' values."""
    ends: dict[str, str] = {key: first.part(key) for key in ("ci", "version") if key in first.parts}
    parts = {key: value for key, value in first.parts.items() if key not in ends}
    if first.part("canonical") != second.part("canonical"):
        parts.pop("canonical", None)
    for key in SYSTEM_PARTS:
        left, right = first.part(key), second.part(key)
        if left != right:
            (ends if key in ends else parts)[key] = f"{left}/{right}"
    return "|".join(
        [first.signature.split("|")[0], *(":".join(of) for of in (parts | ends).items())]
    )
