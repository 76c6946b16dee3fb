"""What each command does: read its files, compute, write and print."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sgdx_metric.cli.files import check_output, write_json
from sgdx_metric.cli.predictions import parse_predictions, prediction_paths
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from ..gold import GoldTurn, Options, judge_gold
from ..models import open_nli
from ..negatives import Pool
from ..nli import Judge, Nli, nli_name
from ..report import gold_counts, report
from ..rows import Prediction, Turn
from ..scoring import TurnScores, score_system, utterances_by_variant
from ..signature import Data, signature
from ..units import units_of
from .chosen import choose
from .compare import compare
from .explain import explain
from .files import write_per_turn, write_scores
from .gold_files import GoldHeader, read_gold, write_gold
from .predictions import read_predictions
from .references import References, open_references, own_variants
from .table2 import table2
from .terminal import print_comparison, print_explanation, print_line, print_scores, print_table2


def run_install(_: argparse.Namespace) -> None:
    """Install the metric for `evaluate` and print where."""
    from sgdx_metric.cli.install import install  # `evaluate` takes seconds to import.

    print(install(Path(__file__).parents[1] / "sgsacc_metric.py"))


def run_push(args: argparse.Namespace) -> None:
    """Upload the metric as a Space and print its address."""
    from sgdx_metric.cli.push import push  # `huggingface_hub` takes a while to import.

    print(push(args.repo_id, args.private, Path(__file__).parents[1]))


def run_score(args: argparse.Namespace) -> None:
    """Score prediction files; write what was asked for; print tables."""
    check_output("--output", args.output)
    if args.per_turn:
        check_output("--per-turn", args.per_turn, (".jsonl",))
    predictions = _predictions(args)
    references = _references(args)
    model, options = _model(args), _options(args)
    every = references.turns(args.evaluator)
    turns = choose(every, args.dialogues, args.turns)
    header = _header(args, references, model)
    gold = read_gold(args.gold, header, turns) if args.gold else None
    found = score(references, every, turns, predictions, model, options, gold)
    if args.per_turn:
        write_per_turn(turns, found.scores, found.gold, args.per_turn)
    write_scores(found.result, units_of(turns, found.scores), args.output)
    print_scores(found.result, _console())


@dataclass(frozen=True)
class Scored:
    """What one system scores.

    Attributes:
        scores: The scores of each turn, by variant.
        gold: The gold side of each turn; none without a model of entailment.
        result: What scores.json holds.
    """

    scores: dict[str, TurnScores]
    gold: list[GoldTurn]
    result: dict[str, Any]


def score(
    references: References,
    every: Sequence[Turn],
    turns: Sequence[Turn],
    predictions: Sequence[Prediction],
    model: Nli | None = None,
    options: Options | None = None,
    gold: list[GoldTurn] | None = None,
) -> Scored:
    """Score one system's predictions.

    Args:
        references: Where the turns come from.
        every: All turns of the split, under the evaluator's wording.
        turns: Those of them that are scored.
        predictions: The predictions of one or more variants; those of turns that are not scored
            are passed over.
        model: The model of entailment; None for BLEU and SER alone.
        options: How SGSAcc is computed.
        gold: The gold side of the turns, if it is there already.

    Raises:
        ScoreError: Turns are missing, there twice or unknown.
    """
    known = {turn.turn_id for turn in every} - {turn.turn_id for turn in turns}
    utterances = utterances_by_variant(turns, [of for of in predictions if of.turn_id not in known])
    options = options or Options()
    judge = Judge(model) if model else None
    if judge and gold is None:
        gold = judge_gold(turns, judge, options, Pool.of(every))
    of_turns = gold if judge and gold else []
    scores = score_system(turns, utterances, of_turns, judge, options)
    data = _data(references, every, turns, [*utterances, turns[0].variant])
    result = report(turns, scores, data, nli_name(model), of_turns, judge, options)
    return Scored(scores, of_turns, result)


def _data(
    references: References, every: Sequence[Turn], turns: Sequence[Turn], variants: Iterable[str]
) -> Data:
    """Which turns of all turns of a split are scored, under some variants' words."""
    dialogues = {turn.dialogue_id for turn in turns}
    return Data(
        references.split,
        references.version,
        len({turn.dialogue_id for turn in every}),
        sum(turn.dialogue_id in dialogues for turn in every),
        references.fingerprints(sorted(set(variants))),
    )


