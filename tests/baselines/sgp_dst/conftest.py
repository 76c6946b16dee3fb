"""A service, a recipe of seconds and a run trained by it, shared by the tests of SGP-DST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sgdx_dataset.schema import Service, read_service

from ..conftest import train_once

Row = dict[str, Any]


def slot(name: str, description: str, *values: str) -> Row:
    return {
        "name": name,
        "description": description,
        "is_categorical": bool(values),
        "possible_values": [*values],
    }


def intent(name: str, description: str, required: list[str], optional: list[str]) -> Row:
    return {
        "name": name,
        "description": description,
        "is_transactional": False,
        "required_slots": required,
        "optional_slots": [{"slot": other, "value": ""} for other in optional],
        "result_slots": [],
    }


CABS: Row = {
    "service_name": "Cabs_9",
    "description": "Rides through town",
    "slots": [
        slot("destination", "Where the ride goes to"),
        slot("pickup_time", "When the cab comes"),
        slot("shared", "Whether others ride along", "True", "False"),
        slot("riders", "Number of people", "1", "2", "3"),
        slot("fare", "What it costs"),
    ],
    "intents": [
        intent("OrderCab", "Call a cab", ["destination", "pickup_time"], ["shared"]),
        intent("PlanRide", "Look up a ride", ["destination"], ["riders"]),
    ],
}
MUSEUMS: Row = {
    "service_name": "Museums_9",
    "description": "Museums to visit",
    "slots": [
        slot("museum", "Name of the museum"),
        slot("address", "Street and number"),
        slot("tickets", "How many tickets", "1", "2", "3"),
    ],
    "intents": [intent("BuyTickets", "Buy tickets", ["museum"], ["tickets"])],
}


@pytest.fixture
def cabs() -> Service:
    return read_service(CABS)


@pytest.fixture
def museums() -> Service:
    return read_service(MUSEUMS)


def part(epochs: int, negatives: float = 1.0) -> Row:
    return {"epochs": epochs, "warmup": 0.1, "max_tokens": 144, "negatives": negatives}


SETTINGS: Row = {
    "tracker": "sgp_dst",
    "model": "tiny",
    "parts": {name: part(2) for name in ("intent", "combine", "copy", "cross")},
    "steps": 12,
    "batch_size": 8,
    "token_budget": 1024,
    "optimizer": "adamw",
    "learning_rate": 0.001,
    "clip": 1.0,
    "precision": "fp32",
    "log_every": 4,
    "save_every": 4,
    "evaluate_every": 12,
    "evaluate_frames": 20,
    "expected": "nothing",
}


def write_recipe(path: Path, **settings: Any) -> Path:
    """A recipe file: the settings above, changed."""
    path.write_bytes(msgspec.yaml.encode(SETTINGS | settings))
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder, with all four sub-models."""
    return train_once(tmp_path_factory, write_recipe)
