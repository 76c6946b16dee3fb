"""The leaderboard is made of the scores in results and of the figures that papers give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.leaderboard import main, render
from sgdx_eval.published import PublishedRow, read_published
from sgdx_metric import ScoreError

from ..conftest import ROOT

STATES = (
    "sgdx_metric|variants:original+v1+v2+v3+v4+v5|split:test|release:partial:2921/4201|frames:900|"
    "match:fuzzy-token-sort|joint:frame|zero-mean:0"
)
TURNS = (
    "sgsacc_metric|generator:original+v1+v2+v3+v4+v5|evaluator:original|split:test|"
    "release:e852981a|turns:50|ser:t2g2|nli:lexical (no model)"
)
FIGURES = {
    "jga_orig": 0.5,
    "jga_v1-5": 0.45,
    "jga_worst": 0.25,
    "flips": 0.3,
    "ss_jga": 0.6,
    "relative_difference": -0.1,
    "confidence": {"jga_orig": [0.48, 0.521], "flips": None},
    "seen": {"jga_orig": 0.7},
}


def add(
    folder: Path, signature: str = STATES, run: Any = None, system: Any = None, **figures: Any
) -> None:
    """Write the folder of a row, with FIGURES but for those given; reworded is jga_v1-5."""
    folder.mkdir(parents=True)
    if "reworded" in figures:
        figures["jga_v1-5"] = figures.pop("reworded")
    scores = {"signature": signature, "sgdx": FIGURES | figures, "paired": {}}
    if system:
        scores["predictions"] = {"original": {"system": system}}
    (folder / "scores.json").write_text(json.dumps(scores))
    if run:
        (folder / "run.json").write_text(json.dumps(run))


def rows(page: str, heading: str) -> list[str]:
    """The rows of the table under a heading."""
    lines = page.partition(f"### {heading}\n\n")[2].partition("\n\n")[0].splitlines()
    return lines[2:]


def test_the_page_is_made_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails, `python -m sgdx_eval.leaderboard` writes the page."""
    monkeypatch.chdir(ROOT)
    made = render([Path("results"), Path("models")], read_published(), Path("docs"))
    assert (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8") == made


def test_rows_of_trackers(tmp_path: Path) -> None:
    results = tmp_path / "results"
    settings = {"augment": {"schemas": "backtrans", "ratio": 0.2}, "train_dialogues": 1217}
    add(results / "first", run={"record": {"settings": settings}})
    add(results / "better", system={"train": ["original"], "augment": None}, reworded=0.9)
    add(results / "old", run={"evaluation": {}}, reworded=0.2, jga_worst=None)
    of_subset = STATES.replace("|frames:900", "|dialogues:292@b0e1edf2|frames:90")
    add(results / "few", of_subset + "|predictions:made-elsewhere")
    page = render([results], [], tmp_path / "docs")
    assert rows(page, "2,921 of the 4,201 test dialogues") == [
        "| [better](../results/better) | 50.0 (48.0 to 52.1) | 90.0 | 25.0 | 30.0 | 60.0 | -10.0 "
        "| original |  |",
        "| [first](../results/first) | 50.0 (48.0 to 52.1) | 45.0 | 25.0 | 30.0 | 60.0 | -10.0 "
        "| original + backtrans x 0.2, 1,217 dialogues |  |",
        "| [old](../results/old) | 50.0 (48.0 to 52.1) | 20.0 | – | 30.0 | 60.0 | -10.0 | – |  |",
    ]
    assert rows(page, "292 dialogues drawn from 2,921 of the 4,201 test dialogues") == [
        "| [few](../results/few) | 50.0 (48.0 to 52.1) | 45.0 | 25.0 | 30.0 | 60.0 | -10.0 | – |  |"
    ]
    assert page.index("### 2,921 of") < page.index("### 292 dialogues")


def test_an_oracle_is_marked_and_not_the_best(tmp_path: Path) -> None:
    add(tmp_path / "results" / "oracle", f"{STATES}|oracle:yes", reworded=0.9)
    add(tmp_path / "results" / "mine")
    page = render([tmp_path / "results"], [], tmp_path)
    oracle, mine = rows(page, "2,921 of the 4,201 test dialogues")
    assert oracle.startswith("| [oracle](results/oracle) |") and "oracle: trained" in oracle
    assert mine.endswith("| – |  |")
    best = page.split("\n\n")[1]
    assert "`mine`" in best and "45.0" in best and "25.0" in best


def test_rows_of_generators(tmp_path: Path) -> None:
    figures: dict[str, Any] = {"bleu_orig": 25.44, "bleu_v1-5": 25, "ser_orig": 0.01}
    figures |= {"ser_v1-5": 0.02, "changed": 0.5, "confidence": {"bleu_orig": [24, 26.66]}}
    add(tmp_path / "copy", TURNS, **figures)
    page = render([tmp_path], [], tmp_path)
    heading = "The whole test split; SGSAcc by a comparison of words, which is no model"
    assert rows(page, heading) == [
        "| [copy](copy) | 25.4 (24.0 to 26.7) | 25.0 | 1.0 | 2.0 | – | – | 50.0 | – |  |"
    ]


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("split:test", "split:validation", "validation"),
        ("match:fuzzy-token-sort", "match:exact", "exact"),
        ("joint:frame", "joint:turn", "turn"),
        ("+v5", "", "original+v1+v2+v3+v4"),
        ("|frames:900", "|services:Banks_1|frames:900", "Banks_1"),
        ("|frames:900", "|task:calls|frames:900", "calls"),
        ("|frames:900", "", "frames"),
        ("sgdx_metric|", "bleu|", "bleu"),
    ],
)
def test_scores_by_other_rules_are_no_row(old: str, new: str, fact: str, tmp_path: Path) -> None:
    assert old in STATES
    add(tmp_path / "mine", STATES.replace(old, new))
    with pytest.raises((ScoreError, SgdxError)) as error:
        render([tmp_path], [], tmp_path)
    assert str(tmp_path / "mine" / "scores.json") in str(error.value) and fact in str(error.value)


