"""Sum up the scores of turns into the structure of scores.json."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgdx_metric.bootstrap import RESAMPLES, Sums, bootstrap, compared
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.variants import ORIGINAL

from .bleu import CONVENTIONS, bleu_signature, corpus_bleu
from .gold import GoldTurn
from .metrics import HEADLINES, compute_metrics
from .nli import Judge
from .rows import Turn
from .scoring import TurnScores
from .units import ALL, Units

# What scores.json calls the groups of turns.
GROUP_KEYS = {
    "all": "#ALL_SERVICES",
    "seen": "#SEEN_SERVICES",
    "unseen": "#UNSEEN_SERVICES",
    "seen_domains": "#SEEN_DOMAINS",
    "unseen_domains": "#UNSEEN_DOMAINS",
}


def report(
    turns: Sequence[Turn],
    scores: Mapping[str, TurnScores],
    units: Units,
    signature: str,
    gold: Sequence[GoldTurn] = (),
    judge: Judge | None = None,
) -> dict[str, Any]:
    """Sum up what one system scores under one or more variants.

    Args:
        turns: The turns under the evaluator's wording [turns].
        scores: The system's scores of these turns, by variant.
        units: The same scores, summed by dialogue and service.
        signature: The line that says how they were computed.
        gold: The gold side of the turns; none without a model of entailment [turns].
        judge: The model of entailment, for the number of its answers; None without one.

    Returns:
        `variants`, `sgdx`, `conventions`, `signature`, `counts`. BLEU is from 0 to 100, all other
        figures are fractions; a figure that is undefined is None, and one for which variants or a
        model are lacking is left out.
    """
    return {
        "variants": {variant: _metrics_by_group(units, variant) for variant in scores},
        "sgdx": robustness_report(units),
        "conventions": {
            variant: _bleu_by_convention(turn_scores) for variant, turn_scores in scores.items()
        },
        "signature": signature,
        "counts": _counts(turns, units, gold, judge),
    }


def robustness_report(units: Units) -> dict[str, Any]:
    """The part `sgdx` of scores.json.

    Returns:
        For all turns, and under `seen`, `unseen`, `seen_domains`, `unseen_domains` and, in
        `by_service`, for each service: `turns`, their number, and the figures of
        `Units.robustness`. All but the services have `confidence`, the 95 % intervals [low, high]
        over dialogues. For all turns `differences` has, for each variant but the original and each
        headline metric, the difference to the original, its interval and its p.
    """
    groups = {name: _with_intervals(units, indices) for name, indices in units.groups().items()}
    return {
        **groups.pop(ALL),
        **groups,
        "by_service": {
            name: _json_numbers(units.robustness(units.dialogue_sums(indices).sum(axis=0)))
            | {"turns": units.turn_count(indices)}
            for name, indices in units.services().items()
        },
        "differences": _differences(units),
    }


def _with_intervals(units: Units, indices: Ints) -> dict[str, Any]:
    """The robustness figures of some units, with their intervals."""
    sums = units.dialogue_sums(indices)
    figures = _json_numbers(units.robustness(sums.sum(axis=0))) if len(indices) else {}
    intervals = bootstrap(lambda weights: units.robustness(weights @ sums), len(sums))
    return figures | {"turns": units.turn_count(indices), "confidence": intervals}


def _differences(units: Units) -> dict[str, dict[str, Any]]:
    """By how much each variant's headline metrics differ from those under the original."""
    sums = units.dialogue_sums(np.arange(len(units.seen)))
    if ORIGINAL not in units.by_variant or not len(sums):
        return {}
    names = list(units.by_variant[ORIGINAL])
    # `compared` works with means over dialogues, and these metrics with sums.
    ones = np.ones((len(sums), 1))

    def variant_sums(variant: str) -> Sums:
        counts = units.variant_sums(sums, variant)
        return Sums(np.stack([counts[name] for name in names], axis=-1), ones)

    def headline_metrics(means: Floats) -> dict[str, Floats]:
        totals = means * len(sums)
        metrics = compute_metrics({name: totals[..., i] for i, name in enumerate(names)})
        return {name: metrics[name] for name in HEADLINES if name in metrics}

    original = variant_sums(ORIGINAL)
    differences = {}
    for variant in units.by_variant:
        if variant != ORIGINAL:
            by_metric = compared(original, variant_sums(variant), headline_metrics, RESAMPLES)
            differences[variant] = {
                metric: {key: comparison[key] for key in ("difference", "interval", "p")}
                for metric, comparison in by_metric.items()
            }
    return differences


def _metrics_by_group(units: Units, variant: str) -> dict[str, dict[str, float | None]]:
    """One variant's metrics for each group, domain and service that has turns."""
    groups = {GROUP_KEYS[name]: indices for name, indices in units.groups().items()}
    groups |= units.domains() | units.services()
    counts = units.by_variant[variant]
    return {
        name: _json_numbers(
            compute_metrics({key: count[indices].sum() for key, count in counts.items()})
        )
        for name, indices in groups.items()
        if len(indices)
    }


def _bleu_by_convention(scores: TurnScores) -> dict[str, dict[str, Any]]:
    """BLEU of all turns under each convention, with sacreBLEU's signature."""
    return {
        name: {
            "bleu": float(corpus_bleu(scores.convention_sums[name])),
            "signature": bleu_signature(name),
        }
        for name in CONVENTIONS
    }


def _counts(
    turns: Sequence[Turn], units: Units, gold: Sequence[GoldTurn], judge: Judge | None
) -> dict[str, Any]:
    """How many turns, actions and pairs of sentences there were."""
    counts: dict[str, Any] = {
        "turns": {name: units.turn_count(indices) for name, indices in units.groups().items()}
    }
    if judge:
        counts |= gold_counts(turns, gold)
        counts["pairs"] = {"asked": judge.asked, "sent": judge.sent}
    return counts


def gold_counts(turns: Sequence[Turn], gold: Sequence[GoldTurn]) -> dict[str, Any]:
    """How many turns and actions are judged and valid, and which actions fail validation.

    Returns:
        `judged_turns`, `valid_turns`; `actions` with `all`, `judged`, `tampered` (those that have
        sentences with wrong values) and `failed`; and `failed_by`, for each act and slot of actions
        that fail validation their number, the most frequent first.
    """
    actions = [
        (action, gold_action)
        for turn, gold_turn in zip(turns, gold, strict=True)
        for action, gold_action in zip(turn.actions, gold_turn.actions, strict=True)
    ]
    failed = Counter(
        (action.act, action.slot) for action, gold_action in actions if gold_action.failed
    )
    return {
        "judged_turns": sum(turn.judged for turn in gold),
        "valid_turns": sum(turn.valid for turn in gold),
        "actions": {
            "all": len(actions),
            "judged": sum(bool(gold_action.reference) for _, gold_action in actions),
            "tampered": sum(bool(gold_action.tampered) for _, gold_action in actions),
            "failed": sum(gold_action.failed for _, gold_action in actions),
        },
        "failed_by": [
            {"act": act, "slot": slot, "actions": count}
            for (act, slot), count in sorted(
                failed.items(), key=lambda entry: (-entry[1], entry[0])
            )
        ],
    }


def _json_numbers(values: Mapping[str, Floats]) -> dict[str, float | None]:
    """Values as JSON has them: None for what is undefined."""
    return {name: None if np.isnan(value) else float(value) for name, value in values.items()}
