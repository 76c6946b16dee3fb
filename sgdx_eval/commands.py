"""What each command does: read its files, compute, write and print."""

import argparse
import sys
from pathlib import Path

import pyarrow as pa

from sgdx_dataset.io.arguments import paths_by_name
from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.api import score_files
from sgdx_metric.signature import Rules, signature_parts
from sgdx_metric.subset import dialogue_ids_of, only_dialogues, only_services, subset_of

from .comparison_tables import print_comparison, print_summary
from .explain import STATE_LINES, TaskLines, broken_frames, explain, find_flips, frame_row
from .explain_calls import CALL_LINES, only_called
from .files import check_apart, check_output, write_json
from .headers import check_data, check_one_system
from .inputs import Inputs, stated_dialogues
from .predictions import (
    Predictions,
    are_calls,
    parse_predictions,
    read_states_or_calls,
    with_frame_ids,
)
from .references import References
from .score import check_services, note_subset, score_api_calls
from .tables import terminal
from .terminal import print_broken, print_explanation, print_flips


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
    score_files(
        parse_predictions(args.predictions),
        source=args.source,
        references=args.references,
        split=args.split,
        own_variants=paths_by_name("--variant", args.variant),
        dialogues=args.dialogues,
        services=args.service,
        without_errata=args.without_errata,
        rules=Rules(not args.no_fuzzy_match, args.joint_acc_across_turn, args.zero_mean),
        system_acts={None: None, "yes": True, "no": False}[args.system_acts],
        over=args.over,
        output=args.output,
        per_frame=args.per_frame,
        plots=args.plots,
        verbose=True,
    )


def run_calls(args: argparse.Namespace) -> None:
    """Score files of predicted calls; write the scores; print a table."""
    rules = Rules(not args.no_fuzzy_match)
    score_api_calls(_inputs(args, args.dialogues), rules, args.output, args.over)


def run_compare(args: argparse.Namespace) -> None:
    """Compare two systems' scores.json; print a table for each figure and write JSON if asked."""
    from .compare import compare  # Reading scores is needed by few commands.

    first, second = _sides(args)
    if args.json:
        check_output("--json", args.json)
        check_apart({"--json": args.json}, [*first, *second])
    result = compare(first, second, args.dialogues, args.over)
    if args.json:
        write_json(result, args.json)
    parts = signature_parts(result["signature"], "signature")
    if "dialogues" in parts:
        count, _, digest = parts["dialogues"].partition("@")
        note = f"note: compared on {count} dialogues of the split, which {digest} stands for below"
        print(note, file=sys.stderr)
    print_comparison(result, (_joined(first), _joined(second)), args.details, terminal())