@pytest.mark.parametrize(
    "figures", [{"jga_orig": "high"}, {"flips": [0.1]}, {"confidence": {"flips": [0.1]}}]
)
def test_figures_that_are_none(figures: dict[str, Any], tmp_path: Path) -> None:
    add(tmp_path / "mine", **figures)
    with pytest.raises(SgdxError) as error:
        render([tmp_path], [], tmp_path)
    assert str(tmp_path / "mine" / "scores.json") in str(error.value)


def test_published_figures(tmp_path: Path) -> None:
    published = {(row.system, row.augmentation): row for row in read_published()}
    t5dst = published["T5DST (T5-Base)", ""]
    assert (t5dst.all["jga_orig"], t5dst.all["jga_v1-5"], t5dst.all["ss_jga"]) == (72.6, 64.0, 40.4)
    assert t5dst.unseen is not None and t5dst.unseen["relative_difference"] == -12.0
    assert published["SGP-DST (four BERT-Base)", "back-translation"].all["ss_jga"] == 43.1
    assert published["SPLAT Large (340M)", ""].all["jga_v1-5"] == 82.8
    assert all(row.not_comparable for row in published.values() if row.oracle)

    add(tmp_path / "mine")
    fair = PublishedRow(system="a", source="P", table="T 1", data="SGD", all={"jga_orig": 72.65})
    other = PublishedRow(system="b", source="Q", data="X", all={"ss_jga": 9}, not_comparable="why")
    page = render([tmp_path], [other, fair], tmp_path)
    assert page.index("| a | 72.7 | – | SGD | P, T 1 |  |") < page.index(
        "| b | – | 9.0 | X | Q | why |"
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(tmp_path / "results" / "mine")
    page = tmp_path / "docs" / "board.md"
    assert main([str(tmp_path / "results"), "--output", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert "[mine](../results/mine)" in page.read_text()
    assert main([str(tmp_path / "docs"), "--output", str(page)]) == 2
    assert str(tmp_path / "docs") in capsys.readouterr().err
