"""The check against leaks: which texts for training are v1..v5's, and whose."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from sgdx_dataset import SPLITS, VARIANTS, overlaps
from sgdx_dataset.release.open import SAMPLE, open_release
from sgdx_dataset.rewording.leaks import Location, Overlap, train_variants

from ..conftest import service, write

Json = Any


def found(source: Path, tmp_path: Path, schema: Json) -> list[Overlap]:
    """The overlaps of a train schema, in a source that has no other variant for training."""
    write(tmp_path / "mine" / "train" / "schema.json", [schema])
    release = open_release(source, {"mine": tmp_path / "mine"})
    return overlaps(release, train_variants(release))


def test_each_overlap_with_its_places(mini: Path, tmp_path: Path) -> None:
    # "city" is the original's, though v1 and v2 have it as well; "Look" is nobody's
    mine = service("Flats_1", ("quarter", "q", "city"), ("TourFlat", "Look"))
    mine["slots"][1]["description"] = "hidden"
    mine["intents"][0]["description"] = "town"  # a slot's in v1
    visit = ("Flats_1", "intent", "VisitFlat")
    city, area = (("Flats_1", "slot", name) for name in ("city", "area"))
    find = ("Flats_1", "intent", "FindFlat")
    overlaps_found = found(mini, tmp_path, mine)
    assert overlaps_found == [
        (Location("mine", *city, "name"), "quarter", [Location("v3", *area, "name")]),
        (Location("mine", *city, "description"), "quarter", [Location("v3", *area, "description")]),
        (Location("mine", *area, "name"), "q", [Location("v4", *area, "name")]),
        (Location("mine", *find, "name"), "TourFlat", [Location("v2", *visit, "name")]),
        (Location("mine", *find, "description"), "town", [Location("v1", *city, "description")]),
    ]
    assert [overlap.same_element for overlap in overlaps_found] == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_names_are_compared_with_names_of_their_kind(mini: Path, tmp_path: Path) -> None:
    mine = service("Flats_1", ("G", "SeeFlat", "aim"), ("p", "VisitFlat"))
    for slot in mine["slots"]:
        slot["description"] = "hidden"
    assert [overlap.text for overlap in found(mini, tmp_path, mine)] == ["aim"]


def test_every_split_of_v1_to_v5_and_of_the_original_counts(mini: Path, tmp_path: Path) -> None:
    def rename(path: Path, name: str, description: str) -> None:
        (schema,) = json.loads(path.read_text())
        schema["slots"][0] |= {"name": name, "description": description}
        schema["intents"] = []
        write(path, [schema])

    for folder in (mini, *(mini / "sgd_x" / "data" / variant for variant in VARIANTS)):
        rename(folder / "test" / "schema.json", "c", "of test")
    rename(mini / "sgd_x" / "data" / "v3" / "test" / "schema.json", "metropolis", "of v3")
    rename(mini / "test" / "schema.json", "city", "p")
    mine = service("Flats_1", ("metropolis", "r1", "r2"), ("FindFlat", "VisitFlat"))
    mine["slots"][1]["description"] = "of test"  # v1's, v2's, v4's and v5's
    mine["slots"][2]["description"] = "p"  # v4's, but the original test schema has it too
    mine["slots"][0]["description"] = "city"
    texts = {o.text: [place.variant for place in o.equals] for o in found(mini, tmp_path, mine)}
    assert texts == {"metropolis": ["v3"], "of test": ["v1", "v2", "v4", "v5"]}


def test_a_text_that_two_splits_share_is_one_place(mini: Path, tmp_path: Path) -> None:
    mine = service("Flats_1", ("x", "area", "intent"), ("FindFlat", "VisitFlat"))
    (name, description) = found(mini, tmp_path, mine)  # v5 has it in train, dev and test
    assert [len(name.equals), len(description.equals)] == [1, 1]


def texts_of(folder: Path, split: str) -> list[tuple[str, str]]:
    """The texts of a schema.json, by kind, as its JSON has them."""
    found = []
    for of_service in json.loads((folder / split / "schema.json").read_text()):
        found.append(("description", of_service["description"]))
        for kind in ("slots", "intents"):
            for element in of_service[kind]:
                found += [(kind, element["name"]), ("description", element["description"])]
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_copy_of_v1_to_v5_is_found_whole(variant: str) -> None:
    """All of it that the original has not."""
    release = open_release("sample")
    hits = overlaps(release, {"copy": release.schema("train", variant)})
    assert all(hit.same_element for hit in hits)
    original = {text for split in SPLITS.values() for text in texts_of(SAMPLE, split)}
    copied = texts_of(SAMPLE / "sgd_x" / "data" / variant, "train")
    assert [hit.text for hit in hits] == [key[1] for key in copied if key not in original]
    assert len(hits) > 100


def test_the_original_overlaps_with_nothing() -> None:
    release = open_release("sample")
    assert overlaps(release, {"copy": release.schema("train", "original")}) == []


def test_a_source_without_v1_to_v5_has_nothing_to_compare_with(mini: Path, tmp_path: Path) -> None:
    mine = service("Flats_1", ("x", "y", "z"), ("F", "G"))
    assert found(mini, tmp_path, mine)
    shutil.rmtree(mini / "sgd_x")
    assert found(mini, tmp_path, mine) == []


def test_the_variants_for_training_are_those_with_a_train_schema(
    mini: Path, tmp_path: Path
) -> None:
    mine = service("Flats_1", ("x", "y", "z"), ("F", "G"))
    write(tmp_path / "tested" / "test" / "schema.json", [mine])
    write(tmp_path / "zh.json", {})
    write(mini / "backtrans" / "ko.json", {})
    variants = {"tested": tmp_path / "tested", "zh": tmp_path / "zh.json"}
    made = train_variants(open_release(mini, variants))
    assert list(made) == ["backtrans-ko", "zh"]
    original = open_release(mini).schema("train", "original")
    expected = to_builtins(original.services)
    assert [to_builtins(schema.services) for schema in made.values()] == [expected] * 2
