"""How scores become the text of cells."""

from __future__ import annotations

import pytest

from sgdx_eval.report.cells import (
    NO_VALUE,
    Cell,
    format_over_runs,
    percent,
    printable,
    signed_points,
)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(None, "–"), (float("nan"), "–"), (0.34932, "34.9"), (-0.0001, "0.0"), (1.0, "100.0")],
)
def test_percent(fraction: float | None, text: str) -> None:
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(float("nan"), "–"), (0.0153, "+1.5"), (-0.0002, "-0.0"), (0.0002, "+0.0"), (-0.0, "+0.0")],
)
def test_a_difference_tells_its_side_of_zero(fraction: float, text: str) -> None:
    assert signed_points(fraction) == text


def test_a_score_of_runs_has_its_interval_or_their_deviation() -> None:
    assert format_over_runs([0.5], (0.4, 0.6)) == ("50.0", "40.0 to 60.0")
    assert format_over_runs([0.5, 0.7]) == ("60.0", "± 14.1")
    assert format_over_runs([0.5, None]) == format_over_runs([]) == Cell(NO_VALUE)
    assert format_over_runs([1.234], text="{:.2f}".format) == Cell("1.23")


def test_what_cannot_be_printed_is_replaced_and_what_is_long_is_cut() -> None:
    assert (
        printable("a\x1b[31m\u202eb") == "a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}b"
    )
    assert printable("abc", 2) == "ab …"
