"""Schemas: what their slots may hold, reading them, and lining variants up with the original."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.words import read_schema

from .conftest import ORIGINAL

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
