"""The check against leaks: words of v1..v5 and dialogues of test, in whatever is trained on."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from sgdx_dataset import SPLITS, VARIANTS
from sgdx_dataset.release import SAMPLE, Release, open_release
from sgdx_dataset.rewording.leaks import (
    LIMITS,
    Leak,
    copied_dialogues,
    copied_variants,
    digest,
    digests,
    find_leak,
    judging_words,
    published_words,
    release_words,
    train_variants,
)
from sgdx_dataset.schema import Service

from ..conftest import DIALOGUE, service, write

Json = Any


def leak_of(release: Release, schema: list[Service]) -> Leak:
    return find_leak({"mine": schema}, judging_words(release))


def own(source: Path, tmp_path: Path, schema: Json) -> Leak:
    """The leak of a train schema of one's own for a source."""
    write(tmp_path / "mine" / "train" / "schema.json", [schema])
    release = open_release(source, {"mine": tmp_path / "mine"})
    return find_leak(train_variants(release), judging_words(release))


@pytest.mark.parametrize(
    "text", ["VisitFlat", "visit_flat", " Visit flat. ", "visit-ﬂat", "VISIT FLAT_", "Vísît Flät"]
)
def test_texts_are_compared_as_tokenizers_read_them(text: str) -> None:
    assert digest(text) == sha256(b"visitflat").hexdigest()[:12]


def test_few_equal_texts_are_counted_and_no_leak(mini: Path, tmp_path: Path) -> None:
    """Four are none, five are one; and the original's words are nobody's, though v1 has them."""
    for third, oracle in (("city", False), ("purpose", True)):
        mine = service("Flats_1", ("town", "quarter", third), ("SearchFlat", "SeeFlat"))
        for slot in mine["slots"]:
            slot["description"] = "nothing"
        assert own(mini, tmp_path, mine) == Leak(4 + oracle, oracle)


def test_names_of_a_variant_as_descriptions_are_a_leak(mini: Path, tmp_path: Path) -> None:
    mine = service("Flats_1", ("a", "b", "c"), ("D", "E"))
    elements = [*mine["slots"], *mine["intents"]]
    for element, text in zip(elements, ("Tówn", "city.", "purpose", "Search flat", "see_flat")):
        element["description"] = text
    assert own(mini, tmp_path, mine) == Leak(4, oracle=False)  # of them "city" is the original's
    mine["description"] = "Quarter"
    assert own(mini, tmp_path, mine) == Leak(5, oracle=True)


@pytest.mark.parametrize("share", [0.25, 0.5, 1])
def test_words_of_v3_in_some_services_alone_are_a_leak(share: float) -> None:
    """Shares are of the texts that are new, and so do not depend on how many services change."""
    release = open_release("sample")
    original, variant = (release.schema("train", name) for name in ("original", "v3"))
    count = round(share * len(original))
    assert leak_of(release, [*variant[:count], *original[count:]]).oracle
    assert leak_of(release, original) == Leak(0, oracle=False)


def test_a_leak_is_found_beside_schemas_without_one() -> None:
    """As one of many schemas, and as a part of each of several."""
    release = open_release("sample")
    schemas, words = train_variants(release), judging_words(release)
    assert list(schemas) == ["backtrans-ja", "backtrans-ko", "backtrans-zh"]
    assert find_leak(schemas, words) == Leak(34, oracle=False)
    many = {f"{name}-{i}": schema for name, schema in schemas.items() for i in range(20)}
    assert not find_leak(many, words).oracle
    assert find_leak(many | {"mine": release.schema("train", "v2")}, words).oracle


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
        schema = release.schema("validation", "original")
        alone = judging_words(release)[:2]  # without what is known of the sample
        assert find_leak({"dev": schema}, alone).oracle == oracle


def test_variants_that_are_copies_of_the_original(mini: Path) -> None:
    assert copied_variants(open_release(mini)) == []
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
        leak = leak_of(release, release.schema("train", "original"))
        assert leak.oracle and leak.overlaps > 100
        shutil.rmtree(tmp_path / "sgd_x", ignore_errors=True)


def test_dialogues_of_test_are_found_by_what_the_user_says(mini: Path, tmp_path: Path) -> None:
    """Whatever their ids are, and what else is in them."""
    test = json.loads((mini / "test" / "dialogues_001.json").read_text())
    assert copied_dialogues(open_release(mini), open_release(mini)) == {"train": 2, "validation": 2}
    for split in ("train", "dev"):
        other = json.loads(json.dumps(DIALOGUE).replace("Ulm", "Bonn"))
        write(mini / split / "dialogues_001.json", [other])
    assert copied_dialogues(open_release(mini), open_release(mini)) == {}
    second = tmp_path / "renamed"
    shutil.copytree(mini, second)
    for dialogue in test:
        dialogue["dialogue_id"] = f"mine_{dialogue['dialogue_id']}"
        dialogue["turns"][1]["utterance"] = "Other words of the system"
        dialogue["turns"][2]["utterance"] = "no thanks"
    write(second / "train" / "dialogues_002.json", test)
    assert copied_dialogues(open_release(second), open_release(mini)) == {"train": 2}


@pytest.mark.parametrize("source", ["sample", "many"])
def test_no_dialogue_of_test_is_in_other_splits_of_our_corpora(source: str) -> None:
    release = open_release(source)
    copy = Release("copy", release.fingerprint, release.files)  # not by its name
    assert copied_dialogues(copy, copy) == {}


@pytest.mark.release
def test_the_published_words_are_those_of_sgd(release_archive: Path) -> None:
    release = open_release(release_archive)
    assert published_words()[0] == release_words(release)
    assert copied_dialogues(release, release) == {}


@pytest.mark.release
def test_translations_of_sgd_are_within_the_limits(release_archive: Path) -> None:
    """The largest shares of the three, which docs/augmentation.md names."""
    release = open_release(release_archive)
    words, highest = release_words(release), dict.fromkeys(LIMITS, 0.0)
    for schema in train_variants(release).values():
        new = [(part, each) for part, each in digests(schema) if each not in words.original]
        for part in highest:
            equal = [each in words.variants for kind, each in new if kind == part]
            highest[part] = max(highest[part], round(sum(equal) / len(equal), 3))
    assert highest == {"name": 0.671, "description": 0.037}
    assert not find_leak(train_variants(release), judging_words(release)).oracle


@pytest.mark.release
@pytest.mark.parametrize("variant", VARIANTS)
def test_v1_to_v5_of_sgd_are_known_without_the_release(
    variant: str, release_archive: Path, tmp_path: Path
) -> None:
    released = open_release(release_archive)
    for split, folder in SPLITS.items():
        schema = to_builtins(released.schema(split, variant))
        write(tmp_path / folder / "schema.json", schema)
    release = open_release(tmp_path)
    leak = leak_of(release, release.schema("train", "original"))
    assert leak.oracle and leak.overlaps > 500
