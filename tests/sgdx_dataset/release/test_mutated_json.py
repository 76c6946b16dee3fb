"""Each kind of JSON file that the dataset reads, with a value of another kind, or broken bytes."""

from __future__ import annotations

import json
from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sgdx_dataset.release.dialogue import Frame, read_dialogues
from sgdx_dataset.release.new_words import apply_words, read_words
from sgdx_dataset.release.open import SAMPLE
from sgdx_dataset.release.schema import read_schema
from sgdx_dataset.rewording.pool import check_pool, read_pool
from sgdx_dataset.rows.dialogue_rows import dialogue_columns
from sgdx_dataset.rows.name_codes import Coder

from ...mutations import Json, broken, is_read, mutations

SCHEMA = json.loads((SAMPLE / "train" / "schema.json").read_bytes())[:1]
ORIGINAL = read_schema(json.dumps(SCHEMA).encode(), "file")
SERVICE = SCHEMA[0]["service_name"]
SLOTS = [slot["name"] for slot in SCHEMA[0]["slots"]]
INTENTS = [intent["name"] for intent in SCHEMA[0]["intents"]]


def short_dialogue() -> Json:
    """The beginning of a dialogue of the first service alone."""
    files = sorted(SAMPLE.glob("train/dialogues_*.json"))
    dialogues = (dialogue for file in files for dialogue in json.loads(file.read_bytes()))
    chosen = next(dialogue for dialogue in dialogues if dialogue["services"] == [SERVICE])
    return {**chosen, "turns": chosen["turns"][:4]}


def paraphrases(*names: str) -> Json:
    return {"name": names, "description": ["One", "Two"]}


def read_columns(data: bytes) -> object:
    dialogues = read_dialogues(data, "file", Frame)
    return dialogue_columns(dialogues, Coder(ORIGINAL), "file")


# Of each kind a valid file, and what reads and checks it.
KINDS: dict[str, tuple[Json, Callable[[bytes], object]]] = {
    "schema": (SCHEMA, lambda data: read_schema(data, "file")),
    "dialogues": ([short_dialogue()], read_columns),
    "overlay": (
        {SERVICE: json.loads((SAMPLE / "backtrans" / "ja.json").read_bytes())[SERVICE]},
        lambda data: apply_words(read_words(data, "file"), {"train": ORIGINAL}),
    ),
    "rewording": (
        {
            SERVICE: {
                "description": "D",
                "slots": {SLOTS[0]: "new"},
                "intents": {INTENTS[0]: {"name": "New"}},
            }
        },
        lambda data: apply_words(read_words(data, "file"), {"train": ORIGINAL}),
    ),
    "pool": (
        {
            SERVICE: {
                "description": ["One", "Two"],
                "slots": {name: paraphrases(f"{name}_b", f"{name}_c") for name in SLOTS},
                "intents": {name: paraphrases(f"{name}B", f"{name}C") for name in INTENTS},
            }
        },
        lambda data: check_pool(read_pool(data, "file"), [ORIGINAL]),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_kind_is_read_or_refused(kind: str) -> None:
    value, read = KINDS[kind]

    @settings(max_examples=80, deadline=None)
    @given(data=mutations(value) | st.binary(max_size=50))
    def check(data: bytes) -> None:
        is_read(read, data, "file")

    assert is_read(read, json.dumps(value).encode(), "file")
    check()


@pytest.mark.parametrize("kind", KINDS)
def test_broken_json_is_refused(kind: str) -> None:
    value, read = KINDS[kind]
    assert [how for how, data in broken(value).items() if is_read(read, data, "file")] == []
