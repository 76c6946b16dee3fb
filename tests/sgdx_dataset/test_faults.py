"""A file of a release, or of the user's own words, at fault: it is named with what is in it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.export import export
from sgdx_dataset.release import open_release

from .conftest import DIALOGUE, ORIGINAL, SCHEMAS, service, write

Json = Any
REGION = {"name": {"pivot": "区域", "text": "region"}}
SECOND = copy.deepcopy(DIALOGUE) | {"dialogue_id": "1_00001"}
MINE = service("Homes_1", ("ville", "quartier", "but"), ("TrouverAppart", "VisiterAppart"))
FILES: dict[str, Json] = {
    "test/schema.json": [ORIGINAL],
    "sgd_x/data/v1/test/schema.json": [SCHEMAS["v1"]],
    "test/dialogues_001.json": [DIALOGUE, SECOND],
    "test/dialogues_002.json": [DIALOGUE | {"dialogue_id": "1_00002"}],
    "mine.json": {"Flats_1": {"slots": {"city": "town"}, "intents": {"FindFlat": "Search"}}},
    "zh.json": {"Flats_1": {"slots": {"area": REGION}}},
    "own/test/schema.json": [MINE],
}
SCHEMA, V1, ONE, TWO, WORDS, OVERLAY, OWN = FILES
FRAME = "1 turns 0 frames 0"
UNLABELLED = [{"speaker": "USER", "utterance": "A flat in Rome."}]
# In a place of a file another value, or none, and what is found there.
FAULTS: list[tuple[str, str, Json, str]] = [
    # Were it accepted, frame ids would name another service, and renaming would lose a slot.
    (SCHEMA, "0 service_name", "A/Flats_1", "service A/Flats_1: found a '/'"),
    (SCHEMA, "0 slots 1 name", "city", "service Flats_1: slot city "),
    (SCHEMA, "0 intents 1 name", "FindFlat", "service Flats_1: intent FindFlat "),
    (SCHEMA, "1", ORIGINAL, "service Flats_1 "),
    (SCHEMA, "0 description", None, "`description`"),
    (SCHEMA, "0 slots", 5, ".slots"),
    (V1, "0 slots 2", None, "slots is 2, expected 3 as in"),
    (V1, "0 intents 1", None, "intents is 1, expected 2"),
    (V1, "0 slots 2 is_categorical", False, "slot purpose: is_categorical is False"),
    (V1, "0 slots 2 possible_values", ["buy"], "slot purpose: possible_values is ['buy'], exp"),
    (V1, "0 intents 1 is_transactional", False, "intent SeeFlat: is_transactional"),
    (V1, "0 intents 1 required_slots", ["town"], "SeeFlat: required_slots is ['town'], expected"),
    (V1, "0 intents 0 optional_slots", {"city": "x"}, "optional_slots is {'city': 'x'}, expected"),
    (V1, "0 intents 0 result_slots", ["city"], "intent SearchFlat: result_slots"),
    (ONE, f"{FRAME} state slot_values rent", ["9"], "1_00001: 'rent' is no slot of service Flat"),
    (ONE, f"{FRAME} actions 1 slot", "rent", "1_00001: 'rent' is no slot of service Flats_1"),
    (ONE, f"{FRAME} state active_intent", "Rent", "1_00001: 'Rent' is no intent of service Flats"),
    (ONE, f"{FRAME} actions 0 values", ["Rent"], "expected one of FindFlat, VisitFlat"),
    (ONE, "1 services 1", "Flats_2", "dialogue 1_00001: 'Flats_2' is no service"),
    (ONE, "1 turns 0 frames 1", DIALOGUE["turns"][0]["frames"][0], "dialogue 1_00001: turn 0: "),
    (ONE, "1 turns 1 frames 0 service_results", None, "dialogue 1_00001: turn 1: "),
    (ONE, f"{FRAME} service", "Flats_2", "turn 0: frames of ['Flats_2']"),
    (ONE, f"{FRAME} state slot_values city", [], "length >= 1"),
    (ONE, f"{FRAME} slots 0 start", 3_000_000_000, "<= 2147483647"),
    (ONE, f"{FRAME} slots 0 exclusive_end", 47, "turn 0: found the span"),
    (ONE, f"{FRAME} slots 0 exclusive_end", 24, "'exclusive_end': 24"),
    (ONE, "1 turns", UNLABELLED, "dialogue 1_00001: not a list of dialogues with labels ('sgdx tr"),
    (ONE, "", [], "has no dialogue"),
    (TWO, "0 dialogue_id", "1_00001", "dialogue 1_00001 is in test/dialogues_001.json"),
    (WORDS, "Flat_1", {}, "service Flat_1 "),
    (WORDS, "Flats_1 slots citty", "town", "service Flats_1: slot citty "),
    (WORDS, "Flats_1 intents Find", "S", "service Flats_1: intent Find "),
    (WORDS, "Flats_1 slots city", {"nam": "t"}, "service Flats_1: slot city"),
    (WORDS, "Flats_1 intents FindFlat", "NONE", "intent FindFlat: name is"),
    (WORDS, "Flats_1 slots city", " ", "slot city: name is ' '"),
    (WORDS, "Flats_1 slots city", "area", "slot area "),
    (OVERLAY, "Flats_1 slots city", REGION, "slot region "),
    (OWN, "0", SCHEMAS["v1"] | {"slots": []}, "service Flats_11: "),
    (OWN, "", [], "schema: number of services is 0, expected 1"),
]


@pytest.mark.parametrize(("file", "place", "value", "found"), FAULTS)
def test_a_fault_is_named(
    mini: Path, tmp_path: Path, file: str, place: str, value: Json, found: str
) -> None:
    content = copy.deepcopy(FILES[file])
    *steps, last = [int(step) if step.isdigit() else step for step in place.split()] or [""]
    part = content
    for step in steps:
        part = part[step]
    if value is None:
        del part[last]
    elif last == "":
        content = value
    elif isinstance(part, list) and last == len(part):
        part.append(value)
    else:
        part[last] = value
    is_of_it = file.startswith(("test/", "sgd_x/"))
    for name, whole in FILES.items():
        root = mini if name.startswith(("test/", "sgd_x/")) else tmp_path
        write(root / name, content if name == file else whole)
    with pytest.raises(SgdxError) as error:
        own = {name: tmp_path / name for name in ("mine.json", "zh.json", "own")}
        release = open_release(mini, {Path(name).stem: path for name, path in own.items()})
        export(release, "own" if file == OWN else "v1", tmp_path / "out", ["test"])
    line = str(error.value)
    assert line.startswith(f"{mini}: {file}: " if is_of_it else f"{tmp_path}/{file}: ")
    assert found in line and "\n" not in line and not (tmp_path / "out").exists()


def test_json_that_is_cut_is_named(mini: Path) -> None:
    (mini / "test" / "dialogues_001.json").write_text(json.dumps([DIALOGUE])[:-5])
    with pytest.raises(SgdxError, match=f"^{mini}: test/dialogues_001.json: not a list of dia"):
        export(open_release(mini), "v1", mini / "out", ["test"])
