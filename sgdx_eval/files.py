"""The JSON files that are written of scores."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset.io.files import JSON_MARK, staged


def write_json(result: Mapping[str, Any], output: Path) -> None:
    """Write indented JSON, for people and for programs."""
    with staged(output, mark=JSON_MARK) as path:
        path.write_text(_indented(result) + "\n", encoding="utf-8")


def _indented(value: Mapping[str, Any]) -> str:
    # The encoder of the standard library is slow when it indents.
    return msgspec.json.format(json.dumps(value, allow_nan=False), indent=2)
