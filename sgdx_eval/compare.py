"""Runs beside each other: one system's averaged, and two systems' compared, could it be chance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric import statistics
from sgdx_metric.columns import Ints
from sgdx_metric.statistics import RESAMPLES, TRIALS

from .results import (
    SYSTEM_PARTS,
    Outcome,
    Results,
    check_alike,
    check_part,
    only_dialogues,
    read_runs,
    with_common_metrics,
)


def summarise(paths: Sequence[Path]) -> Outcome:
    """Average the figures of two or more runs, of any task, that were scored alike.

    Of each group of items, each figure has its `mean`, its sample standard deviation `sd` and its
    `values`, one a run. One that is undefined in a run has neither mean nor deviation.
    """
    if len(paths) < 2:
        raise SgdxError(
            f"summarise: found {len(paths)} file, expected the scores.json of two runs or more"
        )
    runs = read_runs(paths)
    items = runs[0].raw.items
    groups = {name: m for name, m in items.groups().items() if name not in items.services()}
    content = {
        "signature": runs[0].signature,
        "runs": len(runs),
        "groups": {name: _group(runs, members) for name, members in groups.items()},
    }
    task = runs[0].task
    return Outcome(task, task.figures(runs[0].scores()), content, runs[0].scores())


def _group(runs: Sequence[Results], members: Ints) -> dict[str, Any]:
    """The figures of some items, averaged over the runs."""
    task = runs[0].task
    figures = [run.sample(members).values() for run in runs]
    by_variant = [run.by_variant(members).values() for run in runs]
    return {
        task.counted: task.count(runs[0].raw.only(members)),
        **{name: _spread([of_run.get(name) for of_run in figures]) for name in figures[0]},
        "by_variant": {
            name: _spread([of_run.get(name) for of_run in by_variant]) for name in runs[0].variants
        },
    }


def _spread(values: Sequence[float | None]) -> dict[str, Any]:
    """Mean and sample standard deviation of one figure of all runs."""
    defined = [value for value in values if value is not None]
    whole = len(defined) == len(values)
    return {
        "mean": float(np.mean(defined)) if whole else None,
        "sd": float(np.std(defined, ddof=1)) if whole else None,
        "values": list(values),
    }


Sides = tuple[list[Results], list[Results]]


def compare(
    first: Sequence[Path], second: Sequence[Path], dialogues: Path | None = None
) -> Outcome:
    """Compare two systems, of any task, that were scored alike on the same items.

    Each side has a scores.json for each run, such as those of several seeds; its figures are means
    over them. Where the sides have different dialogues, those of the side with fewer are compared.

    For all, seen and unseen items and each service a group of the content has, by figure, `first`,
    `second`, `difference` (second - first), its 95 % `interval` and `p`; with several runs the
    sample standard deviations `first_sd` and `second_sd`. `by_variant` has the same of the main
    figure under each variant. All figures but BLEU are fractions.
    """
    sides = read_runs(first), read_runs(second)
    for key in ("release", "split"):  # Dialogues of other data cannot be chosen.
        check_part(sides[0][0], sides[1][0], key)
    sides = _on_the_same_dialogues(sides, dialogues)
    check_alike(sides[0][0], sides[1][0], free=SYSTEM_PARTS)
    runs = with_common_metrics([*sides[0], *sides[1]])
    sides = runs[: len(first)], runs[len(first) :]
    left, right = sides[0][0], sides[1][0]
    task = left.task
    groups = {
        name: {
            task.counted: task.count(left.raw.only(members)),
            **statistics.compare(
                [run.sample(members) for run in sides[0]],
                [run.sample(members) for run in sides[1]],
            ),
        }
        for name, members in left.raw.items.groups().items()
    }
    several = len(first) > 1 or len(second) > 1
    content = {
        "signature": _common_signature(left, right),
        "system_acts": _of_both(left, right, "system-acts"),
        "oracle": _of_both(left, right, "oracle"),
        "runs": {"first": len(first), "second": len(second)},
        "resamples": RESAMPLES,
        "trials": None if several else TRIALS,
        "dialogues": len(left.dialogue_ids()),
        "groups": groups,
        "by_variant": statistics.compare(
            [run.by_variant() for run in sides[0]], [run.by_variant() for run in sides[1]]
        ),
    }
    return Outcome(task, task.figures(left.scores()), content, left.scores())


def _of_both(left: Results, right: Results, key: str) -> dict[str, str]:
    return {"first": left.part(key), "second": right.part(key)}


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


def _common_signature(first: Results, second: Results) -> str:
    """The first system's signature, in which the system's own parts have both systems' values."""
    line = first.signature
    if first.part("canonical") != second.part("canonical"):
        line = line.replace(f"|canonical:{first.part('canonical')}|", "|")
    for key in SYSTEM_PARTS:
        left, right = first.part(key), second.part(key)
        if left != right and key in first.parts:
            line = line.replace(f"|{key}:{left}|", f"|{key}:{left}/{right}|")
        elif left != right:
            line = line.replace("|ci:", f"|{key}:{left}/{right}|ci:")
    return line
