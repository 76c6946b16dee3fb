"""The check against leaks: words of v1..v5, in whatever is trained on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SPLITS
from sgdx_dataset.configs import CONTROLS
from sgdx_dataset.release import SAMPLE, open_release
from sgdx_dataset.rewording.leaks import (
    LIMITS,
    Leak,
    copied_variants,
    digests,
    find_leak,
    judging_words,
    published_words,
    release_words,
    train_variants,
)

from ..conftest import service, write

Json = Any


def own(source: Path, schema: Json) -> Leak:
    """The leak of a train schema of one's own for a source."""
    write(source.parent / "mine" / "train" / "schema.json", [schema])
    release = open_release(source, {"mine": source.parent / "mine"})
    return find_leak(train_variants(release), judging_words(release))


def test_few_equal_texts_are_counted_and_no_leak(mini: Path) -> None:
    """Four are none, five are one; and the original's words are nobody's, though v1 has them."""
    for third, oracle in (("city", False), ("purpose", True)):
        mine = service("Flats_1", ("town", "quarter", third), ("SearchFlat", "SeeFlat"))
        for slot in mine["slots"]:
            slot["description"] = "nothing"
        assert own(mini, mine) == Leak(4 + oracle, oracle)
    # Names of a variant as descriptions; of them "city" is the original's.
    mine = service("Flats_1", ("a", "b", "c"), ("D", "E"))
    elements = [*mine["slots"], *mine["intents"]]
    for element, text in zip(elements, ("Tówn", "city.", "purpose", "Search flat", "see_flat")):
        element["description"] = text
    assert own(mini, mine) == Leak(4, oracle=False)
    mine["description"] = "Quarter"
    assert own(mini, mine) == Leak(5, oracle=True)


def test_a_leak_is_found_beside_schemas_without_one() -> None:
    """In some services alone, as one of many schemas, and as a part of each of several."""
    release = open_release("sample")
    schemas, words = train_variants(release), judging_words(release)
    original, variant = (release.schema("train", name) for name in ("original", "v3"))
    assert find_leak({"mine": original}, words) == Leak(0, oracle=False)
    for share in (4, 2, 1):  # of the texts that are new, whose number does not matter
        count = round(len(original) / share)
        assert find_leak({"mine": [*variant[:count], *original[count:]]}, words).oracle
    assert list(schemas) == ["backtrans-ja", "backtrans-ko", "backtrans-zh"]
    assert find_leak(schemas, words) == Leak(34, oracle=False)
    many = {f"{name}-{i}": schema for name, schema in schemas.items() for i in range(20)}
    assert not find_leak(many, words).oracle
    assert find_leak(many | {"mine": release.schema("train", "v2")}, words).oracle


def test_words_of_controls_are_for_judging_alone() -> None:
    """As a variant of its own, also under a name of its own; a few of them are no leak."""
    release = open_release("sample", dict.fromkeys(CONTROLS, "control"))
    words, original = judging_words(release), release.schema("train", "original")
    for control in CONTROLS:
        schema = release.schema("train", control)
        assert find_leak({"mine": schema}, words).oracle, control
        assert not find_leak({"mine": [*schema[:1], *original[1:]]}, words).oracle


def test_a_dev_split_in_the_words_of_a_variant_is_a_leak(tmp_path: Path) -> None:
    """Of a corpus of one's own too, in which that split has them as its original words."""
    corpus = tmp_path / "corpus"
    shutil.copytree(SAMPLE, corpus)
    for variant, oracle in (("original", False), ("v1", True)):
        folder = corpus if variant == "original" else corpus / "sgd_x" / "data" / variant
        shutil.copy(folder / "test" / "schema.json", corpus / "dev" / "schema.json")
        for path in (corpus / "sgd_x" / "data").glob("*"):
            shutil.copy(path / "test" / "schema.json", path / "dev" / "schema.json")
        release = open_release(corpus)
        alone = judging_words(release)[:2]  # without what is known of the sample
        assert find_leak({"dev": release.schema("validation", "original")}, alone).oracle == oracle


def test_variants_that_are_copies_of_the_original(mini: Path) -> None:
    assert copied_variants(open_release(mini)) == []
    for variant in ("v2", "v4"):
        for split in SPLITS.values():
            target = mini / "sgd_x" / "data" / variant / split / "schema.json"
            shutil.copy(mini / split / "schema.json", target)
    assert copied_variants(open_release(mini)) == ["v2", "v4"]


@pytest.mark.parametrize("variant", ["v1", "v5"])
def test_v1_to_v5_as_the_original_schemas_of_a_source(variant: str, tmp_path: Path) -> None:
    """Whether the source has them as its own v1..v5 too, or none."""
    for split in SPLITS.values():
        for folder in (Path(), Path("sgd_x/data/v1"), Path("sgd_x/data/v2")):
            (tmp_path / folder / split).mkdir(parents=True)
            schema = SAMPLE / "sgd_x" / "data" / variant / split / "schema.json"
            shutil.copy(schema, tmp_path / folder / split)
    for _ in range(2):
        release = open_release(tmp_path)
        schemas = {"mine": release.schema("train", "original")}
        leak = find_leak(schemas, judging_words(release))
        assert leak.oracle and leak.overlaps > 100
        shutil.rmtree(tmp_path / "sgd_x", ignore_errors=True)


@pytest.mark.release
def test_the_published_words_are_those_of_sgd(release_archive: Path) -> None:
    """And its translations are within the limits: the shares that docs/augmentation.md names."""
    release = open_release(release_archive)
    words, highest = release_words(release), dict.fromkeys(LIMITS, 0.0)
    assert published_words()[0] == words._replace(controls=frozenset())
    for schema in train_variants(release).values():
        new = [(part, each) for part, each in digests(schema) if each not in words.original]
        for part in highest:
            equal = [each in words.variants for kind, each in new if kind == part]
            highest[part] = max(highest[part], round(sum(equal) / len(equal), 3))
    assert highest == {"name": 0.671, "description": 0.037}
    assert not find_leak(train_variants(release), judging_words(release)).oracle
