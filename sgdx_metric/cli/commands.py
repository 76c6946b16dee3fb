"""What each command does: read its files, compute, write and print."""

import argparse
import sys

import pyarrow as pa
from rich.console import Console

from ..report import report
from ..rows import ScoreError
from ..scoring import FrameScores, score_frames
from ..signature import Rules
from ..subset import Subset, only_dialogues, subset_of
from ..variants import ORIGINAL, PAPER_VARIANTS, own_wordings
from .compare import compare
from .explain import broken, explain, frame_of
from .files import PER_FRAME, check_folder, check_output, write_json, write_per_frame, write_scores
from .predictions import Predictions, prediction_paths, read_predictions, with_frame_ids
from .references import (
    References,
    open_folder,
    open_references,
    read_dialogue_ids,
)
from .terminal import print_broken, print_comparison, print_explanation, print_scores


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from .install import install  # `evaluate` takes seconds to import.

    print(install())


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files; write what was asked for; print tables."""
    check_output("--output", args.output)
    if args.per_frame:
        check_output("--per-frame", args.per_frame, PER_FRAME)
    if args.plots:
        from .plots import write_plots  # It asks for matplotlib, which is an extra.

        check_folder("--plots", args.plots)
    rules = Rules(not args.no_fuzzy_match, args.joint_acc_across_turn, args.zero_mean)
    dialogue_ids = read_dialogue_ids(args.dialogues) if args.dialogues else None
    predictions, references = _read_inputs(args)
    system_acts = _system_acts(predictions, args.system_acts)
    scores: dict[str, FrameScores] = {}
    wordings: dict[str, str] = {}
    subset: Subset | None = None
    for name, given in predictions.items():
        frames = references.of(name)
        rows = with_frame_ids(given, frames)
        if own_wordings([name]):
            wordings[name] = references.fingerprint(name, frames)
        if dialogue_ids:
            subset = subset_of(frames, dialogue_ids, str(args.dialogues))
            frames, rows = only_dialogues(frames, subset), only_dialogues(rows, subset)
        scores[name] = score_frames(frames, rows, name, rules)
    result = report(scores, args.split, system_acts, rules, references.release, wordings, subset)
    if args.per_frame:
        write_per_frame(scores, args.per_frame)
    if args.plots:
        write_plots(result, scores, rules, args.plots)
    write_scores(result, scores, args.output)
    _warn_of_ignored_slots(result["ignored_slots"], result["predicted_slots"])
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
    """Print one frame slot by slot, or list the frames that broke between two variants."""
    if (args.frame_id is None) == (args.changed is None):
        raise ScoreError("explain: expected either FRAME_ID or --changed FIRST SECOND, one of both")
    predictions, references = _read_inputs(args)
    rules = Rules(not args.no_fuzzy_match)
    if args.changed:
        _explain_changed(predictions, references, args.changed, rules)
    else:
        _explain_frame(predictions, references, args.frame_id, rules)


def _explain_frame(
    predictions: dict[str, Predictions], references: References, frame_id: str, rules: Rules
) -> None:
    """Print the dialogue up to a frame, and what the frame scores slot by slot."""
    true: dict[str, pa.Table] = {}
    predicted: dict[str, pa.Table] = {}
    for name, given in predictions.items():
        frames = references.of(name)
        rows = with_frame_ids(given, frames)
        true[name] = frame_of(frames, frame_id, f"references for {name}")
        predicted[name] = frame_of(rows, frame_id, f"predictions for {name}")
    lines = explain(frame_id, true, predicted, rules)
    turns = references.history(next(iter(true)), frame_id)
    utterance = next(iter(true.values()))["utterance"][0].as_py() or ""
    dialogue = [(turn["speaker"], turn["utterance"]) for turn in turns] + [("USER", utterance)]
    print_explanation(frame_id, dialogue, lines, _console())


def _explain_changed(
    predictions: dict[str, Predictions], references: References, changed: list[str], rules: Rules
) -> None:
    """List the frames that score less under the second of two variants than under the first."""
    if lacking := [name for name in changed if name not in predictions]:
        raise ScoreError(
            f"--changed {' '.join(changed)}: found no predictions for '{lacking[0]}', expected one "
            f"of {', '.join(predictions)}"
        )
    scores = []
    for name in changed:
        frames = references.of(name)
        scores.append(score_frames(frames, with_frame_ids(predictions[name], frames), name, rules))
    print_broken(broken(*scores), len(scores[0].seen), changed, _console())


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


def _system_acts(predictions: dict[str, Predictions], chosen: str | None) -> str:
    """Whether the predictions used the system's dialogue acts, for the signature.

    Args:
        predictions: The predictions by variant, some of which may say it themselves.
        chosen: "yes" or "no" for those that do not say; None where that is unknown.

    Raises:
        ScoreError: The predictions say otherwise than what was chosen.
    """
    words = {True: "yes", False: "no", None: chosen or "unknown"}
    answers = {name: words[given.system_acts] for name, given in predictions.items()}
    for name, answer in answers.items():
        if chosen and answer != chosen:
            raise ScoreError(
                f"--system-acts {chosen}: the predictions for {name} say '{answer}' themselves, "
                f"expected '{chosen}' or nothing"
            )
    found = set(answers.values())
    return found.pop() if len(found) == 1 else "mixed"


def _warn_of_ignored_slots(ignored: dict[str, int], predicted: dict[str, int]) -> None:
    """Warn where so many predicted slots are unknown that another variant seems to be meant."""
    for name, count in ignored.items():
        if count > predicted[name] / 3:
            print(
                f"warning: {name}: {100 * count / predicted[name]:.0f} % of the predicted slots "
                "are not in its schemas; are these another variant's predictions?",
                file=sys.stderr,
            )


def _console() -> Console:
    # Piped output has no width of its own.
    return Console() if sys.stdout.isatty() else Console(width=80)
