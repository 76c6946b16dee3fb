"""Small frames to score: two services, and Arrow tables of rows."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from sgdx_eval.predictions import Header
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
    values: dict[str, list[str]] | None = None, frame_id: str = "1_00000/0/Hotels_1", **others: Any
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


def written(path: Path, rows: list[Row], **metadata: Any) -> Path:
    """A prediction file, with a header line if there is metadata; other keys are the system's."""
    system = {key: metadata.pop(key) for key in {*metadata} - {*Header.__struct_fields__}}
    metadata |= {"system": system} if system else {}
    header = [{"metadata": metadata}] if metadata else []
    path.write_text("\n".join(map(json.dumps, [*header, *rows])), encoding="utf-8")
    return path


def with_errors(row: Row, chance: random.Random) -> Row:
    """A prediction: the frame row's gold with slots left out, made up, or said otherwise, and now
    and then another intent, request or span."""
    guess = {key: row[key] for key in PREDICTION.names if key in row}
    values = [
        item | {"values": [_misspelt(item["values"][0], chance)]}
        for item in row["slot_values"]
        if chance.random() > 0.1
    ]
    if chance.random() < 0.05:
        values.append({"slot": "unheard_of", "values": ["any"]})
    spans = [span for span in guess.get("slots") or [] if chance.random() > 0.1]
    guess |= {"slot_values": values, "slots": spans if row.get("utterance") else None}
    if chance.random() < 0.1:
        guess |= {"active_intent": "NONE", "requested_slots": ["unheard_of"]}
    return guess


def _misspelt(value: str, chance: random.Random) -> str:
    luck = chance.random()
    cut = " ".join(reversed(value.split())) if luck < 0.05 else value[: 1 + len(value) // 2]
    return cut if luck < 0.15 else value
