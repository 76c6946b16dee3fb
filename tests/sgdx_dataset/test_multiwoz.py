"""A corpus in the layout of MultiWOZ 2.2 is read: one schema, idle frames, values from others."""

from __future__ import annotations

import copy
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset.configs import SPLITS
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.rows import frame_rows, read_dialogues

from .conftest import write

Json = Any
LAYOUTS = Path(__file__).with_name("layouts")
DIALOGUE = json.loads((LAYOUTS / "multiwoz_dialogue.json").read_text())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for folder in SPLITS.values():
        write(tmp_path / "mw" / folder / "dialogues_001.json", [DIALOGUE])
    shutil.copy(LAYOUTS / "multiwoz_schema.json", tmp_path / "mw" / "schema.json")
    return tmp_path / "mw"


def test_the_layout_of_multiwoz_is_read(corpus: Path) -> None:
    archive = shutil.make_archive(str(corpus), "zip", corpus.parent, "mw")
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("notes/schema.json", "[]")  # is none of the release
    for source in (corpus, archive):
        release = open_release(source)
        assert release.seen_services() == {"hotel", "restaurant", "taxi"}
        hotel = release.schema("test", "original")[0]
        assert [slot.possible_values for slot in hotel.slots] == [["north", "south"], []]
        assert hotel.intents[0].result_slots == []
        ((_, (dialogue,)),) = read_dialogues(release, "test")
        rows = [(r["frame_id"], r["slot_values"], r["slots"]) for r in frame_rows(dialogue)]
        values = {"hotel-name": ["Ritz"], "hotel-area": ["north"]}
        span = {"slot": "hotel-name", "start": 2, "exclusive_end": 6}
        assert rows == [
            ("PMUL2.json/0/hotel", values, [span]),
            ("PMUL2.json/2/hotel", values, []),
            ("PMUL2.json/2/taxi", {}, []),
            ("PMUL2.json/2/restaurant", {"restaurant-area": ["north"]}, []),
        ]


def test_in_the_layout_of_sgd_such_frames_are_faults(corpus: Path) -> None:
    """A schema of a split's own says that this is SGD's layout, in which nothing may lack."""
    shutil.copy(corpus / "schema.json", corpus / "test" / "schema.json")
    for path in (corpus / "train", corpus / "dev"):
        shutil.rmtree(path)
    hotel, copied = DIALOGUE["turns"][0]["frames"][0], DIALOGUE["turns"][2]["frames"][2]["slots"]
    for frames, parts in (
        (DIALOGUE["turns"][0]["frames"], ["turn 0", "restaurant"]),
        ([hotel], ["actions"]),
        ([hotel | {"actions": [], "slots": copied}], ["turn 0", "restaurant-area"]),
    ):
        dialogue = copy.deepcopy(DIALOGUE) | {"turns": [DIALOGUE["turns"][0] | {"frames": frames}]}
        write(corpus / "test" / "dialogues_001.json", [dialogue])
        with pytest.raises(SgdxError) as error:
            list(read_dialogues(open_release(corpus), "test"))
        assert all(part in str(error.value) for part in ("PMUL2.json", *parts))
