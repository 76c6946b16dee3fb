"""Runs read, put into groups and analysed, and what had to be left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name

from .analysis import Analysis, analyse
from .data import Data, open_references, open_source
from .runs import Group, Run, group_runs, printable, read_run


@dataclass(frozen=True)
class Gathered:
    """All that a report shows.

    Attributes:
        groups: The systems, in groups that compare.
        analyses: For each group, what its systems do slot by slot, by the system's name; a system
            whose predictions or data are not at hand is not there.
        left_out: Why a run, or its analysis, is not there; a sentence each.
    """

    groups: Sequence[Group]
    analyses: Sequence[dict[str, Analysis]]
    left_out: Sequence[str]


def gather(paths: Sequence[Path], source: str | None, references: Path | None) -> Gathered:
    """Read runs and analyse them.

    Args:
        paths: Run folders or files of scores.
        source: Where SGD is, as for ``sgdx_dataset.load``; None for what each run itself names.
        references: Instead of a source, a folder of Parquet files of frame rows.

    Raises:
        SgdxError, ScoreError: The only run that was given, or every one, cannot be read.
    """
    runs, left_out = _read_runs(list(dict.fromkeys(paths)))
    groups = group_runs(runs)
    opened: dict[tuple[str | None, str], Data] = {}
    analyses = []
    for group in groups:
        split = split_name(group.first.parts.get("split", "test"))
        found = {}
        for system in group.systems:
            place = source or _source_of(system.first)
            try:
                if (place, split) not in opened:
                    opened[place, split] = (
                        open_references(references, group.variants)
                        if references
                        else open_source(place, split)
                    )
                found[system.name] = analyse(system, opened[place, split])
            except (SgdxError, ScoreError) as error:
                left_out.append(f"{error}; so the slots and errors of {system.name} are left out")
        analyses.append(found)
    return Gathered(groups, analyses, [printable(" ".join(one.split())) for one in left_out])


def _read_runs(paths: Sequence[Path]) -> tuple[list[Run], list[str]]:
    """The runs that can be read, and why the others are left out."""
    runs: list[Run] = []
    left_out: list[str] = []
    for path in paths:
        try:
            runs.append(read_run(path))
        except (SgdxError, ScoreError) as error:
            if len(paths) == 1:
                raise
            left_out.append(f"{error}; this run is left out")
    if not runs:
        raise SgdxError(f"found no run that can be read, the first says: {left_out[0]}")
    return runs, left_out


def _source_of(run: Run) -> str | None:
    """The source that a run names itself."""
    source = run.facts.get("source")
    return source if isinstance(source, str) else None
