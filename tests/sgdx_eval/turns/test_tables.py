"""Rows of tables and lines of the terminal, from scores that are written out."""

from __future__ import annotations

from sgdx_eval.turn_tables import (
    bleu_table,
    coverage_lines,
    published_table,
    validation_table,
)


def test_rows_of_bleu() -> None:
    conventions = {"original": {name: {"bleu": 12.345} for name in ("13a", "13a-lc")}}
    headers, rows = bleu_table(
        {"mine": {"conventions": conventions}, "without": {"conventions": {}}}
    )
    assert headers == [
        "system",
        "tok:13a case:mixed",
        "tok:13a case:lc",
        "tok:intl case:mixed",
        "tok:none case:mixed",
    ]
    assert rows == [["mine", "12.35", "12.35"]]


def test_rows_of_validation() -> None:
    table = {"precision": 0.5, "recall": 1.0, "f1": None, "valid_turns": 2, "turns": 3}
    _, rows = validation_table(
        {"v1": {**table, "published": (0.97, 0.96, 0.965)}, "mine": {**table, "published": None}}
    )
    assert rows == [
        ["v1", "50.00", "100.00", "–", "97.00", "96.00", "96.50", "2/3"],
        ["mine", "50.00", "100.00", "–", "–", "–", "–", "2/3"],
    ]


def test_published_figures_have_their_scale_and_source() -> None:
    headers, rows = published_table()
    by_system = {row[0]: dict(zip(headers, row, strict=True)) for row in rows}
    assert by_system["FT-T5 (t5-small)"]["SER all / seen / unseen"] == "0.04 / 0.05 / 0.00"
    assert by_system["PT+FT, reranked"]["SGSAcc validated"] == "98.9 / 99.5 / 97.7"
    assert by_system["T5 small (GEM)"]["BLEU"] == "31.72"
    # The paper does not say that what it cites was tested on its turns.
    assert by_system["GPT2"]["data"] == by_system["T2G2-T5"]["data"] == "not stated"
    assert by_system["FT-T5 (t5-small)"]["data"] == "10,000 sampled test turns"
    assert by_system["GPT2"]["SER all / seen / unseen"] == "0.90"
    assert len(rows) == 20 and all(row[2] and row[6] and row[7] for row in rows)


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
