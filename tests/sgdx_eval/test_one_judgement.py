"""What is said of a difference is the same at every door: sentence, table, page, card, verdict."""

from __future__ import annotations

import re

import pytest

from baselines.model_card import _Scores
from sgdx_eval import show
from sgdx_eval.compare import compare
from sgdx_eval.report.runs import group_runs, read_run
from sgdx_eval.report.tables import variant_table
from sgdx_eval.report.verdict import verdict
from sgdx_eval.result import read_result
from sgdx_eval.show import comparison_tables, difference_line, main_metric, result_line
from sgdx_eval.tables import table, to_html, to_latex, to_markdown
from sgdx_metric.statistics import judged
from sgdx_tools.verdict import End, judge_loss

from ..conftest import ROOT

RESULTS = ROOT / "results"
# What sentences say of each judgement.
SAID = {
    "loss": r"falls from|rises from (?=.*lack)|costs it|would fail",
    "gain": r"rises from|gains it",
    "not shown": r"not shown|stays at|No loss by rewording is shown",
}


def words_of(text: str) -> set[str]:
    """The judgements that a text has a sentence of."""
    return {word for word, pattern in SAID.items() if re.search(pattern, text)}


def row_of(table: str, name: str) -> str:
    """A row of Markdown by its first cell."""
    (row,) = (row for row in table.splitlines() if row.startswith(f"| {name} |"))
    return row


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("onepass-minilm_all", "loss"),
        ("smollm2-135m", "not shown"),
        ("generation-gold", "not shown"),
        ("calls/1.5b-free", "not shown"),
        ("tool-search/sgd.json", "loss"),
    ],
)
def test_every_door_says_the_same_of_other_words(run: str, expected: str) -> None:
    path = RESULTS / run
    result = read_result(path).result
    metric = main_metric(result)
    drop = result.main(metric.name, "drop")
    assert drop and judged(drop.low, drop.high, metric.higher_is_better) == expected
    line = result_line(result)  # as `score`, `tools score`, `search` and the Space print it
    assert words_of(line) == {expected}, line
    (group,) = group_runs([read_run(path)])
    said = verdict(group, {})
    assert said and expected in words_of(" ".join(cell.text for cell in said.sentences))
    if result.task == "state":
        card = _Scores(path / "scores.json").section()
        assert line in card and words_of(card.splitlines()[2]) == {expected}
    if result.task in ("tools", "search"):
        end = judge_loss(metric.name, result, 0.0).end
        assert (end is End.FAILED) == (expected == "loss")
    shown = show.variant_table(result, metric)
    assert shown in show.result_tables(result)
    text, html, latex = to_markdown(shown), to_html(shown), to_latex(shown)
    page = to_markdown(next(variant_table(group)))
    for name, figure in result.by_variant(metric.name, "drop").items():
        word = judged(figure.low, figure.high, metric.higher_is_better)
        assert f"| {word} |" in row_of(text, name)
        assert re.search(rf"<t[hd][^>]*>{name}<.*?<td[^>]*>{word}<", html, re.S)
        assert re.search(rf"^{name} & .* & {word} \\\\$", latex, re.M)
        (row,) = (row for row in page.splitlines() if f"| {name} |" in row)
        assert row.split("|")[5].strip() == word  # of the metric that decides


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("lexical-600", "sgp_dst-minilm_quarter-600"),
        ("sgp_dst-minilm_quarter-600", "lexical-600"),
        ("lexical-600", "lexical-600"),
    ],
)
def test_every_door_says_the_same_of_two_systems(first: str, second: str) -> None:
    compared = compare([RESULTS / first], [RESULTS / second])
    figure = compared.figure("jga_v1-5")
    assert figure and figure.first is not None and figure.second is not None
    assert figure.value == pytest.approx(figure.second - figure.first)
    word, line = judged(figure.low, figure.high), difference_line(compared)
    assert ("no difference is shown" in line) == (word == "not shown")
    if word != "not shown":
        better, other = (second, first) if word == "gain" else (first, second)
        assert f"{better} is better than {other}" in line
        (group,) = group_runs([read_run(RESULTS / name) for name in (first, second)])
        said = verdict(group, {})
        assert said and "better than the next" in said.sentences[1].text
    head = comparison_tables(compared, False)[0]
    assert row_of(to_markdown(head), "JGA_v1-5").endswith(f"| {word} |")


def test_a_table_in_latex_is_text_of_its_cells() -> None:
    """Whatever LaTeX obeys is printed as it is, in one row a line."""
    of = table("A\ntitle", ["name", "a_b"], [["x & y\n% {~^\\<$#", "–"]])
    assert to_latex(of).splitlines() == [
        "% A title",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"name & a\_b \\",
        r"\midrule",
        r"x \& y \% \{\textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}\$\# & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
