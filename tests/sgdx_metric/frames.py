"""Small frames to score: two services, and Arrow tables of rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sgdx_metric.rows import PREDICTION, REFERENCE

Row = dict[str, Any]
SCHEMA = {"city": False, "name": False, "stars": True, "wifi": True}


def state(values: dict[str, list[str]]) -> list[Row]:
    return [{"slot": slot, "values": spoken} for slot, spoken in values.items()]


def reference(
    values: dict[str, list[str]] | None = None,
    frame_id: str = "1_00000/0/Hotels_1",
    schema: dict[str, bool] = SCHEMA,
    **others: Any,
) -> Row:
    row = prediction(values, frame_id) | {"service": frame_id.split("/")[-1], "seen": True}
    row["schema_slots"] = [{"name": k, "is_categorical": v} for k, v in schema.items()]
    return row | others


def prediction(
    values: dict[str, list[str]] | None = None,
    frame_id: str = "1_00000/0/Hotels_1",
    **others: Any,
) -> Row:
    row = {
        "frame_id": frame_id,
        "variant": "original",
        "active_intent": "FindHotel",
        "requested_slots": [],
        "slot_values": state(values or {}),
    }
    return row | others


def reference_table(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist(rows, REFERENCE)


def prediction_table(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist(rows, PREDICTION)


def six_variants(scores: dict[str, list[bool]]) -> tuple[list[Row], list[Row]]:
    """References and predictions of frames that are right or wrong as told, for each variant."""
    references, predictions = [], []
    for variant, rights in scores.items():
        for i, right in enumerate(rights):
            service = ("Hotels_1", "Banks_2")[i % 2]
            digit = "" if variant == "original" else variant[1:]
            frame_id = f"1_0000{i}/0/{service}"
            true = reference({"stars": ["3"]}, frame_id, seen=service == "Hotels_1")
            references.append(true | {"variant": variant, "service": service + digit})
            guess = prediction({"stars": ["3" if right else "4"]}, frame_id, variant=variant)
            predictions.append(guess)
    return references, predictions
