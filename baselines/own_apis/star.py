"""Dialogues of STAR, in which people talk to people about 24 APIs (Mosbach et al. 2020).

Read from a copy of github.com/RasaHQ/STAR; none of it is part of this project. The state is what
the wizard asked the API for at its first query, as far as somebody had said it in these words, or
it is a yes or no. Only dialogues about one task in which all goes as planned are taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json

from .suite import OwnDialogue

_UNSAID = (
    "RequestType",
    "LongString",
    "CategoricalMultiple",
)  # types that no user gives as a value
_EQUAL = re.compile(r"api\.is_equal_to\((.+)\)")
Json = dict[str, Any]


def read_star(folder: Path, count: int) -> list[OwnDialogue]:
    """So many dialogues of a copy of STAR, evenly spaced over those that can be used."""
    services = {
        path.stem: _service(path.stem, _read(path))
        for path in sorted(folder.glob("apis/apis/*.json"))
    }
    paths = sorted(folder.glob("dialogues/*.json"), key=lambda path: int(path.stem))
    if not services or not paths:
        raise SgdxError(f"{folder}: is no copy of STAR, expected apis/apis and dialogues")
    usable = [found for path in paths for found in _dialogues(_read(path), services)]
    step = max(1, len(usable) // count)
    return sorted(
        usable[::step][:count], key=lambda dialogue: str(dialogue.service["service_name"])
    )


def _read(path: Path) -> Json:
    return decode_json(read_file(path), Json, str(path), "a file of STAR")


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def _service(name: str, api: Json) -> Json:
    """An API as the schema of a service."""
    slots = []
    for entry in api["input"]:
        if entry["Type"] not in _UNSAID:
            slot = {"name": "_".join(_words(entry["Name"])), "description": entry["ReadableName"]}
            if entry["Type"] == "Boolean":
                slot["possible_values"] = ["True", "False"]
            slots.append(slot)
    title = " ".join(_words(name.title().replace("_", "")))
    optional = {slot["name"]: "dontcare" for slot in slots}
    intent = {
        "name": name.title().replace("_", ""),
        "description": title,
        "optional_slots": optional,
    }
    return {"service_name": name, "description": title, "slots": slots, "intents": [intent]}


def _dialogues(dialogue: Json, services: Mapping[str, Json]) -> Iterator[OwnDialogue]:
    """A dialogue up to its first query, if it can be used."""
    scenario, utterances = dialogue["Scenario"], list[str]()
    if scenario.get("MultiTask") or not scenario.get("Happy"):
        return
    for event in dialogue["Events"]:
        speaker, text = event.get("Agent"), event.get("Text", "").strip()
        if event.get("Action") == "query":
            if len(utterances) % 2 == 0:
                utterances = utterances[:-1]  # the wizard spoke last
            service = services.get(event.get("APIName", ""))
            state = _state(event.get("Constraints", ()), service, utterances) if service else {}
            if service and state and utterances:
                yield OwnDialogue(str(dialogue["DialogueID"]), service, utterances, state)
            return
        if speaker == "Wizard" and event.get("Action") in ("utter", "pick_suggestion"):
            turn = 1
        elif speaker == "User" and event.get("Action") == "utter":
            turn = 0
        else:
            continue
        if not text or (turn == 1 and not utterances):
            continue
        if len(utterances) % 2 == turn:
            utterances.append(text)
        else:
            utterances[-1] += f" {text}"


def _state(
    constraints: Sequence[Json], service: Json, utterances: Sequence[str]
) -> dict[str, list[str]]:
    """The values that were asked for by name, and said or a yes or no."""
    slots = {slot["name"]: slot for slot in service["slots"]}
    said = "\n".join(utterances).casefold()
    state = {}
    for name, text in (item for constraint in constraints for item in constraint.items()):
        match = _EQUAL.fullmatch(text)
        try:
            value = json.loads(match[1] if match else text)
        except ValueError:  # such as api.is_at_most(5)
            continue
        if isinstance(value, list) and len(value) == 1:
            (value,) = value
        slot = slots.get("_".join(_words(name)))
        if slot is None or not isinstance(value, bool | int | str):
            continue
        if "possible_values" in slot or str(value).casefold() in said:
            state[slot["name"]] = [str(value)]
    return state
