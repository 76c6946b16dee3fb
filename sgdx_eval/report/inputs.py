"""What a report is made of: runs, read, put into groups and analysed, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_eval.reference_folder import open_folder
from sgdx_eval.references import Stated, open_references
from sgdx_eval.tables import printable
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name
from sgsacc_metric.signature import NAME as GENERATION

from .choice import ALL_FRAMES, FrameChoice, choose_frames
from .generation.runs import GeneratorRun, Validation, read_generator_run, read_validation
from .run_files import find_scores
from .runs import TrackerRun, read_tracker_run
from .slots.breakage import Analyses, Analysis, analyse
from .slots.scores import Gold
from .systems import SystemGroup, TrackerGroup, group_runs
from .tools.runs import SIGNATURE as TOOLS
from .tools.runs import ToolRun, read_tool_run

AnyInput = TrackerRun | GeneratorRun | ToolRun | Validation


@dataclass(frozen=True)
class AnalysedGroup:
    """Trackers that compare, and what they do slot by slot where that can be known."""

    group: TrackerGroup
    analyses: Analyses


@dataclass(frozen=True)
class ReportInputs:
    """All that a report shows.

    Attributes:
        trackers: The trackers, in groups that compare.
        generators: The generators, in groups that compare.
        tools: Calls of somebody's own tools, run by run.
        validations: Tests of models of entailment.
        left_out: Why a run is not there; a sentence each.
        not_analysed: The names of trackers whose slots and errors are not known, by the reason.
    """

    trackers: Sequence[AnalysedGroup]
    generators: Sequence[SystemGroup[GeneratorRun]]
    tools: Sequence[ToolRun]
    validations: Sequence[Validation]
    left_out: Sequence[str]
    not_analysed: Mapping[str, Sequence[str]]


def read_inputs(
    paths: Sequence[Path],
    source: str | None,
    references: Path | None,
    choice: FrameChoice = ALL_FRAMES,
) -> ReportInputs:
    """Read runs and analyse them.

    Args:
        paths: Run folders or files of scores.
        source: Where SGD is, as for ``sgdx_dataset.load``; None for what each run itself names.
        references: Instead of a source, a folder of Parquet files of frame rows.
        choice: The dialogues and services to report on.

    Raises:
        SgdxError, ScoreError: The only run that was given, or every one, cannot be read, or lacks
            what was chosen.
    """
    inputs: list[AnyInput] = []
    left_out: list[str] = []
    paths = list(dict.fromkeys(paths))  # each once
    for path in paths:
        try:
            inputs.append(choose_frames(read_input(path), choice))
        except (SgdxError, ScoreError) as error:
            if len(paths) == 1:
                raise
            left_out.append(f"{error}; this run is left out")
    if not inputs:
        raise SgdxError(f"found no run that can be read, the first says: {left_out[0]}")
    trackers = []
    not_analysed: dict[str, list[str]] = {}
    for group in group_runs([run for run in inputs if isinstance(run, TrackerRun)]):
        analyses, reasons = _analyse(group, source, references)
        trackers.append(AnalysedGroup(group, analyses))
        for name, reason in reasons.items():
            names = not_analysed.setdefault(_one_line(reason), [])
            if name not in names:  # A system may be in several groups.
                names.append(name)
    return ReportInputs(
        trackers,
        group_runs([run for run in inputs if isinstance(run, GeneratorRun)]),
        [run for run in inputs if isinstance(run, ToolRun)],
        [validation for validation in inputs if isinstance(validation, Validation)],
        list(map(_one_line, left_out)),
        not_analysed,
    )


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def read_input(path: Path) -> AnyInput:
    """Read a run, of a tracker, a generator or of tools, or a test of a model of entailment.

    Args:
        path: A folder with ``scores.json`` and ``predictions/VARIANT.jsonl``, as
            ``baselines.evaluate`` leaves it; the path of a scores.json of either metric, of calls
            or of ``sgdx_tools``, which may have ``predictions`` or ``VARIANT.jsonl`` beside it; or
            what ``python -m sgsacc_metric validate --json`` wrote.

    Raises:
        ScoreError, SgdxError: The folder has no scores, or a file is malformed.
    """
    file = find_scores(path)
    try:
        scores = parse_json(read_file(file), _AnyScores, str(file), "a file of scores")
        if scores.by_evaluator:
            return read_validation(file)
        if scores.signature.startswith(f"{GENERATION}|"):
            return read_generator_run(path, file)
        if scores.signature.startswith(f"{TOOLS}|") or "|task:calls|" in scores.signature:
            return read_tool_run(path, file)
        return read_tracker_run(path, file)
    except OSError as error:
        raise SgdxError(f"{error.filename}: {error.strerror}") from None


class _AnyScores(msgspec.Struct):
    """What tells the kinds of files of scores apart."""

    signature: str = ""
    by_evaluator: dict[str, msgspec.Raw] = {}


def read_tracker(path: Path) -> TrackerRun:
    """Read a run of a tracker, from what ``read_input`` takes.

    Raises:
        ScoreError, SgdxError: A file is malformed, or the run is of something else.
    """
    run = read_input(path)
    if not isinstance(run, TrackerRun):
        raise SgdxError(f"{path}: found no run of a tracker, expected one")
    return run


def _analyse(
    group: TrackerGroup, source: str | None, references: Path | None
) -> tuple[dict[str, Analysis], dict[str, str]]:
    """What a group's systems do slot by slot, by their names, and why a system is not there."""
    opened: dict[tuple[tuple[str, Stated], ...], Gold] = {}  # by what was stated
    analyses: dict[str, Analysis] = {}
    reasons: dict[str, str] = {}
    for system in group.systems:
        if not all(run.predictions for run in system.runs):
            reasons[system.name] = "there are no predictions beside scores.json"
            continue
        try:
            # Headers matter only where neither a source nor references are given.
            stated = {} if source or references else _stated_data(system.first)
            key = tuple(stated.items())
            if key not in opened:
                opened[key] = read_gold(system.first, source, references, stated)
            predictions = [run.predictions for run in system.runs]
            analyses[system.name] = analyse(system.name, predictions, opened[key])
        except (SgdxError, ScoreError) as error:
            reasons[system.name] = str(error)
    return analyses, reasons


def read_gold(
    run: TrackerRun, source: str | None, references: Path | None, stated: Mapping[str, Stated]
) -> Gold:
    """What is right in the frames of a run and of all that compare with it."""
    split = split_name(run.signature_parts.get("split", "test"))
    if references:
        data = open_folder(references, run.variants)
    else:
        data = open_references(source, split, {}, stated=stated)
    results = run.results
    return Gold(data, split, run.variants, results.frame_index, results.rules)


def _stated_data(run: TrackerRun) -> dict[str, Stated]:
    """What the predictions of each variant say that they were made from."""
    headers = run.results.headers
    return {variant: (header.source, header.data) for variant, header in headers.items()}
