"""On the real release (partial or whole): counts, round trip, converter, clashes, augmentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import VARIANTS, frame_tables
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

# Dialogues and frames of the partial copy of commit e852981; a whole one has 16,142, 2,482 and
# 4,201 dialogues.
PARTIAL = {"train": (12_174, 118_167), "validation": (2_098, 20_542), "test": (2_921, 26_802)}


@pytest.fixture(scope="module")
def release(release_archive: Path) -> Release:
    return open_release(release_archive)


@pytest.fixture(scope="module")
def partial(release: Release, release_archive: Path) -> None:
    if COMMIT not in release_archive.name or len(release.dialogue_files("test")) != 24:
        pytest.skip("these figures are of the partial copy with 24 test files")


def made(
    release: Release, split: str, variant: str, files: int
) -> Iterator[tuple[list[Json], list[Json]]]:
    """The original dialogues of the first files of a split, and what they are under a variant."""
    left_out = release.dialogue_files(split)[files:]
    few = replace(release, files={f: release.files[f] for f in release.files if f not in left_out})
    for file, table in row_tables(few, split, variant):
        yield json.loads(release.read(file)), [release_dialogue(row) for row in table.to_pylist()]


def schemas_of(release: Release, variant: str) -> tuple[Json, Json]:
    files = [release.schema_file("test", config) for config in ("original", variant)]
    return json.loads(release.read(files[0])), json.loads(release.read(files[1]))


@pytest.mark.usefixtures("partial")
@pytest.mark.slow
def test_counts_and_frames_of_six_configs_line_up(release: Release) -> None:
    columns, services = ["frame_id", "dialogue_id", "seen"], ["frame_id", "seen"]
    for split, counts in PARTIAL.items():
        rows = frame_tables(release, split, "original", columns)
        assert (len(rows["dialogue_id"].unique()), len(rows)) == counts
    for config in VARIANTS:
        of_test = frame_tables(release, "test", config, services)
        assert of_test.equals(rows.select(services))
    seen = {row["frame_id"].rsplit("/", 1)[1]: row["seen"] for row in of_test.to_pylist()}
    assert (sum(seen.values()), len(seen)) == (6, 21)
    assert len(of_test["frame_id"].unique()) == len(of_test)


@pytest.mark.parametrize(("split", "files"), FEW_FILES)
def test_original_comes_back_value_for_value(release: Release, split: str, files: int) -> None:
    for dialogues, found in made(release, split, "original", files):
        assert found == dialogues


@pytest.mark.parametrize(("variant", "files"), FEW_VARIANTS)
def test_variants_are_what_the_fixed_converter_makes(
    release: Release, variant: str, files: int
) -> None:
    schemas = schemas_of(release, variant)
    for dialogues, found in made(release, "test", variant, files):
        assert found == [convert(dialogue, *schemas) for dialogue in dialogues]


@pytest.mark.usefixtures("partial")
@pytest.mark.slow
def test_782_test_frames_of_v5_that_only_the_fixed_converter_gets_right(release: Release) -> None:
    schemas, changed = schemas_of(release, "v5"), list[str]()
    for dialogues, found in made(release, "test", "v5", ALL):
        for dialogue, fixed in zip(dialogues, found, strict=True):
            old = convert(dialogue, *schemas, fixed=False)
            changed += [
                b["service"]
                for before, after in zip(old["turns"], fixed["turns"])
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
