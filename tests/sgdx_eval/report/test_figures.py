"""The verdict and the tables hold the figures of scores.json, means over seeds, and differences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sgdx_cli import main
from sgdx_eval.report import tables
from sgdx_eval.report import verdict as verdicts
from sgdx_eval.report.runs import Group, read_run, read_runs
from sgdx_eval.report.tables import cell
from sgdx_eval.report.verdict import verdict
from sgdx_eval.tables import NO_VALUE, Cell, Table
from sgdx_metric.result import Figure, Metric

from .conftest import only_group

METRICS = ("jga", "ser", "bleu")


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
    assert [row.split(" | ")[:3] for row in texts(main_table)] == [
        ["lexical with system acts", group_name, count]
        for group_name, count in (("all", "273"), ("seen", "123"), ("unseen", "150"))
    ]
    assert [cell.text for cell in main_table.rows[0][3:]] == [
        "31.6", "25.3", "-6.2", "18.8", "17.6", "19.1"
    ]  # fmt: skip
    assert texts(further)[2].startswith("active_intent_accuracy | 76.6") and len(further.rows) == 11
    (by_variant,) = tables.variant_table(group)
    assert [[cell.text for cell in row] for row in by_variant.rows[:3]] == [
        ["lexical", "original", "31.6", "", ""],
        ["lexical", "v1", "27.1", "-4.4", "not shown"],
        ["lexical", "v2", "29.9", "-1.7", "not shown"],
    ]
    (services,) = tables.service_table(group)
    assert [[cell.text for cell in row] for row in services.rows[:2]] == [
        ["Flats_1", "36", "40.2", "9.2", "-30.9"], ["Vets_1", "38", "38.2", "33.2", "-5.0"]
    ]  # fmt: skip
    assert all(row[-1].detail for row in services.rows)  # each service has its interval
    said = verdict(group, {})
    assert said is not None and not said.costly
    lead, cost, worst, least = said.sentences
    assert numbers(lead)[0] == "25.3" and "No loss" in cost.text and "no variant" in worst.text
    assert numbers(least)[0] == "18.8"


def test_augmentation_is_compared_with_the_system_without(group: Group) -> None:
    (table,) = tables.augmentation(group)
    none, other = table.rows
    assert [cell.text for cell in none[:2]] == ["t5dst", "none"]
    assert [cell.text for cell in other[:2]] == ["t5dst", "backtrans"]
    assert none[5].text == "–" and other[5].text.startswith("+")
    low, _, high = other[5].detail.partition(" to ")
    assert float(low) < float(other[5].text) < float(high)


def test_a_difference_has_its_sign_and_its_interval() -> None:
    jga, ser, bleu = (Metric(name=name, scale=100 - 99 * (name == "bleu")) for name in METRICS)

    def change(metric: Metric, value: float, low: float, high: float) -> Cell:
        figure = Figure(metric.name, "drop", ["v1"], "all", value, low, high, items=9, clusters=9)
        return cell(figure, metric)

    assert change(jga, 0.0153, -0.002, 0.03) == Cell("+1.5", "-0.2 to +3.0")
    assert change(ser, 0.0012, -0.0002, 0.0002) == Cell("+0.12", "-0.02 to +0.02")
    assert change(bleu, -1.04, -2.0, 0.0).text == "-1.0"
    assert cell(None, jga) == Cell(NO_VALUE)


def test_a_lead_that_is_not_shown_is_none_and_an_oracle_leads_only_oracles(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = ["v1", "v2", "v3", "v4", "v5"]
    little = Figure("jga", "mean", paper, "all", 0.01, -0.001, 0.021, 273, 36)
    monkeypatch.setattr(verdicts, "differences", lambda *_: [little])
    group = only_group(*runs.values())
    for oracles, leader in (({"backtrans"}, "t5dst: "), ({*runs}, "t5dst, backtrans: ")):
        for run in (run for system in group.systems for run in system.runs):
            run.oracle = run.path.name in oracles
        said = verdict(group, {})
        assert said is not None and said.sentences[0].text.startswith(leader)
        assert "No difference" in said.sentences[1].text
        assert said.sentences[1].detail == "-0.1 to 2.1"


@pytest.mark.parametrize("services", [(), ("Vets_1",)])
def test_figures_of_a_choice_are_those_of_score(
    services: tuple[str, ...], runs: dict[str, Path], tmp_path: Path
) -> None:
    """The same choice, scored by the metric's own command, gives the same figures."""
    chosen, out = tmp_path / "half.txt", tmp_path / "scores.json"
    chosen.write_text("\n".join(read_run(runs["tiny"]).result.dialogue_ids()[::2]))
    words = ["score", "--source", "sample", "--predictions", runs["tiny"] / "predictions"]
    words += ["--dialogues", chosen, *(w for s in services for w in ("--service", s))]
    assert main([*map(str, words), "--output", str(out)]) == 0
    ((run,), _, _), expected = read_runs([runs["tiny"]], chosen, services), read_run(out)
    assert len(run.result.result.figures) == len(expected.result.result.figures)
    for one, other in zip(run.result.result.figures, expected.result.result.figures):
        assert one.value == pytest.approx(other.value) and one.low == pytest.approx(other.low)
    for part in ("dialogues", "services", "frames"):
        assert run.result.parts.get(part) == expected.result.parts.get(part)
