"""The corpus of many services: what is shipped is what is written, and what a file may not say."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from maintenance.many import corpus
from maintenance.many.corpus import annotate
from maintenance.many.notation import read_service
from sgdx_dataset import SgdxError, open_release
from sgdx_dataset.rewording.distances import description_distance, name_distance

VARIANTS = ("v1", "v2", "v3", "v4", "v5")
SERVICES = {"train": 112, "validation": 16, "test": 26}


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


SMALL = """\
service Beehives_1: Order hives
  Buy hives
  Hive shop
  Store for apiarists
  Get homes for bees
  Where beekeepers buy

slot kind {top bar; Warre}: Kind of hive
  type: The kind
  model: Which model
  style: The style of it
  make: How it is made
  system: System of the boxes
slot day: Day of delivery
  arrival: Day on which it comes
  date: Date of arrival
  when: When it is there
  wanted_on: The day it is wanted
  ship_day: Day of shipping

intent Order! (kind, day): Order a hive
  Buy: Buy a hive
  Purchase: Purchase one
  Get: Get a hive sent
  PlaceOrder: Place the order
  Acquire: Acquire a home for bees

dialogue
U Order: a [top bar](kind) one, not by Monday
S: [Which day](?day) then?
U: [the 3rd](day)
S CONFIRM: A [top bar](kind) on [April 3rd](day)?
U AFFIRM: yes. [when does it leave](?day)?
"""


def test_acts_states_and_spans(tmp_path: Path) -> None:
    path = tmp_path / "small.txt"
    path.write_text(SMALL)
    (dialogue,) = annotate(path, read_service(path), "1", 7)
    assert (dialogue["dialogue_id"], dialogue["services"]) == ("1_00007", ["Beehives_1"])
    frames = [turn["frames"][0] for turn in dialogue["turns"]]
    states = [frame["state"] for frame in frames[::2]]
    assert [state["slot_values"] for state in states] == [
        {"kind": ["top bar"]},
        {"kind": ["top bar"], "day": ["the 3rd"]},
        {"kind": ["top bar"], "day": ["April 3rd", "the 3rd"]},
    ]
    assert states[-1]["requested_slots"] == ["day"]
    assert frames[2]["slots"] == [{"slot": "day", "start": 0, "exclusive_end": 7}]
    acts = [[action["act"] for action in frame["actions"]] for frame in frames]
    assert acts == [
        ["INFORM_INTENT", "INFORM"],
        ["REQUEST"],
        ["INFORM"],
        ["CONFIRM", "CONFIRM"],
        ["AFFIRM", "REQUEST"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("[top bar](kind) one", "[log](kind) one", 29),
        ("[the 3rd](day)", "[it](day=May 5th)", 31),
        ("[the 3rd](day)", "[the 3rd](dey)", 31),
        ("U Order:", "U Ordr:", 29),
        ("U Order:", "U:", 29),
        ("S CONFIRM: A", "S: A", 32),
        ("S CONFIRM: A", "S ASK: A", 32),
        ("S CONFIRM: A", "S OFFER CONFIRM: A", 32),
        ("U AFFIRM: yes.", "U SELECT: yes.", 33),
        ("S: [Which", "U: [Which", 30),
        ("(kind, day): Order", "(kind, hour): Order", 21),
        ("  style: The style of it\n", "", 8),
        ("a [top bar]", "a [top bar", 29),
        ("dialogue\n", "", 28),
    ],
)
def test_faults_name_their_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    path = tmp_path / "small.txt"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new))
    with pytest.raises(SgdxError, match=rf"small\.txt:{line}:"):
        annotate(path, read_service(path), "1", 0)
