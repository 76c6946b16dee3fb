"""Runs of generators: their figures, beside those of trackers, and tests of entailment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baselines.copies.systems import copy_system, generate
from sgdx_eval.report.inputs import read_inputs
from sgdx_eval.report.page import render_html, render_markdown
from sgdx_eval.report.runs import Group
from sgdx_eval.report.sections import build_report, comparison, items_table, view_of
from sgdx_eval.requested import DEFAULT_CONFIGS, RequestedData
from sgdx_eval.tables import Cell, Table
from sgsacc_metric.__main__ import main as sgsacc

from .conftest import only_group, reported


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold and derived responses to some turns of the sample, scored as the commands do it."""
    root = tmp_path_factory.mktemp("generators")
    (root / "ids4.txt").write_text("1_00000 1_00001 1_00002 1_00003")
    for name, output, nli in (
        ("gold", "gold.json", ("--nli", "lexical")),
        ("derived", "derived.json", ("--nli", "lexical")),
        ("derived", "plain.json", ()),
    ):
        data = RequestedData("sample", "test")
        generate(copy_system(name), data, DEFAULT_CONFIGS, root / name)
        words = ["--source", "sample", "--dialogues", str(root / "ids4.txt"), *nli]
        words += ["--predictions", str(root / name), "--output", str(root / output)]
        assert sgsacc(["score", *words]) == 0
    ids = root / "ids.txt"
    ids.write_text("1_00000\n1_00001\n")
    words = ["validate", "--source", "sample", "--nli", "lexical", "--evaluators", "original"]
    table = str(root / "table2.json")
    assert sgsacc([*words, "--dialogues", str(ids), "--json", table]) == 0
    return root


def rows(table: Table) -> dict[tuple[str, str], dict[str, Cell]]:
    """The cells by their column, of each row by its first two cells."""
    names = [column.name for column in table.columns]
    return {(row[0].text, row[1].text): dict(zip(names, row)) for row in table.rows}


def compared(group: Group) -> dict[tuple[str, str], dict[str, Cell]]:
    return rows(comparison(group, view_of(group), group.sets))


def test_the_figures_are_those_of_scores_json(generators: Path) -> None:
    group = only_group(generators / "gold.json", generators / "derived.json")
    assert [system.name for system in group.systems] == ["copy of gold", "copy of derived"]
    assert any("which is no model of entailment" in caveat for caveat in group.caveats)
    table = compared(group)
    gold = table["copy of gold", "all"]
    assert [gold[name].text for name in ("BLEU orig", "SER v1-5")] == ["100.0", "0.00"]
    sgdx = json.loads((generators / "derived.json").read_text())["sgdx"]
    for name, key in (("all", None), ("seen", "seen"), ("unseen domains", "unseen_domains")):
        stored = sgdx[key] if key else sgdx
        if not stored["turns"]:
            continue
        cells = table["copy of derived", name]
        low, high = stored["confidence"]["bleu_v1-5"]
        assert cells["turns"].text == str(stored["turns"])
        assert cells["BLEU v1-5"] == Cell(f"{stored['bleu_v1-5']:.1f}", f"{low:.1f} to {high:.1f}")
        assert cells["SER flips"].text == f"{100 * stored['ser_flips']:.2f}"
        for title in ("SGSAcc v1-5", "SGSAcc worst", "SGSAcc flips", "changed"):
            figure = stored[title.lower().replace(" ", "_")]
            assert cells[title].text == f"{100 * figure:.1f}"
    (services,) = items_table(group, view_of(group), "service", group.services)
    assert sum(int(row[1].text) for row in services.rows) == sgdx["turns"]


def test_validated_figures_and_what_fails(generators: Path) -> None:
    scores = json.loads((generators / "derived.json").read_text())
    (part,) = build_report(read_inputs([generators / "derived.json"]), "command").parts
    sections = {section.name: section for section in part.sections}
    counts, sgdx = scores["counts"], scores["sgdx"]
    text = sections["comparison"].text
    assert f"{counts['valid_turns']} of {counts['turns']['all']} turns" in text
    low, high = (100 * end for end in sgdx["confidence"]["sgsacc_validated_v1-5"])
    assert low == high == 100  # which is no interval
    assert rows(sections["comparison"].tables[0])["copy of derived", "all"][
        "SGSAcc validated v1-5"
    ] == Cell("100.0")
    first = counts["failed_by"][0]
    assert [cell.text for cell in sections["validation"].tables[0].rows[0]] == [
        first["act"], first["slot"] or "–", str(first["actions"])
    ]  # fmt: skip
    (by_variant,) = sections["more"].tables
    bleu = scores["variants"]["v5"]["#ALL_SERVICES"]["bleu"]
    assert f"{bleu:.2f}" in [cell.text for cell in by_variant.rows[5]]


def test_one_report_of_trackers_and_generators(
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
        ">Published figures</h2>",
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


def test_of_many_systems_only_the_rows_of_all_turns_stand_open(
    generators: Path, tmp_path: Path
) -> None:
    paths = [generators / "gold.json", generators / "derived.json"]
    for name in "abc":
        scores = json.loads(paths[0].read_text()) | {"predictions": {}}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(scores))
    report = build_report(read_inputs(paths), "command")
    opened, folded, *_ = report.parts[0].sections[0].tables
    assert [row[1].text for row in opened.rows] == ["all"] * 5 and not opened.folded
    apart = {row[1].text for row in folded.rows}
    assert folded.folded and "unseen" in apart and "all" not in apart


def test_generators_alone(generators: Path) -> None:
    made = build_report(read_inputs([generators / "gold.json", generators / "plain.json"]), "x")
    titles = [part.title.partition(":")[0] for part in made.parts]
    assert titles == ["Generators, group 1", "Generators, group 2"] and made.warning
    assert made.lead.startswith("2 generators: ")
    for part, key, measure in zip(made.parts, ("sgsacc_v1-5", "ser_v1-5"), ("SGSAcc", "SER")):
        assert part.verdict is not None and part.group is not None
        figure = 100 * part.group.first.stored["sgdx"][key]
        shown = f"{figure:.1f}" if measure == "SGSAcc" else f"{figure:.2f}"
        assert f": {shown} % {measure} " in part.verdict.sentences[0].text
    for text in (render_html(made), render_markdown(made)):
        assert "Not all of these runs can be compared" in text and "SPLAT" not in text
