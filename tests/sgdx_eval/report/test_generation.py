"""Runs of generators: read, told from trackers, and put into tables of their own."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from baselines.copies.systems import copy_system, generate
from baselines.data.requested import DEFAULT_CONFIGS, RequestedData
from sgdx_dataset import SgdxError
from sgdx_eval.files import write_scores
from sgdx_eval.report import __main__ as report
from sgdx_eval.report.generation import tables
from sgdx_eval.report.generation.runs import GeneratorRun, Validation
from sgdx_eval.report.generation.sections import generator_sections
from sgdx_eval.report.inputs import read_input, read_inputs
from sgdx_eval.report.page import render_html, render_markdown
from sgdx_eval.report.sections import build_report
from sgdx_eval.report.systems import SystemGroup, group_runs
from sgdx_eval.tables import Cell
from sgdx_eval.turns.predictions import read_predictions
from sgdx_eval.turns.references import open_references
from sgdx_eval.turns.score import score_predictions
from sgdx_metric.rows import ScoreError
from sgsacc_metric.__main__ import main as sgsacc
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import Nli
from sgsacc_metric.report import GROUP_KEYS as GROUPS

from ...baselines.conftest import command


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold and derived responses to some turns of the sample, scored as the commands do it."""
    root = tmp_path_factory.mktemp("generators")
    references = open_references("sample", None, "test", {})
    every = references.turns("original")
    turns = [one for one in every if one.dialogue_id <= "1_00003"]

    def run(name: str, nli: Nli | None, output: str) -> None:
        data = RequestedData("sample", "test")
        paths = generate(copy_system(name), data, DEFAULT_CONFIGS, root / name)
        predictions = {path.stem: read_predictions(path, "test", path.stem) for path in paths}
        system = score_predictions(references, every, turns, predictions, nli)
        write_scores(system.scores_json(), root / output)

    run("gold", LexicalNli(), "gold.json")
    run("derived", LexicalNli(), "derived.json")
    run("derived", None, "plain.json")
    ids = root / "ids.txt"
    ids.write_text("1_00000\n1_00001\n")
    words = ["validate", "--source", "sample", "--nli", "lexical", "--evaluators", "original"]
    table = str(root / "table2.json")
    assert sgsacc([*words, "--dialogues", str(ids), "--json", table]) == 0
    return root


def only_group(*paths: Path) -> SystemGroup[GeneratorRun]:
    runs = [read_input(path) for path in paths]
    (group,) = group_runs([run for run in runs if isinstance(run, GeneratorRun)])
    return group


def test_the_figures_are_those_of_scores_json(generators: Path) -> None:
    group = only_group(generators / "gold.json", generators / "derived.json")
    assert [system.name for system in group.systems] == ["gold", "derived"]
    assert "SGSAcc by a comparison of words, which is no model of entailment" in group.caveats
    table = tables.faithfulness(group)
    assert [(column.group, column.name) for column in table.columns[3:]] == [
        ("BLEU", "orig"), ("BLEU", "v1-5"), ("SER", "orig"), ("SER", "v1-5"), ("SER", "worst"),
        ("SER", "flips"), ("SGSAcc", "orig"), ("SGSAcc", "v1-5"), ("SGSAcc", "worst"),
        ("SGSAcc", "flips"), ("SGSAcc", "SS"),
        ("changes", "text"), ("changes", "verdict"),
    ]  # fmt: skip
    gold, derived = (
        next(row for row in table.rows if row[0].text == name and row[1].text == "all")
        for name in ("gold", "derived")
    )
    assert [cell.text for cell in gold[3:7]] == ["100.0", "100.0", "0.00", "0.00"]
    sgdx = json.loads((generators / "derived.json").read_text())["sgdx"]
    low, high = sgdx["confidence"]["bleu_v1-5"]
    assert derived[4] == Cell(f"{sgdx['bleu_v1-5']:.1f}", f"{low:.1f} to {high:.1f}")
    assert derived[8].text == f"{100 * sgdx['ser_flips']:.2f}"
    assert derived[10].text == f"{100 * sgdx['sgsacc_v1-5']:.1f}"
    assert derived[11].text == f"{100 * sgdx['sgsacc_worst']:.1f}"
    assert derived[12].text == f"{100 * sgdx['sgsacc_flips']:.1f}"
    assert derived[14].text == f"{100 * sgdx['changed']:.1f}"
    of_service = tables.by_service(group).rows
    assert sum(int(row[1].text) for row in of_service) == sgdx["turns"]


def test_validated_figures_and_what_fails(generators: Path) -> None:
    group = only_group(generators / "derived.json")
    counts = json.loads((generators / "derived.json").read_text())["counts"]
    table = tables.validated(group)
    assert table is not None and table.rows[-1][1].text == "all, without the context"
    assert f"{counts['valid_turns']} of {counts['turns']['all']} turns are" in table.note
    failing = tables.failing(group)
    assert failing is not None
    first = counts["failed_by"][0]
    assert [cell.text for cell in failing.rows[0]] == [
        first["act"], first["slot"] or "–", str(first["actions"])
    ]  # fmt: skip