def _sides(args: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """The files of both systems that `compare` was given, in one of its two forms."""
    if args.scores and not (args.first or args.second) and len(args.scores) == 2:
        return [args.scores[0]], [args.scores[1]]
    if args.first and args.second and not args.scores:
        return args.first, args.second
    raise SgdxError(
        "compare: expected either two scores.json, or --first and --second with the scores.json of "
        "each run of each system"
    )


def _joined(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def run_summarise(args: argparse.Namespace) -> None:
    """Average the scores.json of several runs; print tables and write JSON if asked."""
    from .summarise import summarise  # Likewise.

    if args.output:
        check_output("--output", args.output)
        check_apart({"--output": args.output}, args.scores)
    result = summarise(args.scores)
    if args.output:
        write_json(result, args.output)
    print_summary(result, list(map(str, args.scores)), terminal())


def run_explain(args: argparse.Namespace) -> None:
    """Print one frame slot by slot, or list the frames that broke between two variants."""
    if sum((args.frame_id is not None, args.changed is not None, args.flips)) != 1:
        raise SgdxError("explain: expected one of FRAME_ID, --changed FIRST SECOND and --flips")
    inputs = _inputs(args, args.dialogues)
    predictions = inputs.read(read_states_or_calls)
    check_one_system({name: variant.header for name, variant in predictions.items()})
    task = CALL_LINES if are_calls(predictions) else STATE_LINES
    references = inputs.open_references(predictions, task.references)
    for name, variant in predictions.items():
        check_data(variant.header, name, references.data(name), None)
    rules = Rules(not args.no_fuzzy_match)
    if args.changed:
        _explain_changed(predictions, references, task, args.changed, rules, inputs)
    elif args.flips:
        _explain_flips(predictions, references, task, rules, inputs)
    else:
        _explain_frame(predictions, references, task, args.frame_id, rules)


def _explain_frame(
    predictions: dict[str, Predictions[pa.Table]],
    references: References,
    task: TaskLines,
    frame_id: str,
    rules: Rules,
) -> None:
    """Print the dialogue up to a frame, and what the frame scores slot by slot."""
    true: dict[str, pa.Table] = {}
    predicted: dict[str, pa.Table] = {}
    dialogue_id = frame_id.rsplit("/", 2)[0]
    for name, variant_predictions in predictions.items():
        frames = references.dialogue(name, dialogue_id)
        if not frames.num_rows:
            raise SgdxError(
                f"frame {frame_id}: the references for {name} have no dialogue '{dialogue_id}', "
                "expected DIALOGUE/TURN/SERVICE of one that they have"
            )
        rows = with_frame_ids(variant_predictions, frames)
        if task is CALL_LINES:
            frames = only_called(frames, frame_id, name)
        true[name] = frame_row(frames, frame_id, f"references for {name}")
        predicted[name] = frame_row(rows, frame_id, f"predictions for {name}")
    lines = explain(frame_id, true, predicted, task, rules)
    row = next(iter(true.values())).to_pylist()[0]
    dialogue = [(turn["speaker"], turn["utterance"]) for turn in row.get("history", [])]
    dialogue.append(("USER", row["utterance"] or ""))
    print_explanation(frame_id, dialogue, lines, terminal())


def _explain_changed(
    predictions: dict[str, Predictions[pa.Table]],
    references: References,
    task: TaskLines,
    changed: list[str],
    rules: Rules,
    inputs: Inputs,
) -> None:
    """List the frames that score less under the second of two variants than under the first."""
    if lacking := [name for name in changed if name not in predictions]:
        raise SgdxError(
            f"--changed {' '.join(changed)}: found no predictions for '{lacking[0]}', expected one "
            f"of {', '.join(predictions)}"
        )
    true, predicted = _frames_of({name: predictions[name] for name in changed}, references, inputs)
    first, second = (task.score(true[name], predicted[name], name, rules) for name in changed)
    broken = broken_frames(first, second, task.accuracy)
    print_broken(broken, len(first.seen), task.unit, changed, terminal())


def _explain_flips(
    predictions: dict[str, Predictions[pa.Table]],
    references: References,
    task: TaskLines,
    rules: Rules,
    inputs: Inputs,
) -> None:
    """List the frames that are right under one wording and wrong under another."""
    if len(predictions) < 2:
        raise SgdxError(
            f"--flips: found predictions for {', '.join(predictions)} alone, expected those for "
            "two wordings or more"
        )
    true, predicted = _frames_of(predictions, references, inputs)
    print_flips(*find_flips(true, predicted, task, rules), task.unit, terminal())


def _frames_of(
    predictions: dict[str, Predictions[pa.Table]], references: References, inputs: Inputs
) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    """The references and the predictions of the frames that are looked at, by variant."""
    ids = inputs.named_dialogues() or stated_dialogues(predictions, dialogue_ids_of)
    true: dict[str, pa.Table] = {}
    predicted: dict[str, pa.Table] = {}
    for name, of_variant in predictions.items():
        frames = references.frames(name)
        rows = with_frame_ids(of_variant, frames)
        if ids:
            subset = subset_of(frames, ids, inputs.name_of_dialogues(name))
            frames, rows = only_dialogues(frames, subset), only_dialogues(rows, subset)
        if inputs.services:
            check_services(inputs.services, frames)
            frames, rows = (only_services(table, inputs.services) for table in (frames, rows))
        true[name], predicted[name] = frames, rows
    if ids and not inputs.dialogues:
        note_subset(subset)
    return true, predicted


def _inputs(args: argparse.Namespace, dialogues: Path | None = None) -> Inputs:
    """What the arguments say is scored against what."""
    return Inputs(
        predictions=parse_predictions(args.predictions),
        split=args.split,
        source=args.source,
        references=args.references,
        own_variants=paths_by_name("--variant", args.variant),
        dialogues=dialogues,
        services=args.service,
    )
