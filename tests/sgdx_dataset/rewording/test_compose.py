"""Composing variants from a pool of paraphrases: order, renaming, what a pool must have."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.rewording.compose import compose

from ...conftest import Run
from ..conftest import write

Json = Any


def element(*names: str) -> Json:
    return {"name": [*names], "description": ["a place", "the flat's city", "cities"]}


# Of each list the nearest is the second; "quarter" and "zone" are equally far from "area" (4), and
# "SeeFlat" and "TourFlat" from "VisitFlat" (5).
POOL: Json = {
    "Flats_1": {
        "description": ["Homes for you", "Flats_1 lets the flats", "flats to rent"],
        "slots": {
            "city": element("municipality", "cities", "town"),
            "area": element("quarter", "areas", "zone"),
            "intent": element("purpose", "intention", "aim"),
        },
        "intents": {
            "FindFlat": element("LookForFlat", "FindFlats", "SearchFlat"),
            "VisitFlat": element("SeeFlat", "VisitAFlat", "TourFlat"),
        },
    }
}


def test_an_empty_pool_has_a_place_for_every_text(mini: Path, run: Run) -> None:
    done = run("sgdx_cli", "reword", "compose", "--source", mini, "--empty")
    expected = re.sub(r"\[[^]]*\]", '["", ""]', json.dumps(POOL))
    assert json.loads(done.stdout) == json.loads(expected)


def test_nearest_first_ties_as_in_the_pool(run: Run, mini: Path, tmp_path: Path) -> None:
    """By the command, of one split."""
    command = ["sgdx_cli", "reword", "compose", "--source", mini, "--output", "out", "--pool"]
    write(tmp_path / "pool.json", POOL)
    done = run(*command, "pool.json", "--split", "test")
    assert (done.returncode, done.stdout) == (0, "out/v1\nout/v2\nout/v3\n"), done.stderr
    assert [path.name for path in (tmp_path / "out" / "v1").iterdir()] == ["test"]
    made = [
        json.loads((tmp_path / "out" / name / "test" / "schema.json").read_bytes())[0]
        for name in ("v1", "v2", "v3")
    ]
    assert [service["service_name"] for service in made] == ["Flats_11", "Flats_12", "Flats_13"]
    assert [[e["name"] for e in (*of["slots"], *of["intents"])] for of in made] == [
        ["cities", "areas", "intention", "FindFlats", "VisitAFlat"],
        ["town", "quarter", "aim", "SearchFlat", "SeeFlat"],
        ["municipality", "zone", "purpose", "LookForFlat", "TourFlat"],
    ]
    assert [(of["description"], of["slots"][0]["description"]) for of in made] == [
        ("Flats_1 lets the flats", "cities"),
        ("flats to rent", "the flat's city"),
        ("Homes for you", "a place"),
    ]


FLATS = POOL["Flats_1"]
# Where a pool has another value, or none, and what names it in the error.
FAULTS: list[tuple[str, Json, str]] = [
    ("Flats_1", None, ""),
    ("Cabs_1", FLATS, "service Cabs_1 "),
    ("Flats_1 slots area", None, "service Flats_1: slot area "),
    ("Flats_1 slots x", element("a", "b", "c"), "service Flats_1: slot x "),
    ("Flats_1 slots city name", ["town", "cities"], "service Flats_1: slot city: name: 2"),
    ("Flats_1 description", ["one", " ", "two"], "service Flats_1: description: paraphrase 1"),
    ("Flats_1 intents FindFlat description", ["x", "y", "x"], "FindFlat: description: para"),
    ("Flats_1 slots city name", ["town", "big city", "place"], "slot city: name is 'big city'"),
    ("Flats_1 intents FindFlat name", ["Search", "look_for", "F"], "FindFlat: name is 'look_for'"),
    ("Flats_1 intents FindFlat name", ["Search", "NONE", "F"], "FindFlat: name is 'NONE'"),
    ("Flats_1 slots area name", ["areas", "town", "municipality"], "slot town "),
]


@pytest.mark.parametrize(("place", "value", "record"), FAULTS)
def test_a_faulty_pool_is_named(
    mini: Path, tmp_path: Path, place: str, value: Json, record: str
) -> None:
    pool = copy.deepcopy(POOL)
    *steps, last = place.split()
    parent = pool
    for step in steps:
        parent = parent[step]
    parent.pop(last, None)
    if value is not None:
        parent[last] = value
    write(tmp_path / "pool.json", pool)
    with pytest.raises(SgdxError) as error:
        compose(open_release(mini), tmp_path / "pool.json", tmp_path / "out")
    assert str(error.value).startswith(f"{tmp_path}/pool.json: ") and record in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mini", "pool.json"]
