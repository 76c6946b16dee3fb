"""The type for a service's schema: what its slots may hold, and reading it from rows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.schema import Intent, Service, Slot, read_service

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


def test_slots_of_intents() -> None:
    assert CABS.tracked == {"destination", "shared", "riders"}
    assert (CABS.required("OrderCab"), CABS.optional("OrderCab")) == (["destination"], ["shared"])
    assert (CABS.required("NONE"), CABS.optional("NONE")) == ([], [])
    assert list(CABS.intents_by_name) == ["OrderCab", "PlanRide"]
    assert list(CABS.slots_by_name) == ["destination", "shared", "riders", "fare"]


def test_what_slots_may_hold() -> None:
    destination, shared, riders = (CABS.slot(n) for n in ("destination", "shared", "riders"))
    assert (destination.values, riders.values) == ([], ["1", "2", "3"])
    assert shared.options == [None, "dontcare", "True", "False"]
    assert destination.options == [None, "dontcare"]
    assert [slot.is_boolean for slot in CABS.slots] == [False, True, False, False]
    assert [riders.admits(value) for value in ("2", "4", "dontcare")] == [True, False, True]
    assert destination.admits("Wells")


def test_services_are_told_apart_by_identity() -> None:
    assert msgspec.structs.replace(CABS) != CABS
    assert len({CABS, CABS, msgspec.structs.replace(CABS)}) == 2


def test_rows_and_the_release_give_the_same_services() -> None:
    release = open_release("sample")
    services = {s.service_name: s for s in release.schema("test", "v3")}
    rows = frame_tables(release, "test", "v3", ["service", "schema"]).to_pylist()
    assert {row["service"] for row in rows} == set(services)
    for row in rows:
        read = msgspec.to_builtins(read_service(row["schema"]))
        assert read == msgspec.to_builtins(services[row["service"]])


def test_what_is_no_service() -> None:
    row: dict[str, Any] = {"service_name": "A", "description": "", "slots": [], "intents": []}
    with pytest.raises(KeyError, match="description"):
        read_service({"service_name": "A", "slots": [], "intents": []})
    with pytest.raises(msgspec.ValidationError, match=r"missing required field .*\$.slots\[0\]"):
        read_service(row | {"slots": [{"name": "city"}]})
