"""Prediction files: JSON Lines of prediction rows behind a header line of metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError

Row = dict[str, Any]


def prediction_row(
    frame: Mapping[str, Any],
    active_intent: str,
    requested_slots: Iterable[str],
    slot_values: Mapping[str, list[str]],
) -> Row:
    """One row of a prediction file, with slot values in the order of the slots' names.

    Args:
        frame: Has ``frame_id`` and ``variant``.
        slot_values: Of each slot that has a value, the ways to say it.
    """
    return {
        "frame_id": frame["frame_id"],
        "variant": frame["variant"],
        "active_intent": active_intent,
        "requested_slots": list(requested_slots),
        "slot_values": [{"slot": s, "values": v} for s, v in sorted(slot_values.items())],
    }


def write_predictions(path: Path, metadata: Row, rows: Iterable[Row]) -> Path:
    """Write a header line ``{"metadata": ...}`` and a line per prediction row.

    Args:
        path: Where to; the file appears whole, or not at all.
        metadata: What made the rows: at least ``model``, ``split``, ``variant``, ``system_acts``.
        rows: Of ``prediction_row``.
    """
    encoder = msgspec.json.Encoder()
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.incomplete")
    with staging.open("wb") as file:
        for line in ({"metadata": metadata}, *rows):
            file.write(encoder.encode(line) + b"\n")
    staging.replace(path)
    return path


def is_finished(path: Path, metadata: Row) -> bool:
    """Whether a file of predictions is there already, made by the same model in the same way.

    Args:
        path: Of ``write_predictions``, which leaves only whole files.
        metadata: What its header must say; it may say more.

    Raises:
        SgdxError: The file's header says otherwise: it holds another run's predictions.
    """
    if not path.exists():
        return False
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.readline(), type=dict[str, dict[str, Any]])
        found = header.get("metadata", {})
    except msgspec.DecodeError:
        found = {}
    for key, value in msgspec.json.decode(msgspec.json.encode(metadata)).items():
        if found.get(key) != value:
            raise SgdxError(
                f"{path}: holds another run's predictions: {key} is {found.get(key)!r}, "
                f"expected {value!r}; give another --output"
            )
    return True
