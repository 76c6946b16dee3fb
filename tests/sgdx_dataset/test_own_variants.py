"""Variants of the user's own: a directory of schemas, checked like the release's own."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError, load, prepare
from sgdx_dataset.sources import open_release

from ..conftest import Run
from .conftest import SCHEMAS, service, write
from .test_prepare import load_elsewhere

MINE = service("Homes_1", ("ville", "quartier", "but"), ("TrouverAppart", "VisiterAppart"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with a French wording of the test schema alone."""
    write(tmp_path / "own" / "test" / "schema.json", [MINE])
    return tmp_path / "own"


def test_an_own_variant_loads_as_the_releases_do(mini: Path, own: Path, tmp_path: Path) -> None:
    row = load("mine", "test", mini, {"mine": own})[0]
    assert row["variant"] == "mine"
    assert row["schemas"][0]["original_name"] == "Flats_1"
    assert [s["slot"] for s in row["turns"][0]["frames"][0]["state"]["slot_values"]] == [
        "quartier",
        "ville",
        "but",
    ]
    cache = tmp_path / "cache"
    prepare(mini, ["mine"], cache, {"mine": own})
    loaded = load_elsewhere(cache, tmp_path / "empty", "mine")["mine"]
    assert loaded["rows"] == {"test": 2}  # the splits that it has schemas for


def test_it_is_made_anew_when_its_schemas_change(mini: Path, own: Path) -> None:
    before = load("mine", "test", mini, {"mine": own})[0]["services"]
    changed = copy.deepcopy(MINE) | {"service_name": "Logements_1"}
    write(own / "test" / "schema.json", [changed])
    after = load("mine", "test", mini, {"mine": own})[0]["services"]
    assert (before, after) == (["Homes_1"], ["Logements_1"])


def test_the_command_takes_it(run: Run, mini: Path, own: Path, tmp_path: Path) -> None:
    arguments = ["--source", mini, "--variant", f"mine={own}", "--config", "mine"]
    done = run("sgdx_dataset", "export", *arguments, "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/out/test\n"), done.stderr
    done = run("sgdx_dataset", "prepare", "--source", mini, "--variant", "mine")
    expected = "sgdx-dataset: error: --variant mine: expected NAME=DIR\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_it_has_to_line_up_with_the_original(mini: Path, own: Path) -> None:
    write(own / "test" / "schema.json", [MINE | {"slots": MINE["slots"][:2]}])
    with pytest.raises(SgdxError, match="service Homes_1: number of slots is 2, expected 3 as in"):
        load("mine", "test", mini, {"mine": own})


def test_names_that_are_taken_and_folders_without_schemas(mini: Path, own: Path) -> None:
    for name in ("v1", "original", "backtrans-zh", "a/b"):
        with pytest.raises(SgdxError, match=f"variant '{name}': expected a name of letters"):
            open_release(mini, {name: own})
    with pytest.raises(SgdxError, match="nowhere: has no schema.json in train, dev or test"):
        open_release(mini, {"mine": own / "nowhere"})
    with pytest.raises(SgdxError, match="has no dialogues in train under mine"):
        load("mine", "train", mini, {"mine": own})
    assert SCHEMAS["v1"]["service_name"] == load("v1", "test", mini)[0]["services"][0]
