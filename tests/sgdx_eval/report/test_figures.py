"""The verdict and the tables hold the figures of scores.json, means over seeds, and differences."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sgdx_cli import main
from sgdx_eval.report import tables
from sgdx_eval.report import verdict as verdicts
from sgdx_eval.report.runs import Group, System, read_run, read_runs
from sgdx_eval.report.tables import change_cell, shown
from sgdx_eval.report.verdict import verdict
from sgdx_eval.tables import NO_VALUE, Cell, Table
from sgdx_metric.statistics import Figure

from .conftest import only_group, scores_of


def texts(table: Table) -> list[str]:
    """The rows of a table, a line each."""
    return [" | ".join(" ".join(filter(None, cell[:2])) for cell in row) for row in table.rows]


def numbers(cell: Cell) -> list[str]:
    """The numbers of a sentence and of its interval."""
    return re.findall(r"[+-]?\d+\.\d+", f"{cell.text} ({cell.detail})")


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lexical tracker on the sample."""
    folder = tmp_path_factory.mktemp("lexical") / "lexical"
    words = ["evaluate", "--tracker", "lexical", "--source", "sample", "--quiet"]
    assert main([*words, "--output", str(folder)]) == 0
    return folder


def test_figures_of_the_lexical_tracker(lexical: Path) -> None:
    group = only_group(lexical)
    main_table, further = tables.comparison(group)
    assert texts(main_table) == [
        "lexical with system acts | all | 273 | 31.6 20.4 to 43.7 | 25.3 17.2 to 34.1 | "
        "-6.2 -14.4 to +0.4 | 19.1 9.1 to 30.9 | 18.8 11.2 to 27.1 | 17.6 8.5 to 28.6",
        "lexical with system acts | seen | 123 | 33.5 17.5 to 50.4 | 22.4 10.1 to 35.0 | "
        "-11.1 -25.3 to -0.8 | 20.7 4.8 to 39.4 | 15.4 4.5 to 27.2 | 22.0 7.4 to 40.0",
        "lexical with system acts | unseen | 150 | 30.0 16.6 to 44.4 | 27.7 17.7 to 38.2 | "
        "-2.2 -10.1 to +5.7 | 17.8 5.5 to 32.1 | 21.6 11.9 to 31.4 | 14.0 3.8 to 26.9",
    ]
    assert texts(further)[0] == "Diff_rel | -19.7 -37.6 to 2.0"
    (by_variant,) = tables.variant_table(group)
    assert texts(by_variant)[:4] == [
        "lexical | original | 31.6 |  | ",
        "lexical | v1 | 27.1 | -4.4 -11.5 to +0.4 | 0.1918",
        "lexical | v2 | 29.9 | -1.7 -8.6 to +4.7 | 0.5774",
        "lexical | v3 | 22.2 | -9.4 -20.2 to +0.0 | 0.0929",
    ]
    (services,) = tables.service_table(group)
    assert texts(services)[:2] == [
        "Flats_1 seen | 36 | 40.2 | 9.2 | -30.9", "Vets_1 seen | 38 | 38.2 | 33.2 | -5.0"
    ]  # fmt: skip
    (official,) = tables.task_tables(group)
    assert texts(official)[0] == "active_intent_accuracy | 76.6 | 72.2 | 39.8"
    assert texts(official)[4] == "slot_tagging_f1 | – | – | –" and len(official.rows) == 15
    said = verdict(group, {})
    assert said is not None and not said.costly
    assert [numbers(sentence) for sentence in said.sentences] == [
        ["25.3", "17.2", "34.1"],
        ["6.2", "31.6", "-0.4", "14.4"],
        ["22.2", "-9.4", "-20.2", "+0.0"],
        ["18.8", "11.2", "27.1"],
    ]


def test_augmentation_is_compared_with_the_system_without(group: Group) -> None:
    (table,) = tables.augmentation(group)
    none, other = table.rows
    assert [cell.text for cell in none[:2]] == ["t5dst", "none"]
    assert [cell.text for cell in other[:2]] == ["t5dst", "backtrans"]
    assert none[5] == Cell("–", "") and other[5].text.startswith("+")
    low, _, high = other[5].detail.partition(" to ")
    assert float(low) < float(other[5].text) < float(high)


def test_a_difference_has_its_sign_and_its_interval() -> None:
    figure = Figure("jga_orig", np.zeros((2, 1)), lambda sums: sums[0])
    change = {"difference": 0.0153, "interval": [-0.002, 0.03]}
    assert change_cell(figure, change) == Cell("+1.5", "-0.2 to +3.0")
    assert change_cell(figure, {}) == Cell(NO_VALUE)
    assert shown(figure._replace(title="SER orig"), 0.0012, True) == "+0.12"
    assert shown(figure._replace(scale=1), -1.04, True) == "-1.0"
    assert [shown(figure, end, True) for end in (np.nan, -0.0002, 0.0002, -0.0)] == [
        NO_VALUE, "-0.0", "+0.0", "+0.0"  # which side of zero it is on
    ]  # fmt: skip


def test_an_oracle_leads_only_oracles(runs: dict[str, Path]) -> None:
    group = only_group(*runs.values())
    for oracles, leader in (({"backtrans"}, "t5dst: "), ({*runs}, "t5dst, backtrans: ")):
        for system in group.systems:
            for run in system.runs:
                run.oracle = run.path.name in oracles
        said = verdict(group, {})
        assert said is not None and said.sentences[0].text.startswith(leader)


def test_a_lead_that_may_be_chance_is_none(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    little = {"jga_v1-5": {"difference": 0.01, "interval": [-0.001, 0.021]}}
    monkeypatch.setattr(verdicts, "differences", lambda *_: little)
    said = verdict(group, {})
    assert said is not None
    assert "cannot be told" in said.sentences[1].text
    assert said.sentences[1].detail == "-0.1 to 2.1"


@pytest.mark.parametrize("services", [(), ("Vets_1",)])
def test_figures_of_a_choice_are_those_of_score(
    services: tuple[str, ...], runs: dict[str, Path], tmp_path: Path
) -> None:
    """The same choice, scored by the metric's own command, gives the same figures."""
    chosen, out = tmp_path / "half.txt", tmp_path / "scores.json"
    chosen.write_text("\n".join(read_run(runs["tiny"]).results.dialogue_ids()[::2]))
    words = ["score", "--source", "sample", "--predictions", runs["tiny"] / "predictions"]
    words += ["--dialogues", chosen, *(w for s in services for w in ("--service", s))]
    assert main([*map(str, words), "--output", str(out)]) == 0
    ((run,), _, _), expected = read_runs([runs["tiny"]], chosen, services), scores_of(tmp_path)
    (sample,) = System("x", [run]).samples()
    assert len(run.results.raw.items.ids) == expected["frames"]["all"] and run.stored == {}
    for key, value in sample.values().items():
        assert value == pytest.approx(expected["sgdx"][key])
        if key != "relative_difference":
            ends = expected["sgdx"]["confidence"][key]
            assert sample.intervals()[key] == pytest.approx(ends)
    stated = dict(part.split(":", 1) for part in expected["signature"].split("|")[1:])
    for part in ("dialogues", "services", "frames"):
        assert run.results.parts.get(part) == stated.get(part)
