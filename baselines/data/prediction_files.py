"""Prediction files: JSON Lines with a header line of metadata, then one prediction row a line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import write_bytes

Row = dict[str, Any]


def prediction_row(
    frame: Mapping[str, Any],
    active_intent: str,
    requested_slots: Iterable[str],
    slot_values: Mapping[str, list[str]],
) -> Row:
    """One row of a prediction file; slot values are sorted by the name of the slot.

    Args:
        frame: The frame row, of which ``frame_id`` and ``variant`` are used.
        active_intent: Name of the intent, or ``NONE``.
        requested_slots: Names of the slots that the user asks for.
        slot_values: Values of each slot that is set; several are different wordings of one value.
    """
    return {
        "frame_id": frame["frame_id"],
        "variant": frame["variant"],
        "active_intent": active_intent,
        "requested_slots": list(requested_slots),
        "slot_values": [{"slot": s, "values": v} for s, v in sorted(slot_values.items())],
    }


def write_predictions(path: Path, metadata: Row, rows: Iterable[Row]) -> Path:
    """Write a header line ``{"metadata": ...}`` and one line for each prediction row.

    Args:
        path: The file to write; it is written completely or not at all.
        metadata: How the rows were made: at least ``model``, ``split``, ``variant`` and
            ``system_acts``.
        rows: Prediction rows as ``prediction_row`` makes them.

    Returns:
        ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, msgspec.json.Encoder().encode_lines([{"metadata": metadata}, *rows]))
    return path


def is_finished(path: Path, metadata: Row) -> bool:
    """Whether a prediction file exists already, made by the same model of the same data.

    Where only the content of the data or the code of the program has changed since, what is there
    is out of date: one line says so, and the file is to be made again.

    Args:
        path: The file that ``write_predictions`` writes.
        metadata: Expected metadata of the header, which may have further entries.

    Raises:
        SgdxError: The header differs, so the file holds the predictions of another run.
    """
    if not path.exists():
        return False
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.readline(), type=dict[str, dict[str, Any]])
        header_metadata = header.get("metadata", {})
    except (ValueError, RecursionError):  # it is not JSON, or not UTF-8
        header_metadata = {}
    expected: Row = msgspec.json.decode(msgspec.json.encode(metadata))
    differing = [key for key, value in expected.items() if header_metadata.get(key) != value]
    changed = {
        "data": f"the data of {expected.get('source')} have",
        "program": f"the program of {expected.get('model')} has",
    }
    if differing and all(key in changed and key in header_metadata for key in differing):
        what = " and ".join(changed[key] for key in differing)
        print(
            f"note: {path}: {what} changed since these predictions were made: predicting again",
            file=sys.stderr,
        )
        return False
    if differing:
        key = differing[0]
        raise SgdxError(
            f"{path}: holds another run's predictions: {key} is {header_metadata.get(key)!r}, "
            f"expected {expected[key]!r}; give another --output"
        )
    return True
