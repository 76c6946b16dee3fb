"""Compare two systems' scores.json: by how much they differ, and whether that could be chance."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric import core
from sgdx_metric.bootstrap import DIALOGUES, RESAMPLES, TRIALS
from sgdx_metric.columns import Ints

from .paired_results import (
    SYSTEM_PARTS,
    PairedResults,
    check_alike,
    check_part,
    only_dialogues,
)
from .runs import read_runs

Sides = tuple[list[PairedResults], list[PairedResults]]


def compare(
    first: Sequence[Path],
    second: Sequence[Path],
    dialogues: Path | None = None,
    over: str = DIALOGUES,
) -> dict[str, Any]:
    """Compare two systems that were scored alike on the same frames.

    With one run a side, the interval is of resampled dialogues and p of swapped ones (`compared`).
    With several runs of a side, such as those of several seeds, both take the runs into account
    (`compared_runs`), and every figure is the mean over the side's runs.

    Args:
        first, second: Files that `score` wrote, one for each run of a system.
        dialogues: A file with the ids of the dialogues to compare on. None for all of them; where
            the sides were scored on different ones, for those of the side that has fewer, which the
            other side must have too.
        over: What the intervals are over, beside the runs where there are several. Over wordings,
            or both, wordings are a sample too (`compared_over_wordings`): only the means over them
            are compared, those over v1 to v5 and, where there are others, over all but the
            original, as `jga(v1..v5+mine)`, and each has `same_order`, the share of resamples in
            which the two systems stand in the order in which they were observed.

    Returns:
        `signature`, which all files share but for the system's own parts; `system_acts` of the
        `first` and the `second` system; `oracle`, whether their models were trained on the schemas
        that they are evaluated on; `runs`, how many each has; `resamples` and `trials`, the
        numbers of random draws (no `trials` with several runs); `groups` and `by_variant`.

        For all, seen and unseen frames and for each service (by its original name) a group has
        `frames`, their number, and for each headline figure, such as `jga_v1-5`, `ss_jga` or
        `change_orig`, a mapping of `first`, `second`, `difference` (second - first), its 95 %
        bootstrap `interval`, and `p`; with variants beside the paper's, also for the sensitivity
        over all of them, such as `ss_jga(v1..v5+mine)`. With several runs, `first_sd` and
        `second_sd` are the sample standard deviations over a side's runs. `by_variant` has the same
        mapping for the joint goal accuracy of all frames under each variant. All figures are
        fractions. A figure that the variants do not give is left out.

    Raises:
        SgdxError: A file is not a scores.json or appears twice on a side, or the frames or the
            signatures differ, except in what is a system's own: whether it was given the system's
            dialogue acts, and whether it is an oracle; or wordings are to be drawn, and there are
            not all of v1 to v5.
    """
    sides = read_runs(first), read_runs(second)
    for key in ("release", "split"):  # Dialogues of other data cannot be chosen.
        check_part(sides[0][0], sides[1][0], key)
    sides = _on_the_same_dialogues(sides, dialogues)
    check_alike(sides[0][0], sides[1][0], free=SYSTEM_PARTS)
    sides = _with_common_tables(sides)
    first_run, second_run = sides[0][0], sides[1][0]
    every = np.arange(len(first_run.frame_ids))
    several = len(first) > 1 or len(second) > 1
    groups = first_run.frame_index.groups()
    compared_groups = {name: _compared(sides, members, over) for name, members in groups.items()}
    by_variant = {}
    if over == DIALOGUES:
        first_samples, second_samples = ([run.by_variant(every) for run in side] for side in sides)
        by_variant = core.compare(first_samples, second_samples)
    return {
        "signature": _common_signature(first_run, second_run, over),
        "system_acts": {
            "first": first_run.part("system-acts"),
            "second": second_run.part("system-acts"),
        },
        "oracle": {"first": first_run.part("oracle"), "second": second_run.part("oracle")},
        "runs": {"first": len(first), "second": len(second)},
        "resamples": RESAMPLES,
        "trials": None if several or over != DIALOGUES else TRIALS,
        "groups": {
            name: {"frames": len(members)} | compared_groups[name]
            for name, members in groups.items()
        },
        "by_variant": by_variant,
    }


def _on_the_same_dialogues(sides: Sides, dialogues: Path | None) -> Sides:
    """Both sides, narrowed to the file's dialogues, or to those of the side that has fewer."""
    if dialogues:
        split = sides[0][0].part("split")
        ids = read_dialogue_ids(dialogues, None if split == "unknown" else split)
        return _narrowed(sides, ids, str(dialogues))
    fewer, more = sorted((side[0] for side in sides), key=lambda run: len(run.dialogue_ids()))
    if fewer.part("dialogues") == more.part("dialogues"):
        return sides
    return _narrowed(sides, fewer.dialogue_ids(), str(fewer.path))


def _narrowed(sides: Sides, dialogue_ids: Sequence[str], where: str) -> Sides:
    first, second = ([only_dialogues(run, dialogue_ids, where) for run in side] for side in sides)
    return first, second


def _with_common_tables(sides: Sides) -> Sides:
    """Both sides with the metrics alone that all runs have, as not all data are canonical."""
    runs = [*sides[0], *sides[1]]
    common = [name for name in runs[0].tables if all(name in run.tables for run in runs)]
    first, second = (
        [replace(run, tables={name: run.tables[name] for name in common}) for run in side]
        for side in sides
    )
    return first, second


def _compared(sides: Sides, members: Ints, over: str) -> dict[str, Any]:
    """The figures of both systems for some frames, compared; {} for no frames."""
    means = sides[0][0].wording_means() if over != DIALOGUES else {}
    first, second = ([run.samples(members) for run in side] for side in sides)
    comparisons: dict[str, Any] = {}
    # Calls, and the tasks of their dialogues, are compared apart: they are other items.
    for ours, theirs in zip(zip(*first), zip(*second)):
        if over == DIALOGUES:
            comparisons |= core.compare(ours, theirs)
        else:
            of_these = {
                key: mean for key, mean in means.items() if mean[0] in ours[0].scores.metrics
            }
            comparisons |= core.compare_over_wordings(ours, theirs, of_these, over)
    return comparisons


def _common_signature(first: PairedResults, second: PairedResults, over: str) -> str:
    """The first system's signature, in which the system's own parts have both systems' values.

    What the intervals are over is that of the comparison.
    """
    stated = first.parts.get("over")
    line = first.signature.replace(f"|over:{stated}|", "|") if stated else first.signature
    if over != DIALOGUES:
        line = line.replace("|ci:", f"|over:{over}|ci:")
    if first.part("canonical") != second.part("canonical"):
        line = line.replace(f"|canonical:{first.part('canonical')}|", "|")
    for key in SYSTEM_PARTS:
        left, right = first.part(key), second.part(key)
        if left != right and key in first.parts:
            line = line.replace(f"|{key}:{left}|", f"|{key}:{left}/{right}|")
        elif left != right:
            line = line.replace("|ci:", f"|{key}:{left}/{right}|ci:")
    return line
