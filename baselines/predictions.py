"""Prediction files: JSON Lines of prediction rows behind a line of metadata."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec


def write_predictions(path: Path, metadata: dict[str, Any], rows: Iterable[dict[str, Any]]) -> Path:
    """Write a header line ``{"metadata": ...}`` and a line per prediction row.

    Args:
        path: Where to; it appears whole, or not at all.
        metadata: What made the rows: at least ``model``, ``split``, ``variant``, ``system_acts``.
        rows: ``frame_id``, ``variant``, ``active_intent``, ``requested_slots``, ``slot_values``.
    """
    encoder = msgspec.json.Encoder()
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.incomplete")
    with staging.open("wb") as file:
        for line in ({"metadata": metadata}, *rows):
            file.write(encoder.encode(line) + b"\n")
    staging.replace(path)
    return path
