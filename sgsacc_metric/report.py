"""Sum up the scores of turns into the structure of scores.json."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgdx_metric.bootstrap import RESAMPLES, Sums, bootstrap, compared
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.variants import ORIGINAL

from .bleu import CONVENTIONS, bleu_signature, corpus_bleu
from .figures import HEADLINES, figures_of
from .gold import GoldTurn, Options
from .nli import Judge
from .rows import Turn
from .scoring import TurnScores
from .signature import Data, signature
from .units import ALL, GROUPS, Units, units_of

# What scores.json calls the groups of services.
TITLES = dict(
    zip(
        GROUPS,
        (
            "#ALL_SERVICES",
            "#SEEN_SERVICES",
            "#UNSEEN_SERVICES",
            "#SEEN_DOMAINS",
            "#UNSEEN_DOMAINS",
        ),
        strict=True,
    )
)


def report(
    turns: Sequence[Turn],
    scores: Mapping[str, TurnScores],
    data: Data,
    nli: str = "none",
    gold: Sequence[GoldTurn] = (),
    judge: Judge | None = None,
    options: Options | None = None,
) -> dict[str, Any]:
    """Sum up what one system scores under one or more variants.

    Args:
        turns: The turns under the evaluator's wording [turns].
        scores: The system's scores of these turns, by variant.
        data: Which turns these are, for the signature.
        nli: The name of the model of entailment, "none" without one.
        gold: The gold side of the turns; none without a model of entailment [turns].
        judge: Whom the model's answers came through, for their number.
        options: How SGSAcc was computed.

    Returns:
        `variants`, `sgdx`, `conventions`, `signature`, `counts`. BLEU is from 0 to 100, all other
        figures are fractions; a figure that is undefined is None, and one that the variants do not
        give is left out.
    """
    scores = {name: scores[name] for name in sorted(scores, key=lambda v: (v != ORIGINAL, v))}
    units = units_of(turns, scores)
    turn_ids = [turn.turn_id for turn in turns]
    line = signature(list(scores), [turns[0].variant], turn_ids, data, nli, gold, options)
    return {
        "variants": {name: _group_figures(units, name) for name in scores},
        "sgdx": sgdx_figures(units),
        "conventions": {name: _conventions(of) for name, of in scores.items()},
        "signature": line,
        "counts": _counts(turns, units, gold, judge),
    }


def sgdx_figures(units: Units) -> dict[str, Any]:
    """The part `sgdx` of scores.json.

    Returns:
        For all turns, and under `seen`, `unseen`, `seen_domains`, `unseen_domains` and, in
        `by_service`, for each service: `turns`, their number, and the figures of `Units.figures`.
        All but the services have `confidence`, the 95 % intervals [low, high] over dialogues. For
        all turns `differences` has, for each variant but the original and each headline figure, the
        difference to the original, its interval and its p.
    """
    found = {name: _followed(units, these) for name, these in units.groups().items()}
    return {
        **found.pop(ALL),
        **found,
        "by_service": {
            name: _numbers(units.figures(units.dialogue_sums(these).sum(axis=0)))
            | {"turns": _turns(units, these)}
            for name, these in units.services().items()
        },
        "differences": _differences(units),
    }


def _followed(units: Units, these: Ints) -> dict[str, Any]:
    """The figures of some units, with their intervals."""
    sums = units.dialogue_sums(these)
    figures = _numbers(units.figures(sums.sum(axis=0))) if len(these) else {}
    intervals = bootstrap(lambda weights: units.figures(weights @ sums), len(sums))
    return figures | {"turns": _turns(units, these), "confidence": intervals}


def _differences(units: Units) -> dict[str, dict[str, Any]]:
    """What each variant's headline figures differ by from those under the original."""
    sums = units.dialogue_sums(np.arange(len(units.seen)))
    if ORIGINAL not in units.by_variant or not len(sums):
        return {}
    number = np.ones((len(sums), 1))
    names = list(units.by_variant[ORIGINAL])

    def sides(variant: str) -> Sums:
        counts = units.variant_sums(sums, variant)
        return Sums(np.stack([counts[name] for name in names], axis=-1), number)

    def headline(means: Floats) -> dict[str, Floats]:
        totals = means * len(sums)
        figures = figures_of({name: totals[..., i] for i, name in enumerate(names)})
        return {key: figures[key] for key in HEADLINES if key in figures}

    return {
        variant: {
            key: {name: of[name] for name in ("difference", "interval", "p")}
            for key, of in compared(sides(ORIGINAL), sides(variant), headline, RESAMPLES).items()
        }
        for variant in units.by_variant
        if variant != ORIGINAL
    }


def _group_figures(units: Units, variant: str) -> dict[str, dict[str, float | None]]:
    """One variant's figures for each group, service and domain that has turns."""
    groups = {TITLES[name]: these for name, these in units.groups().items()}
    groups |= units.domains() | units.services()
    counts = units.by_variant[variant]
    return {
        name: _numbers(figures_of({key: of[these].sum() for key, of in counts.items()}))
        for name, these in groups.items()
        if len(these)
    }


def _conventions(scores: TurnScores) -> dict[str, dict[str, Any]]:
    """BLEU of all turns under each convention, with sacreBLEU's signature."""
    return {
        name: {
            "bleu": float(corpus_bleu(scores.conventions[name])),
            "signature": bleu_signature(name),
        }
        for name in CONVENTIONS
    }


def _counts(
    turns: Sequence[Turn], units: Units, gold: Sequence[GoldTurn], judge: Judge | None
) -> dict[str, Any]:
    """How many turns, actions and pairs of sentences there were."""
    found: dict[str, Any] = {
        "turns": {name: _turns(units, these) for name, these in units.groups().items()}
    }
    if judge:
        found |= gold_counts(turns, gold)
        found["pairs"] = {"asked": judge.asked, "sent": judge.sent}
    return found


def gold_counts(turns: Sequence[Turn], gold: Sequence[GoldTurn]) -> dict[str, Any]:
    """How many turns and actions are judged and valid, and which actions fail validation.

    Returns:
        `judged_turns`, `valid_turns`; `actions` with `all`, `judged`, `tampered` (those with a
        tampered self) and `failed`; and `failed_by`, for each act and slot of actions that fail
        validation their number, the most frequent first.
    """
    pairs = [
        (action, wanted)
        for turn, of in zip(turns, gold, strict=True)
        for action, wanted in zip(turn.actions, of.actions, strict=True)
    ]
    failed = Counter((action.act, action.slot) for action, wanted in pairs if wanted.failed)
    return {
        "judged_turns": sum(turn.judged for turn in gold),
        "valid_turns": sum(turn.valid for turn in gold),
        "actions": {
            "all": len(pairs),
            "judged": sum(bool(wanted.reference) for _, wanted in pairs),
            "tampered": sum(bool(wanted.tampered) for _, wanted in pairs),
            "failed": sum(wanted.failed for _, wanted in pairs),
        },
        "failed_by": [
            {"act": act, "slot": slot, "actions": count}
            for (act, slot), count in sorted(failed.items(), key=lambda of: (-of[1], of[0]))
        ],
    }


def _turns(units: Units, these: Ints) -> int:
    """How many turns some units have."""
    return int(next(iter(units.by_variant.values()))["turns"][these].sum())


def _numbers(figures: Mapping[str, Floats]) -> dict[str, float | None]:
    """Figures as JSON has them: None for what is undefined."""
    return {name: None if np.isnan(of) else float(of) for name, of in figures.items()}
