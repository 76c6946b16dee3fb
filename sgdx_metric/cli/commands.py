"""What each command does: read its files, compute, write and print."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from sgdx_dataset.io.console import harmless
from sgdx_dataset.subset import read_dialogue_ids

from ..calls import CALL_REFERENCE, CallScores, report_calls, score_calls
from ..report import nothing_scores, report
from ..rows import ScoreError
from ..scoring import FrameScores, score_frames
from ..signature import Rules
from ..subset import Subset, only_dialogues, subset_of
from ..variants import ORIGINAL, PAPER_VARIANTS, own_wordings
from .compare import compare
from .explain import broken, explain, frame_of
from .files import (
    PER_FRAME,
    check_apart,
    check_folder,
    check_output,
    write_json,
    write_per_frame,
    write_scores,
)
from .predictions import (
    Predictions,
    prediction_paths,
    read_calls,
    read_predictions,
    with_frame_ids,
)
from .references import References, open_folder, open_references
from .summarise import summarise
from .systems import (
    about_system,
    check_one_system,
    is_oracle,
    system_acts,
    unread_answers,
)
from .terminal import (
    print_broken,
    print_calls,
    print_comparison,
    print_explanation,
    print_scores,
    print_summary,
    print_unread,
)


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from .install import install  # `evaluate` takes seconds to import.

    print(install())


def run_push(args: argparse.Namespace) -> None:
    """Upload the metric as a Space and print its address."""
    from .push import push  # `huggingface_hub` takes a while to import.

    print(push(args.repo_id, args.private))


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files; write what was asked for; print tables."""
    check_output("--output", args.output)
    if args.per_frame:
        check_output("--per-frame", args.per_frame, PER_FRAME)
    if args.plots:
        check_folder("--plots", args.plots)
        from .plots import write_plots  # It asks for matplotlib, which is an extra.
    rules = Rules(not args.no_fuzzy_match, args.joint_acc_across_turn, args.zero_mean)
    paths = _prediction_paths(args)
    inputs = [*paths.values(), *_reference_paths(args, paths)]
    check_apart({"--output": args.output, "--per-frame": args.per_frame}, inputs)
    dialogue_ids = read_dialogue_ids(args.dialogues) if args.dialogues else None
    predictions, references = _read_inputs(args, paths)
    said = {name: given.said for name, given in predictions.items()}
    check_one_system(said)
    acts = system_acts(said, args.system_acts)
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
    result = report(
        scores,
        args.split,
        acts,
        rules,
        references.release,
        wordings,
        subset,
        is_oracle(said),
    )
    result["predictions"] = {name: about_system(said[name]) for name in result["variants"]}
    if args.per_frame:
        write_per_frame(scores, args.per_frame)
    if args.plots:
        write_plots(result, scores, rules, args.plots)
    write_scores(result, scores, args.output)
    _warn(result, is_oracle(said))
    print_scores(result, _console())
    print_unread(unread_answers(said), nothing_scores(scores), _console())


def run_calls(args: argparse.Namespace) -> None:
    """Score files of predicted calls; write the scores; print a table."""
    check_output("--output", args.output)
    rules = Rules(not args.no_fuzzy_match)
    paths = _prediction_paths(args)
    check_apart({"--output": args.output}, [*paths.values(), *_reference_paths(args, paths)])
    dialogue_ids = read_dialogue_ids(args.dialogues) if args.dialogues else None
    predictions = {name: read_calls(path, args.split, name) for name, path in paths.items()}
    if args.references:
        references = open_folder(args.references, predictions, CALL_REFERENCE)
    else:
        own = _own_variants(args.variant)
        references = open_references(args.source, args.split, own, CALL_REFERENCE)
    said = {name: given.said for name, given in predictions.items()}
    check_one_system(said)
    scores: dict[str, CallScores] = {}
    wordings: dict[str, str] = {}
    subset: Subset | None = None
    dialogues = 0
    for name, given in predictions.items():
        frames, rows = references.of(name), given.rows
        if own_wordings([name]):
            wordings[name] = references.fingerprint(name, frames)
        if dialogue_ids:
            subset = subset_of(frames, dialogue_ids, str(args.dialogues))
            frames, rows = only_dialogues(frames, subset), only_dialogues(rows, subset)
        scores[name] = score_calls(frames, rows, name, rules)
        dialogues = len({one.rsplit("/", 2)[0] for one in frames["frame_id"].to_pylist()})
    acts = system_acts(said, None)
    release = references.release
    result = report_calls(scores, dialogues, args.split, rules, release, wordings, subset, acts)
    result["predictions"] = {name: about_system(said[name]) for name in scores}
    write_json(result, args.output)
    print_calls(result, _console())


def run_compare(args: argparse.Namespace) -> None:
    """Compare two systems' scores.json; print a table for each figure and write JSON if asked."""
    first, second = _sides(args)
    if args.json:
        check_output("--json", args.json)
        check_apart({"--json": args.json}, [*first, *second])
    result = compare(first, second)
    if args.json:
        write_json(result, args.json)
    print_comparison(result, (_joined(first), _joined(second)), _console())


