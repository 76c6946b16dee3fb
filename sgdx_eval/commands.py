"""What each command does: read its files, compute, write and print."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgdx_dataset.io.arguments import paths_by_name
from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.api import acts_word
from sgdx_metric.signature import Rules, signature_parts
from sgsacc_metric.gold import Options

from .explain import broken_frames, explain, find_flips, frame_row
from .files import check_apart, check_output, write_json
from .headers import check_data, check_one_system
from .inputs import Inputs
from .predictions import Predictions, parse_predictions, with_frame_ids
from .references import References
from .score import Outputs, note_subset, score
from .show import print_comparison, print_summary
from .tables import terminal
from .task import Task
from .tasks import TASKS, Turns
from .tasks.frames import FrameTask, choose
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
    """Score prediction files of any task; write what was asked for; print tables."""
    inputs = read_inputs(args)
    outputs = Outputs(args.output, args.per_item, args.plots)
    score(chosen_task(args, inputs), inputs, outputs, verbose=True)


def chosen_task(args: argparse.Namespace, inputs: Inputs) -> Task:
    """The task of the predictions, with its options; tools are scored against their own folder."""
    name = inputs.task_name()
    if name == "turns":
        return Turns(
            evaluator=args.evaluator,
            nli=args.nli,
            dtype=args.dtype,
            device=args.device,
            cache=args.cache,
            options=Options(not args.no_validation, not args.no_context, args.rules, args.seed),
            turns=getattr(args, "turns", None),
            gold=args.gold,
        )
    if name == "tools":
        raise SgdxError(
            "predictions: found calls of tools, expected python -m sgdx_tools with their folder"
        )
    if name not in TASKS:
        expected = ", ".join(TASKS)
        raise SgdxError(f"predictions: found the task {name!r}, expected one of {expected}")
    return TASKS[name]


def read_inputs(args: argparse.Namespace) -> Inputs:
    """What the options say is scored against what, and how."""
    acts = {None: None, "yes": True, "no": False}[getattr(args, "system_acts", None)]
    zero_mean = getattr(args, "zero_mean", "0")
    return Inputs(
        predictions=parse_predictions(args.predictions),
        split=args.split,
        source=args.source,
        references=args.references,
        own_variants=paths_by_name("--variant", args.variant),
        dialogues=getattr(args, "dialogues", None),
        services=args.service,
        without_errata=getattr(args, "without_errata", False),
        rules=Rules(
            not args.no_fuzzy_match, getattr(args, "joint_acc_across_turn", False), zero_mean
        ),
        acts=acts_word(acts),
        over=getattr(args, "over", "dialogues"),
    )


def run_compare(args: argparse.Namespace) -> None:
    """Compare two systems' scores.json; print a table for each figure and write JSON if asked."""
    from .compare import compare  # Reading scores is needed by few commands.

    first, second = _sides(args)
    if args.json:
        check_output("--json", args.json)
        check_apart({"--json": args.json}, [*first, *second])
    result = compare(first, second, args.dialogues, args.over)
    if args.json:
        write_json(result.content, args.json)
    line = result.content["signature"]
    parts = signature_parts(line, "signature", line.split("|")[0])
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
        write_json(result.content, args.output)
    print_summary(result, list(map(str, args.scores)), terminal())


def run_explain(args: argparse.Namespace) -> None:
    """Print one frame slot by slot or one turn action by action, or list what broke."""
    if sum((args.item is not None, args.changed is not None, args.flips)) != 1:
        raise SgdxError("explain: expected one of FRAME_ID, --changed FIRST SECOND and --flips")
    inputs = read_inputs(args)
    task = chosen_task(args, inputs)
    predictions = inputs.read(task)
    headers = {name: of_wording.header for name, of_wording in predictions.items()}
    check_one_system(headers)
    references = inputs.open_references(task, headers)
    for name, header in headers.items():
        check_data(header, name, references.data(name), None)
    if isinstance(task, Turns):
        from .turns.explain import print_turn  # Few commands need it.

        print_turn(task, references, predictions, str(args.item), inputs)
        return
    if not isinstance(task, FrameTask):
        raise SgdxError(f"explain: found the task {task.name}, expected frames or turns")
    if args.item is not None:
        _explain_frame(predictions, references, task, args.item, inputs.rules)
        return
    chosen = args.changed or list(predictions)
    if lacking := [name for name in chosen if name not in predictions]:
        raise SgdxError(
            f"--changed {' '.join(chosen)}: found no predictions for '{lacking[0]}', expected one "
            f"of {', '.join(predictions)}"
        )
    if len(chosen) < 2:
        raise SgdxError(
            f"--flips: found predictions for {', '.join(chosen)} alone, expected those for two "
            "wordings or more"
        )
    of_chosen = {name: predictions[name] for name in chosen}
    ids = inputs.chosen(of_chosen)
    true, predicted = {}, {}
    for name, of_wording in of_chosen.items():
        frames = references.rows(name)
        rows = with_frame_ids(of_wording, frames)
        where = str(inputs.dialogues or f"predictions for {name}")
        true[name], predicted[name], subset = choose(
            frames, rows, ids, inputs.services, where, references
        )
    if ids and subset and not inputs.dialogues:
        note_subset(len(set(ids)), subset.available)
    if args.flips:
        found = find_flips(true, predicted, task, inputs.rules)
        print_flips(*found, task.unit, terminal())
        return
    first, second = (
        task.score_rows(true[name], predicted[name], name, inputs.rules) for name in chosen
    )
    broken = broken_frames(first, second, task.main)
    print_broken(broken, len(first.seen), task.unit, chosen, terminal())


def _explain_frame(
    predictions: dict[str, Predictions],
    references: References,
    task: FrameTask,
    frame_id: str,
    rules: Rules,
) -> None:
    """Print the dialogue up to a frame, and what the frame scores slot by slot."""
    true, predicted = {}, {}
    dialogue_id = frame_id.rsplit("/", 2)[0]
    for name, of_wording in predictions.items():
        frames = references.dialogue(name, dialogue_id)
        if not frames.num_rows:
            raise SgdxError(
                f"frame {frame_id}: the references for {name} have no dialogue '{dialogue_id}', "
                "expected DIALOGUE/TURN/SERVICE of one that they have"
            )
        rows = with_frame_ids(of_wording, frames)
        frames = task.called(frames, frame_id, name)
        true[name] = frame_row(frames, frame_id, f"references for {name}")
        predicted[name] = frame_row(rows, frame_id, f"predictions for {name}")
    lines = explain(frame_id, true, predicted, task, rules)
    row = next(iter(true.values())).to_pylist()[0]
    dialogue = [(turn["speaker"], turn["utterance"]) for turn in row.get("history", [])]
    dialogue.append(("USER", row["utterance"] or ""))
    print_explanation(frame_id, dialogue, lines, terminal())
