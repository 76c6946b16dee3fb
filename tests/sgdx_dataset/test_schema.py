"""Schemas: what their slots may hold, reading them, and lining variants up with the original."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import msgspec
import pytest

from sgdx_dataset import SgdxError, frame_tables, open_release
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.words import check_variant, read_schema

from .conftest import ORIGINAL, SCHEMAS

Json = Any


def schema_of(service: Json, path: str = "v1/schema.json") -> list[Service]:
    return read_schema(json.dumps([service]).encode(), path)


def test_slots_of_intents_and_what_they_may_hold() -> None:
    (flats,) = schema_of(ORIGINAL)
    flats.slots[0].possible_values.append("Ulm")  # an example, as it is not categorical
    assert (flats.required("VisitFlat"), flats.optional("FindFlat")) == (["area"], ["area"])
    assert (flats.required("NONE"), flats.optional("NONE")) == ([], [])
    flats.intents[0].result_slots.append("fare")
    assert flats.tracked == {"city", "area", "intent"}
    assert list(flats.intents_by_name) == ["FindFlat", "VisitFlat"]
    city, purpose = flats.slot("city"), flats.slot("intent")
    assert (city.values, purpose.values) == ([], ["rent", "buy"])
    assert city.options == [None, "dontcare"]
    assert purpose.options == [None, "dontcare", "rent", "buy"]
    admitted = [purpose.admits(value) for value in ("buy", "sell", "dontcare")]
    assert admitted == [True, False, True] and city.admits("Wells")
    assert not purpose.is_boolean and not city.is_boolean
    assert msgspec.structs.replace(purpose, possible_values=["False", "True"]).is_boolean
    assert len({flats, flats, msgspec.structs.replace(flats)}) == 2  # by identity


def test_rows_and_the_release_give_the_same_services() -> None:
    release = open_release("sample")
    services = {s.service_name: s for s in release.schema("test", "v3")}
    rows = frame_tables(release, "test", "v3", ["service", "schema"]).to_pylist()
    assert {row["service"] for row in rows} == set(services)
    for row in rows:
        read = msgspec.to_builtins(read_service(row["schema"]))
        assert read == msgspec.to_builtins(services[row["service"]])


# In a place of v1 another value, or none, and what is found there.
VARIANT_FAULTS: list[tuple[str, Json, str]] = [
    ("slots 2", None, "slots is 2, expected 3 as in schema.json"),
    ("intents 1", None, "intents is 1, expected 2"),
    ("slots 2 is_categorical", False, "slot purpose: is_categorical is False"),
    ("slots 2 possible_values", ["buy"], "slot purpose: possible_values is ['buy'], expected ["),
    ("intents 1 is_transactional", False, "intent SeeFlat: is_transactional"),
    ("intents 1 required_slots", ["town"], "SeeFlat: required_slots is ['town'], expected ['city"),
    ("intents 0 optional_slots", {"city": "x"}, "SearchFlat: optional_slots is {'city': 'x'}, exp"),
    ("intents 0 result_slots", ["city"], "intent SearchFlat: result_slots"),
]
SCHEMA_FAULTS: list[tuple[str, Json, str]] = [
    # Were it accepted, frame ids would name another service, and renaming would lose a slot.
    ("service_name", "A/Flats_1", "service A/Flats_1: found a '/'"),
    ("slots 1 name", "city", "service Flats_1: slot city "),
    ("intents 1 name", "FindFlat", "service Flats_1: intent FindFlat "),
    ("description", None, "`description`"),
    ("slots", 5, ".slots"),
]


def edited(service: Json, place: str, value: Json) -> Json:
    made = copy.deepcopy(service)
    *steps, last = (int(step) if step.isdigit() else step for step in place.split())
    part = made
    for step in steps:
        part = part[step]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return made


@pytest.mark.parametrize(("place", "value", "found"), VARIANT_FAULTS)
def test_a_variant_that_does_not_line_up_is_named(place: str, value: Json, found: str) -> None:
    original, paths = schema_of(ORIGINAL, "schema.json"), ("schema.json", "v1/schema.json")
    for variant in SCHEMAS.values():
        check_variant(original, schema_of(variant), "mine", paths)
    wrong = schema_of(edited(SCHEMAS["v1"], place, value))
    named = f"^v1/schema.json: service Flats_11[:,] .*{re.escape(found)}"
    with pytest.raises(SgdxError, match=named):
        check_variant(original, wrong, "mine", paths)


@pytest.mark.parametrize(("place", "value", "found"), SCHEMA_FAULTS)
def test_a_schema_at_fault_names_the_element(place: str, value: Json, found: str) -> None:
    with pytest.raises(SgdxError, match=f"^p: .*{re.escape(found)}"):
        schema_of(edited(ORIGINAL, place, value), "p")
    with pytest.raises(SgdxError, match="^p: service Flats_1 "):
        read_schema(json.dumps([ORIGINAL, ORIGINAL]).encode(), "p")
