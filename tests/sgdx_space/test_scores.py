"""Files that a visitor drops on the page are held against each other and against the data."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import open_release, turn_tables

from ..sgdx_metric.conftest import gold as gold
from ..sgdx_metric.frames import Row, written

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space.scores import example_files, explain, fill


def cells(html: str) -> dict[str, list[str]]:
    """The texts of the rows of tables, by the first of each row."""
    rows = (
        re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>.*?</tr>", html)
    )
    return {row[0]: row[1:] for row in rows}


def refused(paths: list[str], found: str) -> None:
    """The page shows the error alone, without folders, and without the options of commands."""
    html, shown, _, details = fill(paths)
    assert re.search(found, unescape(html)) and html.startswith("<p class='problem' role='alert'>")
    assert "--" not in html and str(Path(paths[0]).parent) not in html
    assert shown is None and details == ""


@pytest.fixture(scope="module")
def responses() -> dict[str, list[Row]]:
    """The gold responses of the sample's test split, by variant."""
    keys = ["turn_id", "variant", "utterance"]
    release = open_release("sample")
    return {name: turn_tables(release, "test", name, keys).to_pylist() for name in ("v1", "v2")}


@pytest.mark.parametrize(
    ("task", "figure", "value"), [("states", "JGA_v1", "100.00"), ("responses", "SER_v1", "0.00")]
)
def test_dropped_files_are_of_one_system_and_of_the_sample(
    task: str,
    figure: str,
    value: str,
    tmp_path: Path,
    gold: dict[str, list[Row]],
    responses: dict[str, list[Row]],
) -> None:
    rows, release = gold if task == "states" else responses, open_release("sample")

    def drop(*headers: dict[str, Any]) -> list[str]:
        paths = []
        for name, header in zip(("v1", "v2"), headers):
            header = {"data": release.data_digest("test", name), "variant": name, **header}
            paths.append(str(written(tmp_path / f"{name}.jsonl", rows[name], **header)))
        return paths

    page = fill(drop({"model": "a", "oracle": True}, {"model": "a", "oracle": True}))[0]
    assert "|oracle:yes|ci:" in page and "|release:sample|" in page
    page = fill([str(written(tmp_path / "v1.jsonl", rows["v1"]))])[0]
    assert "|predictions:made-elsewhere|" in page
    assert cells(page)[figure][0].startswith(value)
    for headers, found in (
        (({"model": "a"}, {"model": "b"}), "for v2: model"),
        (({"oracle": False}, {"oracle": True}), "for v2: oracle"),
        (({}, {"data": "0123"}), "for v2: .* 0123"),
    ):
        refused(drop(*headers), found)


def test_an_example_can_be_dropped() -> None:
    assert fill(None)[:2] == ("", None)
    html, shown, dialogues, details = fill(example_files())
    assert shown and "|frames:273|" in html and "made-elsewhere" not in html
    assert cells(html)["JGA_orig"][0].startswith("31.57<small>")
    assert "25.3 % after 31.6 %" in html
    assert dialogues.value == "1_00003/Cooking_1" and len(dialogues.choices) > 20
    assert "<code>where_it_is_held</code> <span class='wrong'>–</span>" in details
    assert "<code>city</code> <span class='right'>Leeds</span>" in details
    assert explain("1_00000/Cabs_1", shown) != details


@pytest.mark.parametrize("name", ["\uff561", "mine"])
def test_a_variant_that_is_none(name: str, tmp_path: Path, gold: dict[str, list[Row]]) -> None:
    path = written(tmp_path / "p.jsonl", [{**row, "variant": name} for row in gold["v1"]])
    refused([str(path)], f"p.jsonl: .*{name}")


def test_what_cannot_be_scored_is_named(tmp_path: Path, gold: dict[str, list[Row]]) -> None:
    refused([str(tmp_path / "v2.jsonl")], "v2.jsonl")
    path = written(tmp_path / "p.jsonl", [{"id": "1", "variant": "original", "calls": []}])
    refused([str(path)], r"p\.jsonl: .*tools")
    first = gold["v1"][0]["frame_id"].partition("/")[0]
    rows = [row for row in gold["v1"] if row["frame_id"].partition("/")[0] != first]
    path = written(tmp_path / "v1.jsonl", rows)
    refused([str(path)], f"{273 - len(rows)} of 273")
