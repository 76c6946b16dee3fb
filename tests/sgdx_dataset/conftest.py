"""A release of one service in two dialogues, small enough to read, for tests to break."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from sgdx_cli import main
from sgdx_dataset.source import datasets_cache

from ..conftest import Run

Json = Any
Edit = Callable[[Path], None]


# How a program begins in which nothing of this package can be imported.
WITHOUT_US = """
import importlib.abc, json, sys

class NoSgdx(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("sgdx_dataset", "sgdx_metric", "baselines"):
            raise ImportError(name)

sys.meta_path.insert(0, NoSgdx())
"""


def slot(name: str, *values: str) -> Json:
    fields = {"is_categorical": bool(values), "possible_values": [*values]}
    return {"name": name, "description": name, **fields}


def service(name: str, slots: tuple[str, str, str], intents: tuple[str, str]) -> Json:
    """A service that lets flats: slots for a city, an area and ``intent`` (rent or buy)."""
    city, area, purpose = slots
    find = {
        "name": intents[0],
        "description": "find",
        "is_transactional": False,
        "required_slots": [city, purpose],
        "optional_slots": {area: "dontcare"},
        "result_slots": [city, area, purpose],
    }
    visit = {
        "name": intents[1],
        "description": "visit",
        "is_transactional": True,
        "required_slots": [area],
        "optional_slots": {},
        "result_slots": [city, area],
    }
    return {
        "service_name": name,
        "description": f"{name} lets flats",
        "slots": [slot(city), slot(area), slot(purpose, "rent", "buy")],
        "intents": [find, visit],
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


def turn(speaker: str, utterance: str, actions: list[Json], **frame: Json) -> Json:
    made = {"service": "Flats_1", "slots": [], "actions": actions, **frame}
    return {"speaker": speaker, "utterance": utterance, "frames": [made]}


VALUES = {"area": ["Weststadt"], "city": ["Ulm"], "intent": ["rent"]}
CALL = {"method": "FindFlat", "parameters": {"area": "Weststadt", "city": "Ulm", "intent": "rent"}}
DIALOGUE = {
    "dialogue_id": "1_00000",
    "services": ["Flats_1"],
    "turns": [
        turn(
            "USER",
            "I want to rent a flat in Ulm, in the Weststadt",
            [
                act("INFORM_INTENT", "intent", "FindFlat"),
                act("INFORM", "intent", "rent"),
                act("INFORM", "city", "Ulm"),
                act("INFORM", "area", "Weststadt"),
            ],
            slots=[
                {"slot": "city", "start": 25, "exclusive_end": 28},
                {"slot": "area", "start": 37, "exclusive_end": 46},
            ],
            state={"active_intent": "FindFlat", "requested_slots": ["area"], "slot_values": VALUES},
        ),
        turn(
            "SYSTEM",
            "I found 1. Do you want to visit it?",
            [
                act("INFORM_COUNT", "count", "1"),
                act("OFFER_INTENT", "intent", "VisitFlat"),
                act("REQUEST", "intent", "buy"),
                act("REQ_MORE"),
            ],
            service_call=CALL,
            service_results=[{"area": "Weststadt", "city": "Ulm"}, {}],
        ),
        turn(
            "USER",
            "No, thanks.",
            [act("NEGATE"), act("THANK_YOU")],
            state={"active_intent": "NONE", "requested_slots": [], "slot_values": VALUES},
        ),
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
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run a command as ``run`` of all tests does, but those of ``sgdx`` in this process.

    A process of its own takes seconds, in which it imports what this one has imported already.
    """

    def run_here(module: str, *arguments: object, **environment: str) -> CompletedProcess[str]:
        if not module.startswith(("sgdx_", "baselines.")):
            return run(module, *arguments, **environment)
        words = [*module.split(".")[1:], *map(str, arguments)]
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr("datasets.config.HF_DATASETS_CACHE", datasets_cache())
            try:
                status = main(words)
            except SystemExit as end:
                status = int(end.code or 0)
        return CompletedProcess([], status, *capsys.readouterr())

    return run_here
