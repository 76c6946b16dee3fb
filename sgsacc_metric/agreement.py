"""How far people agree with each other, and with a model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdx_metric.bootstrap import bootstrap
from sgdx_metric.columns import Floats, safe_divide
from sgdx_metric.errors import ScoreError


def agreement(
    items: Sequence[str], people: Sequence[Sequence[str]], model: Sequence[str] | None = None
) -> dict[str, Any]:
    """How far people [people, items] agree on items, and a model with most of them."""
    if len(people) < 2 or not items:
        raise ScoreError(
            f"found {len(items)} items and {len(people)} people, expected one and two at least"
        )
    labels = sorted({label for person in (*people, model or ()) for label in person})
    number_of = {label: i for i, label in enumerate(labels)}
    said = np.array([[number_of[label] for label in person] for person in people])
    counts = np.stack([(said == i).sum(axis=0) for i in range(len(labels))], axis=-1)
    is_decided = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    columns = [is_decided, *kappa_terms(counts).T]
    if model is not None:
        verdicts = np.array([number_of[label] for label in model])
        columns.insert(0, is_decided & (counts.argmax(axis=1) == verdicts))
    dialogues = [item.partition("/")[0] for item in items]
    _, dialogue = np.unique(dialogues, return_inverse=True)
    sums = np.stack([np.bincount(dialogue, column) for column in columns], axis=-1)

    def figures(totals: Floats) -> dict[str, Floats]:
        if model is None:
            return {"kappa": fleiss_kappa(totals[..., 1:])}
        agreed = safe_divide(totals[..., 0], totals[..., 1])
        return {"agreement": agreed, "kappa": fleiss_kappa(totals[..., 2:])}

    return {
        "items": len(items),
        "people": len(people),
        "undecided": int((~is_decided).sum()),
        **{
            name: None if np.isnan(value) else float(value)
            for name, value in figures(sums.sum(axis=0)).items()
        },
        "confidence": bootstrap(lambda weights: figures(weights @ sums), len(sums)),
    }


def kappa_terms(counts: Floats) -> Floats:
    """What Fleiss' kappa is made of, of how many people put a subject into each category.

    From counts [subjects, categories], as many people for every subject, the share of pairs of
    people who agree, the share of people for each category, and 1 [subjects, 1 + categories + 1].
    """
    counts = np.asarray(counts, dtype=np.float64)
    people = counts.sum(axis=1, keepdims=True)
    agreeing = (counts * (counts - 1)).sum(axis=1, keepdims=True) / (people * (people - 1))
    return np.hstack([agreeing, counts / people, np.ones_like(people)])


def fleiss_kappa(sums: Floats) -> Floats:
    """Fleiss' kappa [...] of sums of `kappa_terms` over subjects [..., 1 + categories + 1].

    It says how far people agree beyond chance: 1 where they always do, NaN where all answers are
    one category. Source: Fleiss 1971, "Measuring nominal scale agreement among many raters",
    Psychological Bulletin 76(5), 378-382.
    """
    means = safe_divide(sums, sums[..., -1:])
    expected = (means[..., 1:-1] ** 2).sum(axis=-1)
    is_open = expected < 1 - 1e-12
    return np.where(
        is_open, (means[..., 0] - expected) / np.where(is_open, 1 - expected, 1.0), np.nan
    )
