"""On the real release (partial or whole): counts, round trip, converter, clashes, augmentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import VARIANTS, frames, load
from sgdx_dataset.configs import SPLITS
from sgdx_dataset.release import Release, open_release
from sgdx_dataset.row_datasets import release_dialogue
from sgdx_dataset.rows import row_tables
from sgdx_dataset.source import COMMIT

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
    left_out = release.dialogue_files(split)[count:]
    return replace(release, files={f: release.files[f] for f in release.files if f not in left_out})


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
    made = dict(row_tables(release, split, "original"))
    for file, dialogues in dialogues_of(release, split):
        assert [release_dialogue(row) for row in made[file].to_pylist()] == dialogues, file


@pytest.mark.parametrize(("variant", "files"), FEW_VARIANTS)
def test_variants_are_what_the_fixed_converter_makes(
    release: Release, variant: str, files: int
) -> None:
    release = with_files(release, "test", files)
    original, schema = schemas_of(release, variant)
    made = dict(row_tables(release, "test", variant))
    for file, dialogues in dialogues_of(release, "test"):
        expected = [convert(dialogue, original, schema) for dialogue in dialogues]
        assert [release_dialogue(row) for row in made[file].to_pylist()] == expected, file


@pytest.mark.usefixtures("partial")
@pytest.mark.slow
def test_782_test_frames_of_v5_that_only_the_fixed_converter_gets_right(release: Release) -> None:
    original, schema = schemas_of(release, "v5")
    made = dict(row_tables(release, "test", "v5"))
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


@pytest.mark.parametrize("language", ["ja", "ko", "zh"])
def test_overlays_hold_only_what_differs(release: Release, language: str) -> None:
    overlay = json.loads(release.read(f"backtrans/{language}.json"))
    original = json.loads(release.read("train/schema.json"))
    services = {service["service_name"]: service for service in original}
    assert len(overlay) == 26
    for name, changes in overlay.items():
        texts = [(services[name], {k: v for k, v in changes.items() if k == "description"})]
        for kind in ("slots", "intents"):
            elements = {element["name"]: element for element in services[name][kind]}
            texts += [(elements[of], parts) for of, parts in changes.get(kind, {}).items()]
        for element, parts in texts:
            assert all(text["text"] != element[part] for part, text in parts.items())
            assert all(t["pivot"] and not t["pivot"].isascii() for t in parts.values())


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
