"""A corpus in the layout of MultiWOZ 2.2 is read: one schema, idle frames, values from others."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset.configs import SPLITS
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.release import open_release
from sgdx_dataset.rows import frame_rows, read_dialogues

from .conftest import write

Json = Any
SCHEMA = [
    {
        "service_name": name,
        "description": name,
        "slots": [
            {"name": f"{name}-area", "description": "", "possible_values": ["north", "south"],
             "is_categorical": True},
            {"name": f"{name}-name", "description": "", "is_categorical": False},
        ],
        "intents": [{"name": f"find_{name}", "description": "", "is_transactional": False,
                     "required_slots": [], "optional_slots": {f"{name}-area": "dontcare"}}],
    }
    for name in ("hotel", "restaurant", "taxi")
]  # fmt: skip


def frame(service: str, intent: str = "NONE", slots: Json = (), **values: str) -> Json:
    state: dict[str, Json] = {"active_intent": intent, "requested_slots": []}
    state["slot_values"] = {f"{service}-{slot}": [value] for slot, value in values.items()}
    return {"service": service, "slots": [*slots], "state": state}


SPAN = {"slot": "hotel-name", "start": 2, "exclusive_end": 6, "value": "Ritz"}
COPY = {"slot": "restaurant-area", "copy_from": "hotel-area", "value": ["north"]}
TURNS = [
    {
        "speaker": "USER", "turn_id": "0", "utterance": "A Ritz in the north.",
        "frames": [frame("hotel", "find_hotel", [SPAN], name="Ritz", area="north"),
                   frame("restaurant"), frame("taxi")],
    },
    {"speaker": "SYSTEM", "turn_id": "1", "utterance": "Yes.", "frames": []},
    {
        "speaker": "USER", "turn_id": "2", "utterance": "A table there, and a taxi.",
        "frames": [frame("hotel", name="Ritz", area="north"), frame("taxi", "find_taxi"),
                   frame("restaurant", "find_restaurant", [COPY], area="north")],
    },
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write(tmp_path / "mw" / "schema.json", SCHEMA)
    for number, folder in enumerate(SPLITS.values()):
        dialogue = {"dialogue_id": f"PMUL{number}.json", "services": ["hotel"], "turns": TURNS}
        write(tmp_path / "mw" / folder / "dialogues_001.json", [dialogue])
    return tmp_path / "mw"


def test_the_layout_of_multiwoz_is_read(corpus: Path) -> None:
    archive = shutil.make_archive(str(corpus), "zip", corpus.parent, "mw")
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
    for folder in SPLITS.values():
        shutil.copy(corpus / "schema.json", corpus / folder / "schema.json")
    for change, parts in (
        (lambda turns: None, ["PMUL2.json", "turn 0"]),
        (lambda turns: turns[0].update(frames=[frame("hotel")]), ["PMUL2.json", "actions"]),
        (
            lambda turns: turns[0].update(frames=[frame("hotel", slots=[COPY]) | {"actions": []}]),
            ["PMUL2.json", "turn 0", "restaurant-area"],
        ),
    ):
        turns = copy.deepcopy(TURNS[:1])
        change(turns)
        dialogue = {"dialogue_id": "PMUL2.json", "services": ["hotel"], "turns": turns}
        write(corpus / "test" / "dialogues_001.json", [dialogue])
        with pytest.raises(SgdxError) as error:
            list(read_dialogues(open_release(corpus), "test"))
        assert all(part in str(error.value) for part in parts)
