"""Whether a model of entailment can be relied on: commands of generated turns alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sgdx_dataset.io.files import write_json
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.gold import GoldTurn, judge_gold
from sgsacc_metric.negatives import ValuePool
from sgsacc_metric.nli import Judge, nli_name
from sgsacc_metric.report import gold_counts
from sgsacc_metric.rows import Turn
from sgsacc_metric.signature import signature

from .gold_files import write_gold
from .published import entailment_table
from .tables import print_line, terminal, to_terminal
from .task import Inputs
from .tasks.turns import Turns, chosen_turns, read_turns, setup_of

# Precision, recall and F1 in Table 2 of Chen et al. 2023, of FacebookAI/roberta-large-mnli on
# 10,000 sampled test turns, by the variant of the evaluator's schemas.
PUBLISHED = {
    "original": (0.958, 0.968, 0.963),
    "v1": (0.970, 0.970, 0.970),
    "v2": (0.963, 0.958, 0.960),
    "v3": (0.969, 0.945, 0.957),
    "v4": (0.969, 0.947, 0.958),
    "v5": (0.969, 0.939, 0.954),
}


def write_references(task: Turns, inputs: Inputs, output: Path) -> None:
    """Write the gold side, which every system shares."""
    references = inputs.open_gold(task.rows)
    turns = read_turns(references, task.evaluator)
    nli = task.require_nli()
    judge = Judge(nli)
    gold = judge_gold(turns, judge, task.options)
    write_gold(task.gold_header(references, nli), gold, output)
    counts = gold_counts(turns, gold)
    print_line(
        f"{output}: {counts['valid_turns']} of {len(turns)} turns are valid; {judge.sent}"
        f" pairs were judged for {judge.asked} answers by {nli_name(nli)}",
        terminal(),
    )


def validate(task: Turns, inputs: Inputs, variants: Sequence[str], json: Path | None) -> None:
    """Print how well the model tells right from wrong actions by the gold utterances."""
    evaluators = list(variants or (ORIGINAL, *PAPER_VARIANTS))
    references = inputs.open_gold(task.rows._replace(variants=evaluators))
    nli = task.require_nli()
    judge = Judge(nli)
    gold = {}
    turns: list[Turn] = []
    every: list[Turn] = []
    for evaluator in evaluators:
        every = read_turns(references, evaluator)
        turns = chosen_turns(every, inputs.split, inputs.dialogues, task.turns)
        gold[evaluator] = judge_gold(turns, judge, task.options, ValuePool.from_turns(every))
    by_evaluator = table2(gold)
    # The turns are the same under every evaluator's variant, so the last ones stand for all.
    setup = setup_of(references, evaluators)
    judged = nli_name(nli), (), task.options
    line = signature(["gold"], evaluators, every, turns, setup, *judged)
    if json:
        validation = {"signature": line, "nli": nli_name(nli), "by_evaluator": by_evaluator}
        write_json(json, validation)
    title = "Entailment on gold utterances, in %"
    to_terminal(entailment_table(title, by_evaluator), terminal())
    print_line(f"{judge.sent} pairs were judged.\n{line}", terminal())


def table2(gold: Mapping[str, Sequence[GoldTurn]]) -> dict[str, dict[str, Any]]:
    """Precision and recall of entailment on gold utterances, by variant, as Table 2 has them.

    An action is a positive, found if the gold utterance entails one of its sentences. Its tampered
    self is a negative, and a false positive if the gold utterance entails one of its sentences.
    """
    by_evaluator = {}
    for evaluator, turns in gold.items():
        actions = [action for turn in turns for action in turn.actions if action.reference]
        entailed = sum(bool(action.entailed) for action in actions)
        fooled = sum(bool(action.fooled) for action in actions)
        precision = entailed / (entailed + fooled) if entailed + fooled else None
        recall = entailed / len(actions) if actions else None
        total = (precision or 0) + (recall or 0)
        by_evaluator[evaluator] = {
            "precision": precision,
            "recall": recall,
            "f1": 2 * (precision or 0) * (recall or 0) / total if total else None,
            "positives": len(actions),
            "found": entailed,
            "negatives": sum(bool(action.tampered) for action in actions),
            "false_positives": fooled,
            "turns": len(turns),
            "valid_turns": sum(turn.valid for turn in turns),
            "published": PUBLISHED.get(evaluator),
        }
    return by_evaluator
