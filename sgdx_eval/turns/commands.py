"""What each command does: read its files, compute, write and print."""

import argparse
from pathlib import Path

import sgsacc_metric
from sgdx_dataset.io.arguments import paths_by_name
from sgdx_eval.compare import compare
from sgdx_eval.files import check_output, write_json
from sgdx_eval.predictions import parse_predictions
from sgdx_eval.tables import print_line, table, terminal, to_terminal
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.api import score_files
from sgsacc_metric.gold import Options, judge_gold
from sgsacc_metric.negatives import ValuePool
from sgsacc_metric.nli import Judge, nli_name
from sgsacc_metric.report import gold_counts
from sgsacc_metric.rows import Turn
from sgsacc_metric.signature import ScoredData, signature

from .explain import explain
from .gold_files import write_gold
from .labels import agreement_of_files
from .score import Inputs, score_predictions
from .table2 import table2
from .tables import validation_table
from .terminal import print_agreement, print_comparison, print_explanation

_METRIC = Path(sgsacc_metric.__file__).parent


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from sgdx_eval.install import install  # `evaluate` takes seconds to import.

    print(install(_METRIC / "sgsacc_metric.py"))


def run_push(args: argparse.Namespace) -> None:
    """Upload the metric as a Space and print its address."""
    from sgdx_eval.push import push  # `huggingface_hub` takes a while to import.

    print(push(args.repo_id, args.private, _METRIC))


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files; write what was asked for; print tables."""
    score_files(
        parse_predictions(args.predictions),
        source=args.source,
        references=args.references,
        split=args.split,
        own_variants=paths_by_name("--variant", args.variant),
        dialogues=args.dialogues,
        turns=args.turns,
        evaluator=args.evaluator,
        nli=args.nli,
        dtype=args.dtype,
        device=args.device,
        cache=args.cache,
        options=_options(args),
        gold=args.gold,
        output=args.output,
        per_turn=args.per_turn,
        verbose=True,
    )


def run_compare(args: argparse.Namespace) -> None:
    """Compare two scores.json; print a table for each figure and write JSON if asked."""
    if args.json:
        check_output("--json", args.json)
    comparison = compare([args.first], [args.second])
    if args.json:
        write_json(comparison, args.json)
    print_comparison(comparison, (str(args.first), str(args.second)), terminal())


def run_explain(args: argparse.Namespace) -> None:
    """Print one turn action by action."""
    inputs = _inputs(args, args.evaluator, gold=args.gold)
    predictions = inputs.read_predictions(parse_predictions(args.predictions))
    references = inputs.open_references(predictions)
    split_turns = references.turns(inputs.evaluator)
    turns = [turn for turn in split_turns if turn.turn_id == args.turn_id]
    if not turns:
        raise ScoreError(
            f"TURN_ID {args.turn_id}: found no such turn among {len(split_turns)}, expected one"
            f" such as {split_turns[0].turn_id}"
        )
    nli = inputs.open_nli()
    gold = inputs.read_gold(references, nli, turns)
    system = score_predictions(
        references, split_turns, turns, predictions, nli, inputs.options, gold
    )
    utterances = {name: scores.utterances[0] for name, scores in system.turn_scores.items()}
    verdicts = {name: scores.verdicts[0] for name, scores in system.turn_scores.items() if nli}
    gold_turn = system.gold[0] if system.gold else None
    lines = explain(turns[0], utterances, gold_turn, verdicts)
    print_explanation(turns[0], utterances, lines, terminal())


def run_references(args: argparse.Namespace) -> None:
    """Write the gold side, which every system shares."""
    check_output("--output", args.output)
    inputs = _inputs(args, args.evaluator)
    references = inputs.open_references()
    turns = references.turns(inputs.evaluator)
    nli = inputs.require_nli()
    judge = Judge(nli)
    gold = judge_gold(turns, judge, inputs.options)
    write_gold(inputs.gold_header(references, nli), gold, args.output)
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
    inputs = _inputs(args, dialogues=args.dialogues, turns=args.turns)
    references = inputs.open_references()
    nli = inputs.require_nli()
    judge = Judge(nli)
    evaluators = list(args.evaluators or (ORIGINAL, *PAPER_VARIANTS))
    gold = {}
    turns: list[Turn] = []
    split_turns: list[Turn] = []
    for evaluator in evaluators:
        split_turns = references.turns(evaluator)
        turns = inputs.select(split_turns)
        pool = ValuePool.from_turns(split_turns)
        gold[evaluator] = judge_gold(turns, judge, inputs.options, pool)
    by_evaluator = table2(gold)
    # The turns are the same under every evaluator's wording, so the last ones stand for all.
    data = ScoredData.from_turns(
        split_turns,
        turns,
        references.split,
        references.version(evaluators),
        references.fingerprints(sorted({*evaluators})),
        references.available(evaluators[-1]),
    )
    line = signature(["gold"], evaluators, data, nli_name(nli), (), inputs.options)
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


def _inputs(
    args: argparse.Namespace,
    evaluator: str = ORIGINAL,
    gold: Path | None = None,
    dialogues: Path | None = None,
    turns: Path | None = None,
) -> Inputs:
    return Inputs(
        split=args.split,
        source=args.source,
        references=args.references,
        own_variants=paths_by_name("--variant", args.variant),
        evaluator=evaluator,
        nli=args.nli,
        dtype=args.dtype,
        device=args.device,
        cache=args.cache,
        options=_options(args),
        dialogues=dialogues,
        turns=turns,
        gold=gold,
    )


def _options(args: argparse.Namespace) -> Options:
    """The options of SGSAcc; the command `validate` always validates."""
    validate = not getattr(args, "no_validation", False)
    return Options(validate, not args.no_context, args.rules, args.seed)
