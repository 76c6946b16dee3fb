"""How well a model of entailment tells right from wrong actions, as in Table 2 of the paper."""

from collections.abc import Mapping, Sequence
from typing import Any

from sgdx_metric.variants import PAPER_VARIANTS
from sgsacc_metric.gold import GoldTurn

# Precision, recall and F1 in Table 2 of Chen et al. 2023, of FacebookAI/roberta-large-mnli on
# 10,000 sampled test turns, by the wording of the evaluator's schemas.
PUBLISHED = dict(
    zip(
        ("original", *PAPER_VARIANTS),
        (
            (0.958, 0.968, 0.963),
            (0.970, 0.970, 0.970),
            (0.963, 0.958, 0.960),
            (0.969, 0.945, 0.957),
            (0.969, 0.947, 0.958),
            (0.969, 0.939, 0.954),
        ),
        strict=True,
    )
)


def table2(gold: Mapping[str, Sequence[GoldTurn]]) -> dict[str, dict[str, Any]]:
    """Precision and recall of entailment on gold utterances.

    An action is a positive, found if the gold utterance entails one of its sentences. Its tampered
    self is a negative, and a false positive if the gold utterance entails one of its sentences.

    Returns:
        For each wording `precision`, `recall` and `f1` (fractions, None where undefined), the
        counts `positives`, `found`, `negatives`, `false_positives`, `turns` and `valid_turns`, and
        `published`, the three figures of the paper, or None.
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
