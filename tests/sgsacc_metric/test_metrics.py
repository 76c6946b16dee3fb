"""The metrics of one variant, from counts that are written out."""

from __future__ import annotations

import numpy as np
import pytest

from sgdx_metric.columns import Floats
from sgsacc_metric.bleu import ORDERS
from sgsacc_metric.figures import compute_metrics
from sgsacc_metric.scoring import BLEU_COLUMNS

# 5 of 6 tokens match, 3 of 5 pairs, 2 of 4 threes, 1 of 3 fours; the reference has 8 tokens.
BLEU_COUNTS = (5, 3, 2, 1, 6, 5, 4, 3, 6, 8)


def sums(**counts: float) -> dict[str, Floats]:
    columns = dict(zip(BLEU_COLUMNS, BLEU_COUNTS, strict=True))
    return {name: np.array(float(count)) for name, count in (columns | counts).items()}


def test_bleu_by_hand() -> None:
    mean = (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / ORDERS)
    expected = 100 * mean * np.exp(1 - 8 / 6)
    assert compute_metrics(sums())["bleu"] == pytest.approx(expected)
    assert set(compute_metrics(sums())) == {"bleu"}


def test_ratios_of_counts() -> None:
    metrics = compute_metrics(
        sums(
            turns=10, wrong=2, checkable=4, values=5, missing=3, wrong_extended=4,
            faithful=6, faithful_alone=5, judged=8, faithful_judged=4, both=4, agree=3,
            valid=0, faithful_valid=0, ser_slots=7, without_offers=5, faithful_without_offers=3,
            valid_without_offers=1,
        )
    )  # fmt: skip
    del metrics["bleu"]
    assert np.isnan(metrics.pop("sgsacc_validated"))
    assert metrics == {
        "ser": 0.2,
        "ser_checkable": 0.5,
        "slot_error_rate": 0.6,
        "ser_extended": 0.4,
        "sgsacc": 0.6,
        "sgsacc_judged": 0.5,
        "sgsacc_alone": 0.5,
        "sgsacc_without_offers": 0.6,
        "coverage": 0.8,
        "validated": 0.0,
        "validated_without_offers": 0.2,
        "ser_coverage": 0.7,
        "ser_agreement": 0.75,
    }
