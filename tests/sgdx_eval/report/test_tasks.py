"""Pages of generators, of tests of entailment, of calls and of anybody's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baselines.copies import copy_system, generate
from sgdx_eval.report.page import build_page, render_html, render_markdown
from sgdx_eval.report.tables import COLUMNS
from sgdx_eval.requested import DEFAULT_CONFIGS, RequestedData
from sgdx_eval.result import read_result, write_result
from sgdx_eval.tables import Cell, Table
from sgdx_metric.__main__ import main as metric
from sgdx_tools.folder import read_project, write_project, write_variant
from sgdx_tools.predictions import predictions_from_rows
from sgdx_tools.scoring import score_files
from sgsacc_metric.__main__ import main as sgsacc

from ...sgdx_tools.conftest import CASES, TOOLS, V1, V2, rows
from .conftest import reported


def by_name(table: Table) -> dict[tuple[str, str], dict[str, Cell]]:
    """The cells by their column, of each row by its first two cells."""
    names = [f"{column.group} {column.name}".strip() for column in table.columns]
    return {(row[0].text, row[1].text): dict(zip(names, row)) for row in table.rows}


# ---- generators


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold and derived responses to some turns of the sample, scored as the commands do it."""
    root = tmp_path_factory.mktemp("generators")
    some = ["--source", "sample", "--dialogues", str(root / "ids4.txt")]
    (root / "ids4.txt").write_text("1_00000 1_00001 1_00002 1_00003")
    for name in ("gold", "derived"):
        data = RequestedData("sample", "test", {}, root / "ids4.txt")
        generate(copy_system(name), data, DEFAULT_CONFIGS, root / name)
        words = ["score", *some, "--predictions", str(root / name), "--output"]
        assert sgsacc([*words, str(root / f"{name}.json"), "--nli", "lexical"]) == 0
    assert sgsacc([*words, str(root / "derived-plain.json")]) == 0
    (root / "ids.txt").write_text("1_00000\n1_00001\n")
    words = ["validate", "--source", "sample", "--nli", "lexical", "--evaluators", "original"]
    words += ["--dialogues", str(root / "ids.txt"), "--json", str(root / "table2.json")]
    assert sgsacc(words) == 0
    return root


def test_the_figures_of_generators_are_those_of_scores_json(generators: Path) -> None:
    page = build_page([generators / "gold.json", generators / "derived.json"], "command")
    (part,) = page["parts"]
    assert "which is no model of entailment" in part["caveats"][-1]
    main, further, *_ = part["tables"]
    cells = by_name(main)
    gold = cells["copy of gold", "BLEU"], cells["copy of gold", "SER"]
    assert (gold[0]["orig"].text, gold[1]["other words"].text) == ("100.0", "0.00")
    result = read_result(generators / "derived.json").result
    for group in ("all", "unseen"):
        bleu, worst = (result.figure(name, group) for name in ("bleu_v1-5", "sgsacc_worst"))
        assert bleu and worst and bleu.value is not None and bleu.interval
        end = "" if group == "all" else f", {group}"
        found = cells["copy of derived", f"BLEU{end}"]
        assert found["turns"].text == str(bleu.items)
        low, high = bleu.interval
        assert found["other words"] == Cell(f"{bleu.value:.1f}", f"{low:.1f} to {high:.1f}")
        found = cells["copy of derived", f"SGSAcc{end}"]
        assert found["worst"].text == f"{100 * (worst.value or 0):.1f}"
    others = {row[0].text: [cell.text for cell in row] for row in further.rows}
    assert others["changed"][5] == f"{100 * (result['changed_v1-5'] or 0):.1f}"
    tables = {table.title.partition(":")[0]: table for table in part["tables"]}
    counts = result.counts
    first, failed = counts["failed_by"][0], tables["What fails validation"]
    expected = [first["act"], first["slot"] or "–", str(first["actions"])]
    assert [cell.text for cell in failed.rows[0]] == expected
    assert f"of {counts['turns']} turns {counts['valid_turns']}" in failed.note.lower()


def test_one_page_of_trackers_and_generators(
    runs: dict[str, Path], generators: Path, tmp_path: Path
) -> None:
    """Each kind has a part of its own, with its own marks, signatures and published figures."""
    paths = (runs["tiny"], generators / "derived.json", generators / "table2.json")
    assert reported(*paths, "--output", tmp_path / "out") == 0
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<title>Dialogue state trackers and response generators under" in page
    places = [page.index(title, page.index("<main")) for title in (
        ">Trackers: the small sample corpus, not SGD; only 273 frames</h2>",
        ">Generators: ",
        ">Models of entailment, tested on gold responses</h2>",
        ">What the figures mean</h2>",
    )]  # fmt: skip
    assert places == sorted(places)
    tracking, generation, entailment, published = (
        page[a:b] for a, b in zip(places, [*places[1:], len(page)], strict=True)
    )
    assert "sgdx_metric|" in tracking and "sgsacc_metric|" not in tracking
    assert "sgsacc_metric|" in generation and "sgdx_metric|" not in generation
    assert "SGSAcc by a comparison of words" in generation
    assert "a subset of 2 dialogues" in entailment and "96.30" in entailment
    assert "sgsacc_metric|" in entailment
    assert "SPLAT Large" in published and "PT-T5" in published
    assert (tmp_path / "out" / "figures" / "turns_by_variant.png").is_file()