def test_without_a_model_of_entailment_there_is_no_sgsacc(generators: Path) -> None:
    group = only_group(generators / "plain.json")
    assert {column.group for column in tables.faithfulness(group).columns} == {
        "", "BLEU", "SER", "changes"
    }  # fmt: skip
    assert "no model of entailment was asked" in tables.faithfulness(group).note
    assert tables.validated(group) is None and tables.failing(group) is None


def test_seeds_become_one_row(generators: Path, tmp_path: Path) -> None:
    """What a run says of itself makes two seeds one system, as with trackers."""
    values = []
    for seed in (0, 1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        scores = json.loads((generators / "derived.json").read_text())
        paired, sgdx = scores["paired"], scores["sgdx"]
        turns = paired["turns"]["original"]
        paired["wrong"]["original"] = [0.01 * (seed + 1) * number for number in turns]
        groups = [sgdx[name] for name in GROUPS if "ser_orig" in sgdx.get(name, ())]
        for group_scores in (sgdx, *groups, *sgdx["by_service"].values()):
            group_scores["ser_orig"] = 0.01 * (seed + 1)
        values.append(1.0 + seed)
        facts = {"tracker": "t2g2", "input": "derived", "seed": seed}
        scores["predictions"] = {name: {"system": facts} for name in scores["variants"]}
        (folder / "scores.json").write_text(json.dumps(scores))
    group = only_group(tmp_path / "0", tmp_path / "1" / "scores.json")
    (system,) = group.systems
    assert system.label == "t2g2 [2 seeds]"
    row = tables.faithfulness(group).rows[0]
    assert row[0] == Cell("t2g2", "input: derived; 2 seeds")
    assert row[5] == Cell("1.50", f"± {stdev(values):.2f}")


def test_published_figures_name_their_scale_of_bleu() -> None:
    rows = {row[0].text: [cell.text for cell in row] for row in tables.published().rows}
    assert rows["FT-T5 (t5-small)"][1:6] == [
        "32.3", "not stated", "0.04 / 0.05 / 0.00", "97.3 / 98.6 / 88.7", "96.5 / 97.8 / 87.7"
    ]  # fmt: skip
    assert rows["T2G2-T5"][2] == "most likely tok:none"
    assert rows["mT5 XL (GEM)"][1:3] == ["33.01", "tok:13a|case:lc"]
    assert rows["CVAE"][6] == "SG-NLG, tested on SGD dev"


def test_one_report_of_trackers_and_generators(
    runs: dict[str, Path], generators: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind has a part of its own, with its own marks, signatures and published figures."""
    paths = (runs["tiny"], generators / "derived.json", generators / "table2.json")
    assert command(monkeypatch, report, *paths, "--output", tmp_path / "out") == 0
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
    assert "SPLAT Large" in published and "PT-T5" in published
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| BLEU: orig | BLEU: v1-5 | SER: orig |" in text
    assert (tmp_path / "out" / "figures" / "faithfulness_by_variant.png").is_file()


def test_of_many_systems_only_the_rows_of_all_turns_stand_open(generators: Path) -> None:
    group = only_group(generators / "gold.json", generators / "derived.json")
    faithfulness = next(iter(generator_sections(group, is_folded=True)))
    opened, folded = faithfulness.tables
    assert [row[1].text for row in opened.rows] == ["all", "all"] and not opened.folded
    assert len(folded.rows) > 4 and folded.folded


def test_generators_alone(generators: Path) -> None:
    inputs = read_inputs([generators / "gold.json", generators / "plain.json"], None, None)
    made = build_report(inputs, "command")
    titles = [part.title.partition(":")[0] for part in made.parts]
    assert titles == ["Generators, group 1", "Generators, group 2"] and made.warning
    assert made.lead.startswith("2 generators: ")
    for part in made.parts:
        assert part.verdict is not None and part.group is not None
        scores = part.group.first.scores.sgdx
        figure = f"{100 * scores.ser_v1_5:.2f} % SER"
        if part.group.first.judged:
            figure = f"{100 * scores.sgsacc_v1_5:.1f} % SGSAcc"
        assert part.verdict.sentences[0].text.endswith(f": {figure} under other words")
    for text in (render_html(made), render_markdown(made)):
        assert "Not all of these runs can be compared" in text and "SPLAT" not in text


def test_what_cannot_be_read(generators: Path, tmp_path: Path) -> None:
    assert isinstance(read_input(generators / "table2.json"), Validation)
    scores = json.loads((generators / "gold.json").read_text())
    file = tmp_path / "scores.json"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"signature": "sgsacc_metric|x"}, "signature is 'sgsacc_metric|x'"),
        ({"signature": "other|x:1"}, "signature is 'other|x:1'"),
        ({"sgdx": {}}, "missing required field"),
        ({"counts": {"turns": {"all": 0}}}, "found no turns"),
        ({"variants": {"v1": {"#ALL_SERVICES": {"bleu": "high"}}}}, "got `str`"),
    ]
    for change, message in cases:
        file.write_text(json.dumps(scores | change))
        with pytest.raises((ScoreError, SgdxError), match=message.replace("|", r"\|")) as error:
            read_input(tmp_path)
        assert str(tmp_path) in str(error.value)
