"""Sum up the scores of turns into the structure of scores.json."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.figures import changes_to_original
from sgdx_metric.statistics import Sample
from sgdx_metric.units import ALL, Scores

from .figures import compute_metrics, headline_metrics, turn_figures, under_each
from .gold import GoldTurn
from .nli import Judge
from .rows import Turn

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
    units: Scores,
    signature: str,
    gold: Sequence[GoldTurn] = (),
    judge: Judge | None = None,
) -> dict[str, Any]:
    """Sum up what one system scores under one or more variants, as scores.json has it."""
    return {
        "variants": {
            name: _metrics_by_group(units, place) for place, name in enumerate(units.variants)
        },
        "sgdx": robustness_report(units),
        "signature": signature,
        "counts": _counts(turns, units, gold, judge),
    }


def robustness_report(units: Scores) -> dict[str, Any]:
    """The part `sgdx` of scores.json: figures, their intervals, and differences to the original."""
    groups: dict[str, Any] = {}
    for name, members in units.items.groups().items():
        of_group = units.only(members)
        sample = Sample(turn_figures(of_group), of_group.items.dialogue)
        values = sample.values()
        groups[name] = values | {"turns": turn_count(of_group)}
        if name in GROUP_KEYS:
            intervals = sample.intervals()
            groups[name]["confidence"] = {key: intervals.get(key) for key in values}
    return {
        **groups.pop(ALL),
        **{name: groups.pop(name) for name in GROUP_KEYS if name != ALL},
        "by_service": groups,
        "differences": _differences(units),
    }


def turn_count(units: Scores) -> int:
    """How many turns there are, which is the same under every variant."""
    return int(units.metrics["turns"][0].sum())


def _differences(units: Scores) -> dict[str, dict[str, Any]]:
    """By how much each variant's headline metrics differ from those under the original."""
    by_metric = {
        metric: changes_to_original([under_each(units, metric)], units.items.dialogue)
        for metric in headline_metrics(units)
    }
    return {
        variant: {
            metric: {key: compared[variant][key] for key in ("difference", "interval", "p")}
            for metric, compared in by_metric.items()
        }
        for variant in by_metric["bleu"]
    }


def _metrics_by_group(units: Scores, place: int) -> dict[str, dict[str, float | None]]:
    """One variant's metrics for each group, domain and service that has turns."""
    services = units.items.service
    domains = np.array([name.partition("_")[0] for name in services], dtype=object)
    groups = {GROUP_KEYS.get(name, name): m for name, m in units.items.groups().items()}
    groups |= {name: np.flatnonzero(domains == name) for name in sorted(set(domains))}
    return {
        name: _json_numbers(
            compute_metrics({key: rows[place, m].sum() for key, rows in units.metrics.items()})
        )
        for name, m in groups.items()
        if len(m)
    }


def _counts(
    turns: Sequence[Turn], units: Scores, gold: Sequence[GoldTurn], judge: Judge | None
) -> dict[str, Any]:
    """How many turns, actions and pairs of sentences there were."""
    counts: dict[str, Any] = {
        "turns": {
            name: turn_count(units.only(members))
            for name, members in units.items.groups().items()
            if name in GROUP_KEYS
        }
    }
    if judge:
        counts |= gold_counts(turns, gold)
        counts["pairs"] = {"asked": judge.asked, "sent": judge.sent}
    return counts


def gold_counts(turns: Sequence[Turn], gold: Sequence[GoldTurn]) -> dict[str, Any]:
    """How many turns and actions are judged and valid, and which actions fail validation."""
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