def _sides(args: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """The files of both systems that `compare` was given, in one of its two forms."""
    if args.scores and not (args.first or args.second) and len(args.scores) == 2:
        return [args.scores[0]], [args.scores[1]]
    if args.first and args.second and not args.scores:
        return args.first, args.second
    raise ScoreError(
        "compare: expected either two scores.json, or --first and --second with the scores.json of "
        "each run of the one and of the other system"
    )


def _joined(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def run_summarise(args: argparse.Namespace) -> None:
    """Average the scores.json of several runs; print tables and write JSON if asked."""
    if args.output:
        check_output("--output", args.output)
        check_apart({"--output": args.output}, args.scores)
    result = summarise(args.scores)
    if args.output:
        write_json(result, args.output)
    print_summary(result, list(map(str, args.scores)), _console())


def run_explain(args: argparse.Namespace) -> None:
    """Print one frame slot by slot, or list the frames that broke between two variants."""
    if (args.frame_id is None) == (args.changed is None):
        raise ScoreError("explain: expected either FRAME_ID or --changed FIRST SECOND, one of both")
    predictions, references = _read_inputs(args, _prediction_paths(args))
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
    dialogue_id = frame_id.rsplit("/", 2)[0]
    for name, given in predictions.items():
        frames = references.dialogue(name, dialogue_id)
        if not frames.num_rows:
            raise ScoreError(
                f"frame {frame_id}: the references for {name} have no dialogue '{dialogue_id}', "
                "expected DIALOGUE/TURN/SERVICE of one that they have"
            )
        rows = with_frame_ids(given, frames)
        true[name] = frame_of(frames, frame_id, f"references for {name}")
        predicted[name] = frame_of(rows, frame_id, f"predictions for {name}")
    lines = explain(frame_id, true, predicted, rules)
    row = next(iter(true.values())).to_pylist()[0]
    dialogue = [(turn["speaker"], turn["utterance"]) for turn in row.get("history", [])]
    dialogue.append(("USER", row["utterance"] or ""))
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


def _prediction_paths(args: argparse.Namespace) -> dict[str, Path]:
    """The prediction files by variant.

    Raises:
        ScoreError: The arguments contradict each other, or a file is missing.
    """
    if args.references and (args.source or args.variant):
        raise ScoreError(
            f"--references {args.references}: found --source or --variant too, expected one way to "
            "have the references"
        )
    known = [ORIGINAL, *PAPER_VARIANTS, *_own_variants(args.variant)]
    if args.references:
        known += sorted({path.stem for path in args.references.glob("*.parquet")} - {*known})
    return prediction_paths(args.predictions, known)


def _reference_paths(args: argparse.Namespace, variants: Iterable[str]) -> list[Path]:
    """What the references and the choice of dialogues are read from: files and folders."""
    paths = [Path(path) for path in _own_variants(args.variant).values()]
    if args.references:
        paths += [args.references / f"{name}.parquet" for name in variants]
    elif source := args.source or os.environ.get("SGDX_SOURCE"):
        paths.append(Path(source))
    return paths + ([args.dialogues] if args.dialogues else [])


def _read_inputs(
    args: argparse.Namespace, paths: Mapping[str, Path]
) -> tuple[dict[str, Predictions], References]:
    """The predictions by variant, and what gives their references.

    All predictions are read first, so that a bad file is refused before any data is opened.

    Raises:
        ScoreError: A file is malformed, or the references cannot be opened.
    """
    predictions = {name: read_predictions(path, args.split, name) for name, path in paths.items()}
    if args.references:
        return predictions, open_folder(args.references, predictions)
    return predictions, open_references(args.source, args.split, _own_variants(args.variant))


def _own_variants(arguments: list[str]) -> dict[str, str]:
    """NAME=PATH arguments of --variant as a mapping; a repeated name keeps the last path."""
    own: dict[str, str] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            raise ScoreError(f"--variant {argument}: expected NAME=PATH")
        own[name] = path
    return own


def _warn(result: Mapping[str, Any], oracle: bool) -> None:
    """Warn where a score seems to be something else than it looks like.

    That is the score of an oracle, or of predictions of which so many slots are unknown that they
    seem to be for another variant.
    """
    if oracle:
        print(
            "warning: the predictions are of an oracle: the model was trained on schemas that it "
            "is evaluated on",
            file=sys.stderr,
        )
    for name, count in result["ignored_slots"].items():
        predicted = result["predicted_slots"][name]
        if count > predicted / 3:
            print(
                f"warning: {harmless(name)}: {100 * count / predicted:.0f} % of the predicted "
                "slots are not in its schemas; are these another variant's predictions?",
                file=sys.stderr,
            )


def _console() -> Console:
    # Piped output has no width of its own.
    return Console() if sys.stdout and sys.stdout.isatty() else Console(width=80)