def test_generators_that_do_not_compare(generators: Path) -> None:
    paths = [generators / "gold.json", generators / "derived-plain.json"]
    made = build_page(paths, "command")
    titles = [part["title"].partition(":")[0] for part in made["parts"]]
    assert titles == ["Generators, group 1", "Generators, group 2"] and made["warning"]
    assert made["systems"] == "2 generators"
    for part, measure in zip(made["parts"], ("SGSAcc is 67.9 %", "SER is 0.00 %"), strict=True):
        assert part["verdict"] is not None and measure in part["verdict"].sentences[0].text
    for text in (render_html(made), render_markdown(made)):
        assert "Not all of these runs can be compared" in text and "SPLAT" not in text


# ---- calls


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a case that v1 costs, and a second run under the original that differs."""
    write_project(tmp_path / "api", TOOLS, CASES)
    for variant in (V1, V2):
        write_variant(tmp_path / "api" / "variants" / f"{variant.name}.json", variant)
    wrong = [{"name": "reserve", "arguments": {"guests": "<b>3</b>"}}]
    again = rows([("v1", "b", wrong), ("original", "a", [])])
    predictions = [*rows([("v1", "b", wrong)]), *({**row, "repeat": 2} for row in again)]
    (tmp_path / "run").mkdir()
    tools = read_project(tmp_path / "api")
    scored = score_files(tools, predictions_from_rows(predictions, tools))
    write_result(scored.result, scored.items, tmp_path / "run" / "scores.json")
    return tmp_path / "run"


def test_own_tools_have_their_cost_and_the_words(run: Path) -> None:
    page, result = build_page([run], "command"), read_result(run).result
    (part,) = page["parts"]
    main, _, by_variant, *_ = part["tables"]
    cells = by_name(main)["run", "all"]
    for of, column in COLUMNS.items():
        figure = result.main("right", of)
        assert figure and figure.value is not None and figure.interval
        assert cells[column].text.lstrip("+") == f"{100 * figure.value:.1f}"
        assert cells[column].detail.startswith(f"{100 * figure.interval[0]:.1f}")
    assert [cell.text for cell in by_variant.rows[1][1:4]] == ["v1", "75.0", "-12.5"]
    text = render_markdown(page)
    assert "eworded by model:m+unknown" in text and "sgdx_tools|variants:original+v1@" in text
    assert part["verdict"] is not None
    lead, cost, lowest, *_ = part["verdict"].sentences
    assert "right is 87.5 %" in lead.text
    assert "No loss" in cost.text and "87.5 % under the original" in cost.text
    assert "no variant" in lowest.text
    assert "No words stand out" in part["verdict"].costly_title  # one case is not enough


def test_cases_that_expect_no_call_are_read_compared_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no case expects a call, the cases are judged by whether none is made."""
    api = tmp_path / "api"
    write_project(api, TOOLS, [case for case in CASES if case.id == "d"])
    write_variant(api / "variants" / "v1.json", V1)
    called = [{"name": "ping", "arguments": {}}]
    for name, made in (("right", []), ("wrong", called)):
        predictions = [row for row in rows([("v1", "d", made)]) if row["id"] == "d"]
        tools = read_project(api)
        some = [row for row in predictions if row["variant"] != "v2"]
        scored = score_files(tools, predictions_from_rows(some, tools))
        write_result(scored.result, scored.items, tmp_path / f"{name}.json")
    paths = [str(tmp_path / f"{name}.json") for name in ("right", "wrong")]
    assert metric(["compare", *paths, "--json", str(tmp_path / "compared.json")]) == 0
    assert "oracle" not in capsys.readouterr().out  # whose variants are anybody's
    compared = json.loads((tmp_path / "compared.json").read_text())["figures"]
    of_v1 = [f for f in compared if f["metric"] == "no_call" and f["variants"] == ["v1"]]
    assert of_v1[0]["value"] == -1
    (part,) = build_page([tmp_path / "wrong.json"], "command")["parts"]
    assert part["verdict"] is not None
    assert part["verdict"].sentences[0].text == "wrong: right is 0.0 % under other words"
