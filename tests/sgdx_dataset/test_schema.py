"""Schemas: what their slots may hold, reading them, and lining variants up with the original."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sgdx_dataset import SgdxError, frame_tables, open_release
from sgdx_dataset.schema import Intent, Service, Slot, read_service
from sgdx_dataset.words import check_variant, read_schema

from .conftest import ORIGINAL, SCHEMAS

Json = Any
CABS = Service(
    "Cabs_9",
    "Rides through town",
    [
        Slot("destination", "Where the ride goes to", False, ["Bath"]),
        Slot("shared", "Whether others ride along", True, ["True", "False"]),
        Slot("riders", "Number of people", True, ["1", "2", "3"]),
        Slot("fare", "What it costs", False, []),
    ],
    [
        Intent("OrderCab", "Call a cab", True, ["destination"], {"shared": "False"}, ["fare"]),
        Intent("PlanRide", "Look up a ride", False, ["destination"], {"riders": "1"}, ["fare"]),
    ],
)


def test_slots_of_intents_and_what_they_may_hold() -> None:
    assert CABS.tracked == {"destination", "shared", "riders"}
    assert (CABS.required("OrderCab"), CABS.optional("OrderCab")) == (["destination"], ["shared"])
    assert (CABS.required("NONE"), CABS.optional("NONE")) == ([], [])
    assert list(CABS.intents_by_name) == ["OrderCab", "PlanRide"]
    assert list(CABS.slots_by_name) == ["destination", "shared", "riders", "fare"]
    destination, shared, riders = (CABS.slot(n) for n in ("destination", "shared", "riders"))
    assert (destination.values, riders.values) == ([], ["1", "2", "3"])
    assert shared.options == [None, "dontcare", "True", "False"]
    assert destination.options == [None, "dontcare"]
    assert [slot.is_boolean for slot in CABS.slots] == [False, True, False, False]
    assert [riders.admits(value) for value in ("2", "4", "dontcare")] == [True, False, True]
    assert destination.admits("Wells")
    assert len({CABS, CABS, msgspec.structs.replace(CABS)}) == 2  # by identity


def test_rows_and_the_release_give_the_same_services() -> None:
    release = open_release("sample")
    services = {s.service_name: s for s in release.schema("test", "v3")}
    rows = frame_tables(release, "test", "v3", ["service", "schema"]).to_pylist()
    assert {row["service"] for row in rows} == set(services)
    for row in rows:
        read = msgspec.to_builtins(read_service(row["schema"]))
        assert read == msgspec.to_builtins(services[row["service"]])
    row = {"service_name": "A", "slots": [], "intents": []}
    with pytest.raises(KeyError, match="description"):
        read_service(row)
    with pytest.raises(msgspec.ValidationError, match=r"\$.slots\[0\]"):
        read_service(row | {"description": "", "slots": [{"name": "city"}]})


# ---- variants

PATHS = ("schema.json", "v1/schema.json")


def schema_of(service: Json, path: str = "v1/schema.json") -> list[Service]:
    return read_schema(json.dumps([service]).encode(), path)


def put(*path: str | int, value: Json) -> Callable[[Json], None]:
    def edit(service: Json) -> None:
        for step in path[:-1]:
            service = service[step]
        service[path[-1]] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda service: service["slots"].pop(), "slots is 2, expected 3 as in schema.json"),
        (lambda service: service["intents"].pop(), "intents is 1, expected 2"),
        (put("slots", 2, "is_categorical", value=False), "slot purpose: is_categorical is False"),
        (
            put("slots", 2, "possible_values", value=["buy", "rent"]),
            r"slot purpose: possible_values is \['buy', 'rent'\], expected \['rent', 'buy'\]",
        ),
        (put("intents", 1, "is_transactional", value=False), "intent SeeFlat: is_transactional"),
        (
            put("intents", 1, "required_slots", value=["town"]),
            r"intent SeeFlat: required_slots is \['town'\], expected \['city'\]",
        ),
        (
            put("intents", 0, "optional_slots", value={"city": "any"}),
            "intent SearchFlat: optional_slots is {'city': 'any'}, expected {'city': 'dontcare'}",
        ),
        (put("intents", 0, "result_slots", value=["city"]), "intent SearchFlat: result_slots"),
    ],
)
def test_a_variant_that_does_not_line_up_is_named(edit: Callable[[Json], None], found: str) -> None:
    original = schema_of(ORIGINAL, "schema.json")
    for variant in SCHEMAS.values():
        check_variant(original, schema_of(variant), "mine", PATHS)
    wrong = copy.deepcopy(SCHEMAS["v1"])
    edit(wrong)
    with pytest.raises(SgdxError, match=f"^v1/schema.json: service Flats_11[:,] .*{found}"):
        check_variant(original, schema_of(wrong), "mine", PATHS)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        # Were it accepted, frame ids would name another service, and renaming would lose a slot.
        (put("service_name", value="A/Flats_1"), "service A/Flats_1: found a '/'"),
        (put("slots", 1, "name", value="city"), "service Flats_1: slot city "),
        (put("intents", 1, "name", value="FindFlat"), "service Flats_1: intent FindFlat "),
        (lambda service: service.pop("description"), r"service Flats_1: .*`description`"),
        (put("slots", value=5), r"service Flats_1: .*\.slots"),
    ],
)
def test_a_schema_at_fault_names_the_element(edit: Callable[[Json], None], found: str) -> None:
    service = copy.deepcopy(ORIGINAL)
    edit(service)
    with pytest.raises(SgdxError, match=f"^p: .*{found}"):
        schema_of(service, "p")
    with pytest.raises(SgdxError, match="^p: service Flats_1 "):
        read_schema(json.dumps([ORIGINAL, ORIGINAL]).encode(), "p")
