"""What is said of a difference is the same in a sentence, in a table and of two systems."""

from __future__ import annotations

import pytest

from sgdx_eval.compare import compare
from sgdx_eval.result import read_result
from sgdx_eval.show import comparison_tables, difference_line, result_line, result_tables
from sgdx_eval.tables import to_markdown
from sgdx_metric.statistics import judged

from ..conftest import ROOT

RESULTS = ROOT / "results"


@pytest.mark.parametrize(
    ("run", "expected"), [("onepass-minilm_all", "loss"), ("smollm2-135m", "not shown")]
)
def test_a_sentence_and_a_table_say_the_same_of_other_words(run: str, expected: str) -> None:
    result = read_result(RESULTS / run).result
    drop = result.main("jga", "drop")
    assert drop and judged(drop.low, drop.high) == expected
    line = result_line(result)
    assert ("not shown" in line, "falls" in line) == (expected == "not shown", expected == "loss")
    text = "\n".join(map(to_markdown, result_tables(result)))
    for name, figure in result.by_variant("jga", "drop").items():
        word = judged(figure.low, figure.high)
        (row,) = (row for row in text.splitlines() if row.startswith(f"| {name} |"))
        assert row.endswith(f"| {word} |")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("lexical-600", "sgp_dst-minilm_quarter-600"),
        ("sgp_dst-minilm_quarter-600", "lexical-600"),
        ("lexical-600", "lexical-600"),
    ],
)
def test_a_sentence_and_a_table_say_the_same_of_two_systems(first: str, second: str) -> None:
    compared = compare([RESULTS / first], [RESULTS / second])
    (figure,) = (f for f in compared.figures if f is compared.figure("jga_v1-5"))
    word, line = judged(figure.low, figure.high), difference_line(compared)
    assert ("no difference is shown" in line) == (word == "not shown")
    if word != "not shown":
        better = second if word == "gain" else first
        assert f"{better} is better than" in line
    head = comparison_tables(compared, False)[0]
    (row,) = (row for row in to_markdown(head).splitlines() if row.startswith("| JGA_v1-5 |"))
    assert row.endswith(f"| {word} |")
