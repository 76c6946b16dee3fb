"""Variants of the user's own, schemas or overlays: checked like the release's own, found."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError, find_variants, frames, load, prepare
from sgdx_dataset.release.open import open_release

from ...conftest import Run
from ..conftest import SCHEMAS, service, write
from ..hub.test_prepare import load_elsewhere

Json = Any
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
    expected = "sgdx_dataset: error: --variant mine: expected NAME=PATH\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_it_has_to_line_up_with_the_original(mini: Path, own: Path) -> None:
    write(own / "test" / "schema.json", [MINE | {"slots": MINE["slots"][:2]}])
    with pytest.raises(SgdxError, match="service Homes_1: .*2, expected 3"):
        load("mine", "test", mini, {"mine": own})


def test_names_that_are_taken_and_folders_without_schemas(mini: Path, own: Path) -> None:
    for name in (
        "v1",
        "original",
        "backtrans-zh",
        "a/b",
        "V1",
        "Original",
        "\uff56\uff11",
        "\u043eriginal",
    ):
        with pytest.raises(SgdxError, match=f"variant '{name}': expected a name of letters"):
            open_release(mini, {name: own})
    with pytest.raises(SgdxError, match="nowhere: has no schema.json"):
        open_release(mini, {"mine": own / "nowhere"})
    with pytest.raises(SgdxError, match="has no dialogues in train under mine"):
        load("mine", "train", mini, {"mine": own})
    assert SCHEMAS["v1"]["service_name"] == load("v1", "test", mini)[0]["services"][0]


OVERLAY: Json = {
    "Flats_1": {
        "description": {"pivot": "租房", "text": "rents flats"},
        "slots": {"area": {"name": {"pivot": "区域", "text": "region"}}},
    }
}


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    write(tmp_path / "made" / "zh.json", OVERLAY)
    return tmp_path / "made" / "zh.json"


def test_an_overlay_is_a_variant_of_train_alone(mini: Path, overlay: Path, tmp_path: Path) -> None:
    rows = load("mine", source=mini, variants={"mine": overlay})
    assert {split: len(of) for split, of in rows.items()} == {"train": 2}
    row = rows["train"][0]
    assert (row["variant"], row["services"]) == ("mine", ["Flats_1"])
    assert row["schemas"][0]["description"] == "rents flats"
    frame = frames(rows["train"])[0]
    assert [slot["name"] for slot in frame["schema_slots"]] == ["city", "region", "intent"]
    assert [pair["slot"] for pair in frame["slot_values"]] == ["region", "city", "intent"]
    with pytest.raises(SgdxError, match="has no dialogues in test under mine"):
        load("mine", "test", mini, {"mine": overlay})
    cache = tmp_path / "cache"
    prepare(mini, ["mine"], cache, {"mine": overlay})
    loaded = load_elsewhere(cache, tmp_path / "empty", "mine")["mine"]
    assert loaded == {"rows": {"train": 2}, "services": ["Flats_1"], "variant": "mine"}


def test_as_an_own_variant_and_in_backtrans_an_overlay_is_the_same(
    mini: Path, overlay: Path
) -> None:
    write(mini / "backtrans" / "zh.json", OVERLAY)
    own = load("mine", "train", mini, {"mine": overlay}).remove_columns("variant")
    assert own[:] == load("backtrans", "train", mini).remove_columns("variant")[:]


def test_an_overlay_variant_is_made_anew_when_the_file_changes(mini: Path, overlay: Path) -> None:
    def region() -> str:
        rows = load("mine", "train", mini, {"mine": overlay})
        return str(rows[0]["schemas"][0]["slots"][1]["name"])

    fingerprint = open_release(mini, {"mine": overlay}).fingerprint_of("mine")
    assert region() == "region"
    overlay.write_text(overlay.read_text().replace("region", "quarter"))
    assert open_release(mini, {"mine": overlay}).fingerprint_of("mine") != fingerprint
    assert region() == "quarter"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Cabs_1": {}}, "service Cabs_1 is not in"),
        ({"Flats_1": {"slots": {"rent": {}}}}, "service Flats_1: slot rent is not in its schema"),
        ([MINE], "not a file of new words: Expected `object`, got `array`"),
        (
            {"Flats_1": {"slots": {"area": {"name": {"pivot": "市", "text": "city"}}}}},
            "service Flats_1: slot city appears twice",
        ),
    ],
)
def test_a_faulty_overlay_is_named(mini: Path, overlay: Path, changes: Json, message: str) -> None:
    write(overlay, changes)
    with pytest.raises(SgdxError) as error:
        open_release(mini, {"mine": overlay})
    assert str(error.value).startswith(str(overlay))
    assert message in str(error.value)


def test_the_command_takes_an_overlay(run: Run, mini: Path, overlay: Path, tmp_path: Path) -> None:
    command = ["sgdx_dataset", "export", "--source", mini, "--config", "zh", "--output", "out"]
    done = run(*command, "--variant", f"zh={overlay}")
    assert (done.returncode, done.stdout) == (0, "out/train\n"), done.stderr
    (made,) = json.loads((tmp_path / "out" / "train" / "schema.json").read_text())
    assert [slot["name"] for slot in made["slots"]] == ["city", "region", "intent"]
    done = run(*command, "--variant", "zh=no.json")
    assert done.returncode == 2
    assert done.stderr.startswith("sgdx_dataset: error: no.json: cannot be read: [Errno 2]")


def test_variants_in_a_folder(mini: Path, overlay: Path) -> None:
    folder = overlay.parent
    for name in ("b", "a", "v1"):
        write(folder / name / "train" / "schema.json", [SCHEMAS["v1"]])
    write(folder / "without-train" / "test" / "schema.json", [MINE])
    write(folder / "notes.txt", "not a schema")
    found = find_variants(folder)
    assert list(found.items()) == [
        ("a", folder / "a"),
        ("b", folder / "b"),
        ("made-v1", folder / "v1"),  # v1 is the benchmark's
        ("zh", folder / "zh.json"),
    ]
    release = open_release(mini, found)
    assert release.own_variants == ("a", "b", "made-v1", "zh")
    assert [release.splits(name) for name in found] == 4 * [["train"]]


def test_a_folder_that_is_a_variant_itself(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = overlay.parent / "b"
    write(folder / "train" / "schema.json", [SCHEMAS["v1"]])
    write(folder / "c" / "train" / "schema.json", [SCHEMAS["v1"]])
    assert find_variants(folder) == {"b": folder}
    monkeypatch.chdir(folder)
    assert find_variants(Path()) == {"b": Path()}


def test_a_folder_without_variants_or_with_two_of_one_name(overlay: Path) -> None:
    folder = overlay.parent
    write(folder / "zh" / "train" / "schema.json", [SCHEMAS["v1"]])
    with pytest.raises(
        SgdxError, match=r"zh\.json: is variant zh as .*/zh is, expected one of them"
    ):
        find_variants(folder)
    for empty in (folder / "zh" / "train" / "schema.json", folder / "nowhere"):
        with pytest.raises(SgdxError, match=f"^{empty}: has no variant, expected"):
            find_variants(empty)
