"""Three turns with a cab service, of which two are followed by a call, and rows of calls."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sgdx_metric.calls import CALL_PREDICTION


def call(method: str | None, service: str = "Cabs_1", **parameters: str) -> dict[str, Any] | None:
    listed = [{"slot": slot, "value": value} for slot, value in parameters.items()]
    return {"service": service, "method": method, "parameters": listed} if method else None


def reference(
    number: int, gold: dict[str, Any] | None = None, **state: list[str]
) -> dict[str, Any]:
    return {
        "frame_id": f"{number}/0/Cabs_1",
        "variant": "original",
        "active_intent": "OrderCab",
        "requested_slots": [],
        "slot_values": [{"slot": slot, "values": values} for slot, values in state.items()],
        "service": "Cabs_1",
        "seen": number % 2 == 0,
        "schema_slots": [
            {"name": "time", "is_categorical": False},
            {"name": "riders", "is_categorical": True},
            {"name": "shared", "is_categorical": True},
        ],
        "service_call": gold,
    }


GOLD = call("OrderCab", time="18:15", riders="2")
STATE = {"time": ["quarter past six", "6:15 pm"], "riders": ["2"], "shared": ["True"]}
REFERENCES = [reference(0, GOLD, **STATE), reference(1, GOLD, **STATE), reference(2, None, **STATE)]


def table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def predictions(*calls: dict[str, Any] | None) -> pa.Table:
    rows = [
        {"frame_id": f"{i}/0/Cabs_1", "variant": "original", "service_call": one}
        for i, one in enumerate(calls)
    ]
    return table(rows, CALL_PREDICTION)
