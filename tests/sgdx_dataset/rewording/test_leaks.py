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
from sgdx_dataset.release.release import Release
from sgdx_dataset.release.schema import Schema
from sgdx_dataset.rewording.leaks import (
    LIMITS,
    Leak,
    Location,
    Overlap,
    copied_variants,
    find_leak,
    new_texts,
    normalised,
    published_words,
    release_words,
    train_variants,
)

from ..conftest import service, write

Json = Any


def found(source: Path, tmp_path: Path, schema: Json) -> list[Overlap]:
    """The overlaps of a train schema, in a source that has no other variant for training."""
    write(tmp_path / "mine" / "train" / "schema.json", [schema])
    release = open_release(source, {"mine": tmp_path / "mine"})
    return overlaps(release, train_variants(release))


@pytest.mark.parametrize(
    "text", ["VisitFlat", "visit_flat", " Visit flat. ", "visit-ﬂat", "VISIT FLAT_"]
)
def test_case_blanks_and_punctuation_make_no_difference(text: str) -> None:
    assert normalised(text) == "visitflat"


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
    assert [hit.same_element for hit in overlaps_found] == [False, False, True, False, False]
    shutil.rmtree(mini / "sgd_x")
    assert found(mini, tmp_path, mine) == []


def test_a_text_that_is_spelt_otherwise_or_in_two_splits_is_one(mini: Path, tmp_path: Path) -> None:
    mine = service("Flats_1", ("Town ", "CITY", "ae"), ("search_flat", "findFlat"))
    texts = [(hit.text, hit.same_element, len(hit.equals)) for hit in found(mini, tmp_path, mine)]
    assert texts == [("Town ", True, 1), ("Town ", True, 1), ("search_flat", True, 1)]


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
    assert overlaps(release, {"copy": release.schema("train", "original")}) == []
    hits = overlaps(release, {"copy": release.schema("train", variant)})
    assert all(hit.same_element for hit in hits)
    original = {text for split in SPLITS.values() for text in texts_of(SAMPLE, split)}
    copied = texts_of(SAMPLE / "sgd_x" / "data" / variant, "train")
    assert [hit.text for hit in hits] == [key[1] for key in copied if key not in original]
    assert len(hits) > 100


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


def mixed(release: Release, share: float) -> Schema:
    """The train schema with v3's words in a share of its services, and the originals elsewhere."""
    original, variant = (release.schema("train", name).services for name in ("original", "v3"))
    count = round(share * len(original))
    return Schema("mixed", [*variant[:count], *original[count:]])


def test_words_of_v3_in_some_services_alone_are_a_leak() -> None:
    """Shares are of the texts that are new, and so do not depend on how many services change."""
    release = open_release("sample")
    for share in (0.25, 0.5, 1):
        leak = find_leak(release, {"mine": mixed(release, share)})
        assert leak == Leak(len(overlaps(release, {"mine": mixed(release, share)})), oracle=True)


def test_a_leak_is_found_beside_schemas_without_one() -> None:
    """As one of many schemas, and as a part of each of several."""
    release = open_release("sample")
    schemas = train_variants(release)
    assert find_leak(release, schemas) == Leak(len(overlaps(release, schemas)), oracle=False)
    many = {f"{name}-{i}": schema for name, schema in schemas.items() for i in range(20)}
    assert not find_leak(release, many).oracle
    assert find_leak(release, many | {"mine": release.schema("train", "v2")}).oracle


def test_few_equal_texts_are_counted_and_no_leak(mini: Path, tmp_path: Path) -> None:
    """Four are none, five are one."""
    for third, oracle in (("nothing", False), ("purpose", True)):
        mine = service("Flats_1", ("town", "quarter", third), ("SearchFlat", "SeeFlat"))
        for slot in mine["slots"]:
            slot["description"] = "nothing"
        write(tmp_path / "mine" / "train" / "schema.json", [mine])
        release = open_release(mini, {"mine": tmp_path / "mine"})
        leak = find_leak(release, train_variants(release))
        assert leak == Leak(4 + oracle, oracle)


def test_a_corpus_of_ones_own_is_no_leak(mini: Path) -> None:
    """With variants of its own or without any."""
    for _ in range(2):
        release = open_release(mini)
        original = release.schema("train", "original")
        assert find_leak(release, {"original": original}) == Leak(0, oracle=False)
        assert copied_variants(release) == []
        shutil.rmtree(mini / "sgd_x", ignore_errors=True)


def test_variants_that_are_copies_of_the_original(mini: Path) -> None:
    for variant in ("v2", "v4"):
        for split in SPLITS.values():
            target = mini / "sgd_x" / "data" / variant / split / "schema.json"
            shutil.copy(mini / split / "schema.json", target)
    assert copied_variants(open_release(mini)) == ["v2", "v4"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_v1_to_v5_as_the_original_schemas_of_a_source(variant: str, tmp_path: Path) -> None:
    """Whether the source has them as its own v1..v5 too, or none."""
    for split in SPLITS.values():
        for folder in (Path(), Path("sgd_x/data/v1"), Path("sgd_x/data/v2")):
            (tmp_path / folder / split).mkdir(parents=True)
            schema = SAMPLE / "sgd_x" / "data" / variant / split / "schema.json"
            shutil.copy(schema, tmp_path / folder / split)
    for _ in range(2):
        release = open_release(tmp_path)
        leak = find_leak(release, {"original": release.schema("train", "original")})
        assert leak.oracle
        assert leak.overlaps > 100
        shutil.rmtree(tmp_path / "sgd_x", ignore_errors=True)


@pytest.mark.release
def test_the_published_words_are_those_of_sgd(release_archive: Path) -> None:
    assert published_words()[0] == release_words(open_release(release_archive))


@pytest.mark.release
def test_translations_of_sgd_are_within_the_limits(release_archive: Path) -> None:
    """The largest shares of the three, which docs/augmentation.md names."""
    release = open_release(release_archive)
    shares: dict[str, list[float]] = {part: [] for part in LIMITS}
    for variant, schema in train_variants(release).items():
        equal = [overlap.location.part for overlap in overlaps(release, {variant: schema})]
        new = [place.part for place in new_texts(release, variant, schema)]
        for part, of_part in shares.items():
            of_part.append(equal.count(part) / len([p for p in new if p == part]))
    highest = {part: round(max(of_part), 3) for part, of_part in shares.items()}
    assert highest == {"name": 0.658, "description": 0.027}
    assert not find_leak(release, train_variants(release)).oracle


@pytest.mark.release
@pytest.mark.parametrize("variant", VARIANTS)
def test_v1_to_v5_of_sgd_are_known_without_the_release(
    variant: str, release_archive: Path, tmp_path: Path
) -> None:
    released = open_release(release_archive)
    for split, folder in SPLITS.items():
        write(
            tmp_path / folder / "schema.json", to_builtins(released.schema(split, variant).services)
        )
    release = open_release(tmp_path)
    leak = find_leak(release, {"original": release.schema("train", "original")})
    assert leak.oracle
    assert leak.overlaps > 500
