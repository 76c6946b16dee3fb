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


DIALOGUE = json.loads((Path(__file__).parent / "layouts" / "dialogue.json").read_text())


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
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hugging Face cache of the test's own, of a user who names no source."""
    folder = tmp_path / "home" / "datasets"
    monkeypatch.setenv("HF_HOME", str(folder.parent))
    monkeypatch.setenv("SGDX_SOURCE", "")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", folder)
    return folder


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
