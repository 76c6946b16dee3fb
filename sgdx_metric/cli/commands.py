"""What each command does: read its files, compute, write and print."""

import argparse
import sys

import pyarrow as pa
from rich.console import Console

from ..report import report
from ..robustness import ORIGINAL, PAPER_VARIANTS
from ..rows import ScoreError
from ..scoring import FrameScores, score_frames
from ..signature import Rules
from .compare import compare
from .explain import explain, frame_of
from .files import PER_FRAME, check_output, write_json, write_per_frame, write_scores
from .predictions import Predictions, prediction_paths, read_predictions, with_frame_ids
from .references import References, open_folder, open_references
from .terminal import print_comparison, print_explanation, print_scores


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from .install import install  # `evaluate` takes seconds to import.

    print(install())


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files; write scores.json and, if asked, per-frame scores; print a table."""
    check_output("--output", args.output)
    if args.per_frame:
        check_output("--per-frame", args.per_frame, PER_FRAME)
    rules = Rules(not args.no_fuzzy_match, args.joint_acc_across_turn, args.zero_mean)
    predictions, references = _read_inputs(args)
    scores: dict[str, FrameScores] = {}
    for name, given in predictions.items():
        frames = references.of(name)
        scores[name] = score_frames(frames, with_frame_ids(given, frames), name, rules)
    system_acts = _system_acts(list(predictions.values()))
    result = report(scores, args.split, system_acts, rules, references.release)
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
    predictions, references = _read_inputs(args)
    true: dict[str, pa.Table] = {}
    predicted: dict[str, pa.Table] = {}
    for name, given in predictions.items():
        frames = references.of(name)
        rows = with_frame_ids(given, frames)
        true[name] = frame_of(frames, args.frame_id, f"references for {name}")
        predicted[name] = frame_of(rows, args.frame_id, f"predictions for {name}")
    lines = explain(args.frame_id, true, predicted, Rules(not args.no_fuzzy_match))
    utterance = next(iter(true.values()))["utterance"][0].as_py() or ""
    print_explanation(args.frame_id, utterance, lines, _console())


def _read_inputs(args: argparse.Namespace) -> tuple[dict[str, Predictions], References]:
    """The predictions by variant, and what gives their references.

    All predictions are read first, so that a bad file is refused before any data is opened.

    Raises:
        ScoreError: The arguments contradict each other, or a file is missing or malformed.
    """
    if args.references and (args.source or args.variant):
        raise ScoreError(
            f"--references {args.references}: found --source or --variant too, expected one way to "
            "have the references"
        )
    own = _own_variants(args.variant)
    known = [ORIGINAL, *PAPER_VARIANTS, *own]
    if args.references:
        known += sorted({path.stem for path in args.references.glob("*.parquet")} - {*known})
    paths = prediction_paths(args.predictions, known)
    predictions = {name: read_predictions(path, args.split, name) for name, path in paths.items()}
    if args.references:
        return predictions, open_folder(args.references, predictions)
    return predictions, open_references(args.source, args.split, own)


def _own_variants(arguments: list[str]) -> dict[str, str]:
    """NAME=PATH arguments of --variant as a mapping; a repeated name keeps the last path."""
    own: dict[str, str] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            raise ScoreError(f"--variant {argument}: expected NAME=PATH")
        own[name] = path
    return own


def _system_acts(predictions: list[Predictions]) -> str:
    """Whether the predictions used the system's dialogue acts, for the signature."""
    answers = {given.system_acts for given in predictions}
    if len(answers) > 1:
        return "mixed"
    return {True: "yes", False: "no", None: "unknown"}[answers.pop()]


def _console() -> Console:
    # Piped output has no width of its own; rich would fold the table at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=120)
