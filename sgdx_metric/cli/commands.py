"""What the commands do: read, score one variant after the other, write and print."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from ..report import report
from ..rows import ScoreError
from ..scoring import FrameScores, score_frames
from ..signature import Rules
from .compare import compare
from .explain import explain, frame_of
from .files import PER_FRAME, check_output, write_json, write_per_frame, write_scores
from .predictions import read_predictions, with_frame_ids
from .references import read_references, read_release, write_references
from .terminal import print_comparison, print_explanation, print_scores


class SourceError(Exception):
    """The dataset's own command has failed and said why; its one argument is the exit status."""


@dataclass(frozen=True)
class Variant:
    """What there is to score under one schema variant; release, system_acts: None if not said."""

    name: str
    references: pa.Table
    predictions: pa.Table
    release: str | None
    system_acts: bool | None


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from .install import install  # evaluate takes seconds to import

    print(install())


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files; write scores.json and, if asked, per-frame scores; print a table."""
    check_output("--output", args.output)
    if args.per_frame:
        check_output("--per-frame", args.per_frame, PER_FRAME)
    rules = Rules(not args.no_fuzzy_match, args.joint_acc_across_turn, args.zero_mean)
    scores: dict[str, FrameScores] = {}
    acts, release = set(), None
    for variant in _variants(args):
        scores[variant.name] = score_frames(
            variant.references, variant.predictions, variant.name, rules
        )
        acts.add(variant.system_acts)
        release = variant.release
    said = {True: "yes", False: "no", None: "unknown"}[acts.pop()] if len(acts) == 1 else "mixed"
    result = report(scores, args.split, said, rules, release)
    if args.per_frame:
        write_per_frame(scores, args.per_frame)
    write_scores(result, scores, args.output)
    print_scores(result, _console())


def run_compare(args: argparse.Namespace) -> None:
    """Compare two scores.json; print a table for each figure and write JSON if asked."""
    if args.json:
        check_output("--json", args.json)
    result = compare(args.first, args.second)
    if args.json:
        write_json(result, args.json)
    print_comparison(result, (str(args.first), str(args.second)), _console())


def run_explain(args: argparse.Namespace) -> None:
    """Print one frame slot by slot."""
    references, predictions = {}, {}
    for variant in _variants(args):
        whose = f"references for {variant.name}"
        references[variant.name] = frame_of(variant.references, args.frame_id, whose)
        whose = f"predictions for {variant.name}"
        predictions[variant.name] = frame_of(variant.predictions, args.frame_id, whose)
    lines = explain(args.frame_id, references, predictions, Rules(not args.no_fuzzy_match))
    utterance = next(iter(references.values()))["utterance"][0].as_py() or ""
    print_explanation(args.frame_id, utterance, lines, _console())


def _variants(args: argparse.Namespace) -> Iterator[Variant]:
    """One variant at a time, so that memory does not grow with their number.

    Raises:
        ScoreError: malformed arguments or files.
        SourceError: the references cannot be had.
    """
    paths = _paths(args.predictions)
    with tempfile.TemporaryDirectory() as folder:
        status = write_references(args.source, args.split, list(paths), Path(folder), args.variant)
        if status:
            raise SourceError(status)
        for name, path in paths.items():
            file = Path(folder) / f"{name}.parquet"
            references = read_references(file)
            given = read_predictions(path, args.split, name)
            rows = with_frame_ids(given, references)
            release = read_release(file, args.source)
            yield Variant(name, references, rows, release, given.system_acts)


def _paths(predictions: list[str]) -> dict[str, Path]:
    """VARIANT=PATH arguments as a mapping."""
    paths: dict[str, Path] = {}
    for argument in predictions:
        variant, equals, path = argument.partition("=")
        if not (variant and equals and path):
            raise ScoreError(f"--predictions {argument}: expected VARIANT=PATH, as in v1=v1.jsonl")
        if variant in paths:
            raise ScoreError(f"--predictions {argument}: variant '{variant}' is there twice")
        if not Path(path).exists():
            raise ScoreError(f"{path}: No such file or directory")
        paths[variant] = Path(path)
    return paths


def _console() -> Console:
    # Piped output has no width of its own; rich would fold the table at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=120)