def run_compare(args: argparse.Namespace) -> None:
    """Compare two scores.json; print a table for each figure and write JSON if asked."""
    if args.json:
        check_output("--json", args.json)
    result = compare(args.first, args.second)
    if args.json:
        write_json(result, args.json)
    print_comparison(result, (str(args.first), str(args.second)), _console())


def run_explain(args: argparse.Namespace) -> None:
    """Print one turn action by action."""
    predictions = _predictions(args)
    references = _references(args)
    every = references.turns(args.evaluator)
    turns = [turn for turn in every if turn.turn_id == args.turn_id]
    if not turns:
        raise ScoreError(
            f"TURN_ID {args.turn_id}: found no such turn among {len(every)}, expected one such as"
            f" {every[0].turn_id}"
        )
    model = _model(args)
    header = _header(args, references, model)
    gold = read_gold(args.gold, header, turns) if args.gold else None
    found = score(references, every, turns, predictions, model, _options(args), gold)
    said = {variant: of.utterances[0] for variant, of in found.scores.items()}
    verdicts = {variant: of.verdicts[0] for variant, of in found.scores.items()} if model else None
    lines = explain(turns[0], said, found.gold[0] if found.gold else None, verdicts)
    print_explanation(turns[0], said, lines, _console())


def run_references(args: argparse.Namespace) -> None:
    """Write the gold side, which every system shares."""
    check_output("--output", args.output)
    references = _references(args)
    turns = references.turns(args.evaluator)
    model = _needed_model(args)
    judge = Judge(model)
    options = _options(args)
    gold = judge_gold(turns, judge, options)
    write_gold(_header(args, references, model), gold, args.output)
    counts = gold_counts(turns, gold)
    print_line(
        f"{args.output}: {counts['valid_turns']} of {len(turns)} turns are valid; {judge.sent}"
        f" pairs were judged for {judge.asked} answers by {nli_name(model)}",
        _console(),
    )


def run_validate(args: argparse.Namespace) -> None:
    """Print how well the model tells right from wrong actions by the gold utterances."""
    if args.json:
        check_output("--json", args.json)
    references = _references(args)
    model = _needed_model(args)
    judge = Judge(model)
    options = Options(True, not args.no_context, args.rules, args.seed)
    evaluators = list(args.evaluators or (ORIGINAL, *PAPER_VARIANTS))
    gold = {}
    for variant in evaluators:
        every = references.turns(variant)
        turns = choose(every, args.dialogues, args.turns)
        gold[variant] = judge_gold(turns, judge, options, Pool.of(every))
    result = table2(gold)
    data = _data(references, every, turns, evaluators)
    turn_ids = [turn.turn_id for turn in turns]
    line = signature(["gold"], evaluators, turn_ids, data, nli_name(model), (), options)
    if args.json:
        write_json({"signature": line, "nli": nli_name(model), "by_evaluator": result}, args.json)
    print_table2(result, f"{judge.sent} pairs were judged.\n{line}", _console())


def _references(args: argparse.Namespace) -> References:
    own = own_variants(args.variant)
    return open_references(args.source, args.references, args.split, own)


def _predictions(args: argparse.Namespace) -> list[Prediction]:
    """All prediction rows, which are read before any data is opened."""
    own = [argument.partition("=")[0] for argument in args.variant]
    known = [ORIGINAL, *PAPER_VARIANTS, *own]
    paths = prediction_paths(parse_predictions(args.predictions), known)
    return [
        row
        for variant, path in paths.items()
        for row in read_predictions(path, args.split, variant)[0]
    ]


def _options(args: argparse.Namespace) -> Options:
    return Options(not args.no_validation, not args.no_context, args.rules, args.seed)


def _model(args: argparse.Namespace) -> Nli | None:
    """The model of entailment; None without --nli."""
    if args.nli is None:
        return None
    return open_nli(args.nli, args.dtype, args.cache, args.device)


def _needed_model(args: argparse.Namespace) -> Nli:
    """The model of entailment, which the command cannot do without."""
    return open_nli(args.nli, args.dtype, args.cache, args.device)


def _header(args: argparse.Namespace, references: References, model: Nli | None) -> GoldHeader:
    marks = dict(references.fingerprints([args.evaluator]))
    evaluator = "@".join([args.evaluator, *marks.values()])
    return GoldHeader.of(nli_name(model), evaluator, args.split, _options(args))


def _console() -> Console:
    # Piped output has no width of its own.
    return Console() if sys.stdout.isatty() else Console(width=80)
