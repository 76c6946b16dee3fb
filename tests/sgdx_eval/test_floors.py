"""Controls and repeats: what flips where no word means anything else stands beside what flips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sgdx_eval.compare import compare
from sgdx_eval.report.runs import group_runs, read_run
from sgdx_eval.report.tables import comparison
from sgdx_eval.result import read_result
from sgdx_eval.show import comparison_tables, headline_table
from sgdx_eval.tables import to_markdown

from ..conftest import Run
from .conftest import put, scored

Row = dict[str, Any]


@pytest.fixture
def run(gold: dict[str, list[Row]], command: Run) -> Path:
    """Of 273 frames 91 have lost their state under v1, 3 under a control, 2 when asked again."""
    rows = {"original": gold["original"]}
    for name, words, wrong in (("v1", "v1", 91), ("control1", "original", 3), ("repeat2", "", 2)):
        rows[name] = [{**row, "variant": name} for row in gold[words or "original"]]
        with_state = [row for row in rows[name] if row["slot_values"]]
        for row in with_state[:wrong]:
            row["slot_values"] = []
    Path("run").mkdir()
    predictions = put(Path("run") / "predictions", rows)
    scored(command, predictions, "run/scores.json", *SAME)
    return Path("run")


SAME = ("--variant", "control", "--variant", "repeat")


def cells(text: str, first: str) -> list[str]:
    (row,) = (line for line in text.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_every_door_has_the_floors_beside(run: Path, command: Run) -> None:
    result = read_result(run).result
    flips = [result[f"jga_flips{of}"] for of in ("(original+v1)", "_control", "_repeat")]
    assert [round(273 * (of or 0)) for of in flips] == [91, 3, 2]
    text = to_markdown(headline_table(result))
    assert cells(text, "figure")[-2:] == ["control", "repeat"]
    assert cells(text, "JGA_flips(original+v1)")[-2:] == ["1.10", "0.73"]
    (group,) = group_runs([read_run(run)])
    table = to_markdown(next(comparison(group)))
    assert table.count("; control 1.1; repeat 0.7)") == 1  # of flips
    text = to_markdown(comparison_tables(compare([run], [run]), details=False)[0])
    assert cells(text, "JGA_flips_control")[1:3] == ["1.10", "1.10"]
    done = command("sgdx_metric", "explain", "--flips", "--source", "sample", *SAME,
                   "--predictions", run / "predictions")  # fmt: skip
    assert done.stdout.splitlines()[-1].startswith("91 of 273 frames (33.33 %) flip;")
