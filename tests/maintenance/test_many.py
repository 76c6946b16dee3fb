"""The corpus of many services: what is shipped is what is written, and what a file may not say."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from maintenance.many import corpus
from sgdx_dataset import open_release
from sgdx_dataset.rewording.distances import description_distance, name_distance

VARIANTS = ("v1", "v2", "v3", "v4", "v5")
SERVICES = {"train": 289, "validation": 16, "test": 26}


@pytest.fixture(scope="module")
def shipped() -> Any:
    return open_release("many")


def test_what_is_shipped_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shipped: Any
) -> None:
    archive = corpus.ARCHIVE
    monkeypatch.setattr(corpus, "ARCHIVE", tmp_path / "many.zip")
    corpus.build()
    with zipfile.ZipFile(tmp_path / "many.zip") as new, zipfile.ZipFile(archive) as old:
        assert new.namelist() == old.namelist()
        assert all(new.read(name) == old.read(name) for name in old.namelist())
    assert shipped.version() == "many"


def test_its_size_and_its_splits_by_service(shipped: Any) -> None:
    services = {
        split: {s.service_name for s in shipped.schema(split, "original")}
        for split in ("train", "validation", "test")
    }
    assert {split: len(names) for split, names in services.items()} == SERVICES
    assert len(set().union(*services.values())) == sum(SERVICES.values()) >= 150


def test_words_are_ordered_from_the_nearest_to_the_farthest(shipped: Any) -> None:
    variants = [shipped.schema("test", name) for name in ("original", *VARIANTS)]
    for service, *others in zip(*variants, strict=True):
        texts = [other.description for other in others]
        distances = [description_distance(service.description, text) for text in texts]
        assert distances == sorted(distances) and len({service.description, *texts}) == 6
        for position, slot in enumerate(service.slots):
            names = [other.slots[position].name for other in others]
            distances = [name_distance(slot.name, name) for name in names]
            assert distances == sorted(distances) and len({slot.name, *names}) == 6


def test_every_value_is_one_of_its_slot_or_was_said(shipped: Any) -> None:
    """Read from the release, not from the files that it is made of."""
    count = 0
    for split in ("train", "validation", "test"):
        slots = {
            (service.service_name, slot.name): slot
            for service in shipped.schema(split, "original")
            for slot in service.slots
        }
        for file in shipped.dialogue_files(split):
            for dialogue in json.loads(shipped.read(file)):
                said = ""
                for turn in dialogue["turns"]:
                    said += turn["utterance"] + "\n"
                    for frame in turn["frames"]:
                        for span in frame["slots"]:
                            start, end = span["start"], span["exclusive_end"]
                            assert turn["utterance"][start:end].strip()
                        for name, values in frame.get("state", {}).get("slot_values", {}).items():
                            slot, count = slots[frame["service"], name], count + 1
                            if slot.is_categorical:
                                assert values[0] in [*slot.possible_values, "dontcare"]
                            else:
                                assert all(v == "dontcare" or v in said for v in values), dialogue
    assert count > 5_000
