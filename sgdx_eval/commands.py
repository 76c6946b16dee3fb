"""What each command does: read its files, compute, write and print."""

from __future__ import annotations

import argparse
import sys
from importlib import resources
from pathlib import Path

from sgdx_dataset.io.arguments import paths_by_name
from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.signature import Rules, signature_parts
from sgsacc_metric.gold import Options

from .explain import asked_wordings
from .files import check_outputs, write_json
from .headers import check_data, check_one_system
from .inputs import Inputs
from .predictions import parse_predictions
from .score import Outputs, score
from .show import print_comparison, print_summary
from .tables import terminal
from .task import Task
from .tasks import TASKS, Turns


def run_install(args: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from .install import install  # `evaluate` takes seconds to import.

    print(install(Path(str(resources.files(args.program)))))


def run_push(args: argparse.Namespace) -> None:
    """Upload the metric as a Space and print its address."""
    from .install import push  # Likewise.

    print(push(args.repo_id, args.private, Path(str(resources.files(args.program)))))


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files of any task; write what was asked for; print tables."""
    inputs = _inputs(args)
    outputs = Outputs(args.output, args.per_item)
    score(_task(args, inputs), inputs, outputs, verbose=True)


def _task(args: argparse.Namespace, inputs: Inputs) -> Task:
    """The task of the predictions, with its options; tools are scored against their own folder."""
    name = inputs.task_name()
    if name == "turns":
        task: Task = Turns(
            evaluator=args.evaluator,
            nli=args.nli,
            dtype=args.dtype,
            device=args.device,
            cache=args.cache,
            options=Options(not args.no_validation, not args.no_context, args.rules, args.seed),
            turns=getattr(args, "turns", None),
            gold=args.gold,
        )
    elif name == "tools":
        raise SgdxError(
            "predictions: found calls of tools, expected python -m sgdx_tools with their folder"
        )
    elif name in TASKS:
        task = TASKS[name]
    else:
        expected = ", ".join(TASKS)
        raise SgdxError(f"predictions: found the task {name!r}, expected one of {expected}")
    for option in args.options:
        if option.group not in ("", *task.option_groups) and option.is_given(args):
            raise SgdxError(
                f"{option.names}: found predictions of {name}, expected it only {option.group}"
            )
    return task


def _inputs(args: argparse.Namespace) -> Inputs:
    """What the options say is scored against what, and how; `explain` has fewer of them."""
    return Inputs(
        predictions=parse_predictions(args.predictions),
        split=args.split,
        source=args.source,
        references=args.references,
        own_variants=paths_by_name("--variant", args.variant),
        dialogues=args.dialogues,
        services=args.service,
        without_errata=getattr(args, "without_errata", False),
        rules=Rules(
            not args.no_fuzzy_match,
            getattr(args, "joint_acc_across_turn", False),
            getattr(args, "zero_mean", "0"),
        ),
        acts=getattr(args, "system_acts", None),
        over=getattr(args, "over", "dialogues"),
    )


def run_compare(args: argparse.Namespace) -> None:
    """Compare two systems' scores.json; print a table for each figure and write JSON if asked."""
    from .compare import compare  # Reading scores is needed by few commands.

    first, second = args.first, args.second
    if args.scores and not (first or second) and len(args.scores) == 2:
        first, second = args.scores[:1], args.scores[1:]
    elif args.scores or not (first and second):
        raise SgdxError(
            "compare: expected either two scores.json, or --first and --second with the "
            "scores.json of each run of each system"
        )
    check_outputs({"--json": args.json}, [*first, *second])
    result = compare(first, second, args.dialogues, args.over)
    if args.json:
        write_json(result.content, args.json)
    line = result.content["signature"]
    parts = signature_parts(line, "signature", line.split("|")[0])
    if "dialogues" in parts:
        count, _, digest = parts["dialogues"].partition("@")
        note = f"note: compared on {count} dialogues of the split, which {digest} stands for below"
        print(note, file=sys.stderr)
    names = ", ".join(map(str, first)), ", ".join(map(str, second))
    print_comparison(result, names, args.details, terminal())


def run_summarise(args: argparse.Namespace) -> None:
    """Average the scores.json of several runs; print tables and write JSON if asked."""
    from .summarise import summarise  # Likewise.

    check_outputs({"--output": args.output}, args.scores)
    result = summarise(args.scores)
    if args.output:
        write_json(result.content, args.output)
    print_summary(result, list(map(str, args.scores)), terminal())


def run_explain(args: argparse.Namespace) -> None:
    """Print one frame slot by slot or one turn action by action, or list what broke."""
    if sum((args.item is not None, args.changed is not None, args.flips)) != 1:
        raise SgdxError("explain: expected one of FRAME_ID, --changed FIRST SECOND and --flips")
    inputs = _inputs(args)
    task = _task(args, inputs)
    predictions = inputs.read(task)
    headers = {name: of_wording.header for name, of_wording in predictions.items()}
    check_one_system(headers)
    references = inputs.open_references(task, headers)
    for name, header in headers.items():
        check_data(header, name, references.data(name), None)
    if args.item is not None:
        task.explain_item(args.item, references, predictions, inputs)
    else:
        names = asked_wordings(args.changed, predictions)
        of_names = {name: predictions[name] for name in names}
        task.explain_changes(references, of_names, inputs, args.changed)
