"""How figures are written on the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sgdx_eval.terminal import print_table
from sgdx_eval.turns.terminal import coverage_lines, figure_title, format_figure


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("bleu_orig", 12.345, "12.35"),
        ("ser_orig", 0.0004, "0.04"),
        ("changed", 1.0, "100.00"),
        ("sgsacc_orig", None, "-"),
    ],
)
def test_figures(key: str, value: float | None, expected: str) -> None:
    assert format_figure(key, value) == expected


def test_titles() -> None:
    keys = ("bleu_v1-5", "sgsacc_validated_orig", "ss_ser", "ss_bleu(v1..v5+mine)", "flips_ser")
    assert [figure_title(key) for key in keys] == [
        "BLEU v1-5",
        "SGSAcc validated orig",
        "SS_SER",
        "SS_BLEU(v1..v5+mine)",
        "flips_ser",
    ]


def test_coverage() -> None:
    counts = {
        "turns": {"all": 9},
        "judged_turns": 7,
        "valid_turns": 5,
        "actions": {"all": 20, "judged": 15},
        "pairs": {"sent": 30, "asked": 40},
    }
    shares = {"ser_coverage": 0.636, "coverage": 7 / 9, "validated": 5 / 9}
    shares["validated_without_offers"] = 0.625
    scores = {"variants": {"v1": {"#ALL_SERVICES": shares}}, "counts": counts}
    assert coverage_lines(scores) == [
        "ser_coverage 63.6 %: turns with a slot that SER looks at (the paper: 66).",
        "coverage 77.8 %: judged turns, 7 of 9 (15 of 20 actions).",
        "validated 55.6 %: valid turns, 5 of 9 (the paper: 97.0).",
        "validated_without_offers 62.5 %: of turns that do more than offer an intent.",
        "30 pairs were judged for 40 answers.",
    ]
    scores["counts"] = {"turns": {"all": 9}}
    assert len(coverage_lines(scores)) == 1


def test_a_table_obeys_no_names() -> None:
    """Control characters are escaped, markup is shown, and figures are never folded."""
    output = io.StringIO()
    rows = [["[red]a\x1b[31m", "12345678.90"]]
    print_table("Title", ["name", "a long header"], rows, Console(file=output, width=24))
    printed = output.getvalue()
    assert "\x1b" not in printed and "\\x1b" in printed
    assert "[red]a" in printed and "12345678.90" in printed
    assert [line.split() for line in printed.splitlines()[1:4]] == [
        ["a"],
        ["long"],
        ["name", "header"],
    ]
