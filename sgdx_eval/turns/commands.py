"""What the commands do that only generated turns have."""

from __future__ import annotations

import argparse
from pathlib import Path

import sgsacc_metric
from sgdx_dataset.io.arguments import paths_by_name
from sgdx_eval.files import check_output, write_json
from sgdx_eval.inputs import Inputs
from sgdx_eval.references import References
from sgdx_eval.tables import print_line, table, terminal, to_terminal
from sgdx_eval.tasks.turns import Turns, chosen_turns, read_turns
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.gold import Options, judge_gold
from sgsacc_metric.negatives import ValuePool
from sgsacc_metric.nli import Judge, nli_name
from sgsacc_metric.report import gold_counts
from sgsacc_metric.rows import Turn
from sgsacc_metric.signature import ScoredData, signature

from .gold_files import write_gold
from .labels import agreement_of_files
from .table2 import table2
from .tables import validation_table
from .terminal import print_agreement

_METRIC = Path(sgsacc_metric.__file__).parent


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from sgdx_eval.install import install  # `evaluate` takes seconds to import.

    print(install(_METRIC / "sgsacc_metric.py"))


def run_push(args: argparse.Namespace) -> None:
    """Upload the metric as a Space and print its address."""
    from sgdx_eval.push import push  # `huggingface_hub` takes a while to import.

    print(push(args.repo_id, args.private, _METRIC))


def run_references(args: argparse.Namespace) -> None:
    """Write the gold side, which every system shares."""
    check_output("--output", args.output)
    task = _task(args, args.evaluator, not args.no_validation)
    references = _open(args, task, [args.evaluator])
    turns = read_turns(references, args.evaluator)
    nli = task.require_nli()
    judge = Judge(nli)
    gold = judge_gold(turns, judge, task.options)
    write_gold(task.gold_header(references, nli), gold, args.output)
    counts = gold_counts(turns, gold)
    print_line(
        f"{args.output}: {counts['valid_turns']} of {len(turns)} turns are valid; {judge.sent}"
        f" pairs were judged for {judge.asked} answers by {nli_name(nli)}",
        terminal(),
    )


def run_validate(args: argparse.Namespace) -> None:
    """Print how well the model tells right from wrong actions by the gold utterances."""
    if args.json:
        check_output("--json", args.json)
    task = _task(args)
    evaluators = list(args.evaluators or (ORIGINAL, *PAPER_VARIANTS))
    references = _open(args, task, evaluators)
    nli = task.require_nli()
    judge = Judge(nli)
    gold = {}
    turns: list[Turn] = []
    every: list[Turn] = []
    for evaluator in evaluators:
        every = read_turns(references, evaluator)
        turns = chosen_turns(every, args.split, args.dialogues, args.turns)
        gold[evaluator] = judge_gold(turns, judge, task.options, ValuePool.from_turns(every))
    by_evaluator = table2(gold)
    # The turns are the same under every evaluator's wording, so the last ones stand for all.
    data = ScoredData.from_turns(
        every,
        turns,
        references.split,
        references.release,
        references.marks(sorted({*evaluators})),
        references.available,
    )
    line = signature(["gold"], evaluators, data, nli_name(nli), (), task.options)
    if args.json:
        validation = {"signature": line, "nli": nli_name(nli), "by_evaluator": by_evaluator}
        write_json(validation, args.json)
    title = "Entailment on gold utterances, in %"
    to_terminal(table(title, *validation_table(by_evaluator)), terminal())
    print_line(f"{judge.sent} pairs were judged.\n{line}", terminal())


def run_agreement(args: argparse.Namespace) -> None:
    """Print how far people agree with each other, and a model with most of them."""
    if args.json:
        check_output("--json", args.json)
    result = agreement_of_files(args.labels)
    if args.json:
        write_json(result, args.json)
    print_agreement(result, terminal())


def _task(args: argparse.Namespace, evaluator: str = ORIGINAL, validate: bool = True) -> Turns:
    """The task with the options of a command."""
    options = Options(validate, not args.no_context, args.rules, args.seed)
    return Turns(evaluator, args.nli, args.dtype, args.device, args.cache, options)


def _open(args: argparse.Namespace, task: Turns, variants: list[str]) -> References:
    """Open the turns of some variants."""
    if args.references:
        from sgdx_eval.reference_folder import FolderReferences  # Parquet takes a while to import.

        names = task.references.names
        return FolderReferences(args.references, args.split, variants, names, "turns")
    own = paths_by_name("--variant", args.variant)
    inputs = Inputs({}, args.split, args.source, own_variants=own)
    return inputs.open_references(task, {})
