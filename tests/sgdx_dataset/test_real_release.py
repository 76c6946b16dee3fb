"""On the real release (partial or whole): counts, round trip, converter, clashes, augmentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import VARIANTS, find_variants, frame_tables, frames, load, overlaps
from sgdx_dataset.configs import SPLITS
from sgdx_dataset.hub.export import release_dialogue
from sgdx_dataset.release.download import COMMIT
from sgdx_dataset.release.open import open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.rewording.corrupt import corrupt
from sgdx_dataset.rewording.leaks import train_variants
from sgdx_dataset.rows.dialogue_rows import dialogue_tables

from .converter import convert

Json = Any
pytestmark = pytest.mark.release

# A few files; `pytest -m slow` reads all files of all splits and variants.
ALL = 999
FEW_FILES = [("test", 4), *(pytest.param(s, ALL, marks=pytest.mark.slow) for s in SPLITS)]
FEW_VARIANTS = [("v5", 4), *(pytest.param(v, ALL, marks=pytest.mark.slow) for v in VARIANTS)]

# What the partial copy of commit e852981 has; a whole one has 16,142, 2,482 and 4,201 dialogues.
PARTIAL = {
    "train": (12_174, 111_878, 118_167),
    "validation": (2_098, 19_384, 20_542),
    "test": (2_921, 24_863, 26_802),
}


@pytest.fixture(scope="module")
def release(release_archive: Path) -> Release:
    return open_release(release_archive)


@pytest.fixture(scope="module")
def partial(release: Release, release_archive: Path) -> None:
    if COMMIT not in release_archive.name or len(release.dialogue_files("test")) != 24:
        pytest.skip("these figures are of the partial copy with 24 test files")


def with_files(release: Release, split: str, count: int) -> Release:
    """The release with no more than the first ``count`` dialogue files of a split."""
    return replace(release, files=release.files - {*release.dialogue_files(split)[count:]})


def dialogues_of(release: Release, split: str) -> Iterator[tuple[str, list[Json]]]:
    for file in release.dialogue_files(split):
        yield file, json.loads(release.read(file))


def schemas_of(release: Release, variant: str) -> list[Json]:
    files = (release.schema_file("test", config) for config in ("original", variant))
    return [json.loads(release.read(file)) for file in files]


@pytest.mark.usefixtures("partial")
@pytest.mark.parametrize("split", PARTIAL)
@pytest.mark.slow
def test_counts(release_archive: Path, split: str) -> None:
    dialogues = load("original", split, release_archive)
    rows = frames(dialogues)
    turns = set(zip(rows["dialogue_id"], rows["turn"]))
    assert (len(dialogues), len(turns), len(rows)) == PARTIAL[split]


@pytest.mark.parametrize(("split", "files"), FEW_FILES)
def test_original_comes_back_value_for_value(release: Release, split: str, files: int) -> None:
    release = with_files(release, split, files)
    made = dict(dialogue_tables(release, split, "original"))
    for file, dialogues in dialogues_of(release, split):
        assert [release_dialogue(row) for row in made[file].to_pylist()] == dialogues, file


@pytest.mark.parametrize(("variant", "files"), FEW_VARIANTS)
def test_variants_are_what_the_fixed_converter_makes(
    release: Release, variant: str, files: int
) -> None:
    release = with_files(release, "test", files)
    original, schema = schemas_of(release, variant)
    made = dict(dialogue_tables(release, "test", variant))
    for file, dialogues in dialogues_of(release, "test"):
        expected = [convert(dialogue, original, schema) for dialogue in dialogues]
        assert [release_dialogue(row) for row in made[file].to_pylist()] == expected, file


@pytest.mark.usefixtures("partial")
@pytest.mark.slow
def test_782_test_frames_of_v5_that_only_the_fixed_converter_gets_right(release: Release) -> None:
    original, schema = schemas_of(release, "v5")
    made = dict(dialogue_tables(release, "test", "v5"))
    changed = []
    for file, dialogues in dialogues_of(release, "test"):
        for dialogue, row in zip(dialogues, made[file].to_pylist()):
            old = convert(dialogue, original, schema, fixed=False)
            changed += [
                b["service"]
                for before, after in zip(old["turns"], release_dialogue(row)["turns"])
                for a, b in zip(before["frames"], after["frames"])
                if a.get("state") != b.get("state")
            ]
    assert len(changed) == 782
    assert set(changed) == {"RentalCars_35"}


@pytest.mark.slow
def test_backtrans_is_train_three_times_over(release: Release) -> None:
    """Under schemas that differ from the original, and from each other, in words alone."""
    train = sum(table.num_rows for _, table in dialogue_tables(release, "train", "original"))
    counts: dict[str, int] = {}
    for _, table in dialogue_tables(release, "train", "backtrans"):
        variant = table["variant"][0].as_py()
        counts[variant] = counts.get(variant, 0) + table.num_rows
    assert counts == dict.fromkeys(("backtrans-ja", "backtrans-ko", "backtrans-zh"), train)


@pytest.mark.parametrize("language", ["ja", "ko", "zh"])
def test_overlays_hold_only_what_differs(release: Release, language: str) -> None:
    path = f"backtrans/{language}.json"
    overlay = json.loads(release.read(path))
    original = json.loads(release.read("train/schema.json"))
    services = {service["service_name"]: service for service in original}
    assert len(overlay) == 26
    for name, changes in overlay.items():
        if "description" in changes:
            assert changes["description"]["text"] != services[name]["description"]
        for kind in ("slots", "intents"):
            elements = {element["name"]: element for element in services[name][kind]}
            for element, texts in changes.get(kind, {}).items():
                for part, text in texts.items():
                    assert text["text"] != elements[element][part]
                    assert text["pivot"] and not text["pivot"].isascii()


def test_texts_of_backtrans_that_are_those_of_v1_to_v5(release: Release) -> None:
    """By language: names, of the same element, descriptions, of the same element."""
    found = overlaps(release, train_variants(release))
    counts = {}
    for language in ("ja", "ko", "zh"):
        hits = [hit for hit in found if hit.location.variant == f"backtrans-{language}"]
        names = [hit.same_element for hit in hits if hit.location.part == "name"]
        texts = [hit.same_element for hit in hits if hit.location.part == "description"]
        counts[language] = len(names), sum(names), len(texts), sum(texts)
    assert counts == {"ja": (48, 31, 6, 1), "ko": (31, 20, 5, 1), "zh": (36, 27, 6, 2)}
    copy = overlaps(release, {"mine": release.schema("train", "v3")})
    assert len(copy) == 531  # of its 562 texts the original has 31 too
    assert all(hit.same_element for hit in copy)
    assert all("v3" in {place.variant for place in hit.equals} for hit in copy)


def test_corrupted_train_schemas_have_nothing_of_v1_to_v5(
    release: Release, release_archive: Path, tmp_path: Path
) -> None:
    places = corrupt(release, tmp_path / "out")
    opened = open_release(release_archive, find_variants(tmp_path / "out"))
    variants = {name: opened.schema("train", name) for name in opened.own_variants}
    assert list(variants) == [place.name for place in places]
    assert overlaps(opened, variants) == []
    original = release.schema("train", "original")
    for schema in variants.values():
        assert schema.service_names() == original.service_names()
        changed = [new != old for new, old in zip(schema.slot_names(), original.slot_names())]
        assert 0.4 < sum(changed) / len(changed) < 0.8
        assert all(
            re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name) for name in schema.slot_names()
        )
        assert all(re.fullmatch("[A-Z][A-Za-z0-9]*", name) for name in schema.intent_names())
    assert len({str(schema.services) for schema in variants.values()}) == 3


@pytest.mark.slow
def test_frames_of_six_configs_line_up(release_archive: Path) -> None:
    rows = {
        config: frames(load(config, "test", release_archive)) for config in ("original", *VARIANTS)
    }
    ids = rows["original"]["frame_id"][:]
    assert len(set(ids)) == len(ids)
    seen = {name.rsplit("/", 1)[1]: is_seen for name, is_seen in zip(ids, rows["v4"]["seen"])}
    assert (sum(seen.values()), len(seen)) == (6, 21)
    for config in ("original", *VARIANTS):
        assert rows[config]["frame_id"][:] == ids
        assert rows[config]["seen"][:] == rows["original"]["seen"][:]


@pytest.mark.slow
@pytest.mark.parametrize("config", ["original", "v5"])
def test_frame_tables_are_the_rows_of_load(
    release: Release, release_archive: Path, config: str
) -> None:
    rows = frames(load(config, "test", release_archive)).data.table
    table = frame_tables(release, "test", config)
    assert table.schema == rows.schema
    assert table.equals(rows)
