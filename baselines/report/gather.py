"""Runs read, put into groups and analysed, and what had to be left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_metric.cli.predictions import decode
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name
from sgsacc_metric.signature import NAME as GENERATION

from .analysis import Analysis, analyse
from .data import Data, open_references, open_source
from .generation.runs import GenerationRun, Validation, read_generation, read_validation
from .provenance import Group, group_runs, printable
from .reading import scores_of
from .runs import Run, Trackers, read_run


@dataclass(frozen=True)
class Gathered:
    """All that a report shows.

    Attributes:
        groups: The trackers, in groups that compare.
        analyses: For each of these groups, what its systems do slot by slot, by the system's name;
            a system whose predictions or data are not at hand is not there.
        generators: The generators, in groups that compare.
        validations: Tests of models of entailment.
        left_out: Why a run, or its analysis, is not there; a sentence each.
    """

    groups: Sequence[Trackers]
    analyses: Sequence[dict[str, Analysis]]
    generators: Sequence[Group[GenerationRun]]
    validations: Sequence[Validation]
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
    found, left_out = _read_runs(list(dict.fromkeys(paths)))
    groups = group_runs([one for one in found if isinstance(one, Run)])
    generators = group_runs([one for one in found if isinstance(one, GenerationRun)])
    validations = [one for one in found if isinstance(one, Validation)]
    analyses = [_analysed(group, source, references, left_out) for group in groups]
    told = [printable(" ".join(one.split())) for one in left_out]
    return Gathered(groups, analyses, generators, validations, told)


def _analysed(
    group: Trackers, source: str | None, references: Path | None, left_out: list[str]
) -> dict[str, Analysis]:
    """What a group's systems do slot by slot; why a system is not there goes to ``left_out``."""
    opened: dict[str | None, Data] = {}
    split = split_name(group.first.parts.get("split", "test"))
    found = {}
    for system in group.systems:
        place = source or _source_of(system.first)
        try:
            if place not in opened:
                opened[place] = (
                    open_references(references, group.first.variants)
                    if references
                    else open_source(place, split)
                )
            found[system.name] = analyse(system, opened[place])
        except (SgdxError, ScoreError) as error:
            left_out.append(f"{error}; so the slots and errors of {system.name} are left out")
    return found


def read_any(path: Path) -> Run | GenerationRun | Validation:
    """Read a run, of a tracker or a generator, or a test of a model of entailment.

    Args:
        path: A folder with ``scores.json`` and ``predictions/VARIANT.jsonl``, as
            ``baselines.evaluate`` leaves it; the path of a scores.json of either metric, which may
            have ``predictions`` or ``VARIANT.jsonl`` beside it; or what
            ``python -m sgsacc_metric validate --json`` wrote.

    Raises:
        ScoreError, SgdxError: The folder has no scores, or a file is malformed.
    """
    file = scores_of(path)
    try:
        kind = decode(file.read_bytes(), _Kind, str(file))
        if kind.by_evaluator:
            return read_validation(file)
        if kind.signature.startswith(f"{GENERATION}|"):
            return read_generation(path, file)
        return read_run(path, file)
    except OSError as error:
        raise SgdxError(f"{error.filename}: {error.strerror}") from None


def read_tracker(path: Path) -> Run:
    """Read a run of a tracker, from what ``read_any`` takes.

    Raises:
        ScoreError, SgdxError: A file is malformed, or the run is of something else.
    """
    found = read_any(path)
    if not isinstance(found, Run):
        raise SgdxError(f"{path}: found no run of a tracker, expected one for the leaderboard")
    return found


class _Kind(msgspec.Struct):
    """What tells the kinds of files of scores apart."""

    signature: str = ""
    by_evaluator: dict[str, msgspec.Raw] = {}


def _read_runs(
    paths: Sequence[Path],
) -> tuple[list[Run | GenerationRun | Validation], list[str]]:
    """The runs that can be read, and why the others are left out."""
    runs: list[Run | GenerationRun | Validation] = []
    left_out: list[str] = []
    for path in paths:
        try:
            runs.append(read_any(path))
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
