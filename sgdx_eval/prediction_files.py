"""Prediction files: JSON Lines with a header line of metadata, then one prediction row a line."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import escape_controls, is_first
from sgdx_dataset.io.files import write_bytes
from sgdx_eval.headers import Header, first_difference, read_header

Row = dict[str, Any]
_PACKAGES = ("torch", "transformers", "accelerate", "datasets")


def prediction_row(
    frame: Mapping[str, Any],
    active_intent: str,
    requested_slots: Iterable[str],
    slot_values: Mapping[str, list[str]],
) -> Row:
    """One row of a prediction file; slot values are sorted by the name of the slot."""
    return {
        "frame_id": frame["frame_id"],
        "variant": frame["variant"],
        "active_intent": active_intent,
        "requested_slots": list(requested_slots),
        "slot_values": [{"slot": s, "values": v} for s, v in sorted(slot_values.items())],
    }


def write_predictions(path: Path, header: Header, rows: Iterable[Any]) -> Path:
    """Write a header line ``{"metadata": ...}`` and one line for each prediction row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, msgspec.json.Encoder().encode_lines([{"metadata": header}, *rows]))
    return path


def finished_names(folder: Path, headers: Mapping[str, Header]) -> list[str]:
    """The names whose predictions are in a folder already, as they would be made again."""
    there = [name for name in headers if (folder / f"{name}.jsonl").exists()]
    keys = {name: _difference(folder / f"{name}.jsonl", headers[name]) for name in there}
    finished = [name for name in there if not keys[name]]
    for key in dict.fromkeys(filter(None, keys.values())):
        names = ", ".join(name for name in there if keys[name] == key)
        _note(f"{folder}: predicting again, as the {key} of {names} differs from this run's")
    if finished:
        what = f"the predictions for {', '.join(finished)} are kept"
        _note(f"{folder}: {what}, remove them to predict again")
    return finished


def _note(text: str) -> None:
    if is_first():
        print(f"note: {escape_controls(text)}", file=sys.stderr)


def _difference(path: Path, header: Header) -> str:
    """The first key by which the header of a file is another than expected; empty if none is."""
    try:
        found = msgspec.structs.replace(read_header(path), counts={}, versions={})
    except SgdxError:
        found = Header()
    found_facts, facts = (msgspec.json.decode(msgspec.json.encode(h)) for h in (found, header))
    key = first_difference(found_facts, facts)
    return first_difference(found.system, facts.get("system", {})) if key == "system" else key


def versions() -> dict[str, str]:
    """Versions of Python and of the key packages that are installed."""
    numbers = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers
