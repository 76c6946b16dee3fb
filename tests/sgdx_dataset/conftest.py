"""A release of one service in two dialogues, small enough to read, for tests to break."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from sgdx_dataset.__main__ import main
from sgdx_dataset.release.remembered import datasets_cache

from ..conftest import Run

Json = Any
Edit = Callable[[Path], None]


def service(name: str, slots: tuple[str, str, str], intents: tuple[str, str]) -> Json:
    """A service that lets flats: slots for a city, an area and ``intent`` (rent or buy)."""
    city, area, purpose = slots
    find, visit = intents
    return {
        "service_name": name,
        "description": f"{name} lets flats",
        "slots": [
            {"name": city, "description": city, "is_categorical": False, "possible_values": []},
            {"name": area, "description": area, "is_categorical": False, "possible_values": []},
            {
                "name": purpose,
                "description": purpose,
                "is_categorical": True,
                "possible_values": ["rent", "buy"],
            },
        ],
        "intents": [
            {
                "name": find,
                "description": "find",
                "is_transactional": False,
                "required_slots": [city, purpose],
                "optional_slots": {area: "dontcare"},
                "result_slots": [city, area, purpose],
            },
            {
                "name": visit,
                "description": "visit",
                "is_transactional": True,
                "required_slots": [area],
                "optional_slots": {},
                "result_slots": [city, area],
            },
        ],
    }


ORIGINAL = service("Flats_1", ("city", "area", "intent"), ("FindFlat", "VisitFlat"))
# In v1 the new name of "area" is the old name of "city"; in v2 the two are swapped.
SCHEMAS = {
    "original": ORIGINAL,
    "v1": service("Flats_11", ("town", "city", "purpose"), ("SearchFlat", "SeeFlat")),
    "v2": service("Flats_12", ("area", "city", "aim"), ("LookForFlat", "TourFlat")),
    "v3": service("Flats_13", ("place", "quarter", "intent"), ("GetFlat", "ViewFlat")),
    "v4": service("Flats_14", ("p", "q", "r"), ("F", "V")),
    "v5": service("Flats_15", ("x", "y", "count"), ("intent", "G")),
}


def act(name: str, slot: str = "", *values: str) -> Json:
    return {"act": name, "slot": slot, "values": [*values], "canonical_values": [*values]}


DIALOGUE = {
    "dialogue_id": "1_00000",
    "services": ["Flats_1"],
    "turns": [
        {
            "speaker": "USER",
            "utterance": "I want to rent a flat in Ulm, in the Weststadt",
            "frames": [
                {
                    "service": "Flats_1",
                    "slots": [
                        {"slot": "city", "start": 25, "exclusive_end": 28},
                        {"slot": "area", "start": 37, "exclusive_end": 46},
                    ],
                    "actions": [
                        act("INFORM_INTENT", "intent", "FindFlat"),
                        act("INFORM", "intent", "rent"),
                        act("INFORM", "city", "Ulm"),
                        act("INFORM", "area", "Weststadt"),
                    ],
                    "state": {
                        "active_intent": "FindFlat",
                        "requested_slots": ["area"],
                        "slot_values": {"area": ["Weststadt"], "city": ["Ulm"], "intent": ["rent"]},
                    },
                }
            ],
        },
        {
            "speaker": "SYSTEM",
            "utterance": "I found 1. Do you want to visit it?",
            "frames": [
                {
                    "service": "Flats_1",
                    "slots": [],
                    "actions": [
                        act("INFORM_COUNT", "count", "1"),
                        act("OFFER_INTENT", "intent", "VisitFlat"),
                        act("REQUEST", "intent", "buy"),
                        act("REQ_MORE"),
                    ],
                    "service_call": {
                        "method": "FindFlat",
                        "parameters": {"area": "Weststadt", "city": "Ulm", "intent": "rent"},
                    },
                    "service_results": [{"area": "Weststadt", "city": "Ulm"}, {}],
                }
            ],
        },
        {
            "speaker": "USER",
            "utterance": "No, thanks.",
            "frames": [
                {
                    "service": "Flats_1",
                    "slots": [],
                    "actions": [act("NEGATE"), act("THANK_YOU")],
                    "state": {
                        "active_intent": "NONE",
                        "requested_slots": [],
                        "slot_values": {"area": ["Weststadt"], "city": ["Ulm"], "intent": ["rent"]},
                    },
                }
            ],
        },
    ],
}


def write(path: Path, value: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.fixture
def mini(tmp_path: Path) -> Path:
    """The release's layout with the dialogue above in every split, in a directory."""
    root = tmp_path / "mini"
    for split in ("train", "dev", "test"):
        for config, schema in SCHEMAS.items():
            folder = root if config == "original" else root / "sgd_x" / "data" / config
            write(folder / split / "schema.json", [schema])
        second = copy.deepcopy(DIALOGUE) | {"dialogue_id": "1_00001"}
        write(root / split / "dialogues_001.json", [DIALOGUE, second])
    return root


@pytest.fixture
def run(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run a command as ``run`` of all tests does, but those of this room in this process.

    A process of its own takes seconds, in which it imports what this one has imported already.
    """

    def run_here(module: str, *arguments: object, **environment: str) -> CompletedProcess[str]:
        if module != "sgdx_dataset":
            return run(module, *arguments, **environment)
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr("datasets.config.HF_DATASETS_CACHE", datasets_cache())
            try:
                status = main(list(map(str, arguments)))
            except SystemExit as end:
                status = int(end.code or 0)
        return CompletedProcess([], status, *capsys.readouterr())

    return run_here
