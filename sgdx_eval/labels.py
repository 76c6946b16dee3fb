"""What people, and a model, say of some items, from tables."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset.io.files import read_input
from sgdx_metric.rows import ScoreError
from sgsacc_metric.agreement import agreement

_ITEM, _MODEL = "item", "model"


def agreement_of_files(paths: Sequence[Path]) -> dict[str, Any]:
    """The agreement of the people whose labels some files have, as `agreement` gives it."""
    labels: dict[str, dict[str, str]] = {}
    for path in paths:
        for number, row in enumerate(_rows(path), 1):
            if (item := row.pop(_ITEM, None)) is None:
                raise ScoreError(f"{path}: row {number}: found no '{_ITEM}'")
            for rater, label in row.items():
                of_rater = labels.setdefault(rater, {})
                if not label or item in of_rater:
                    fault = "two labels" if label else "no label"
                    raise ScoreError(
                        f"{path}: row {number}: found {fault} of {rater} for {item}, expected one"
                    )
                of_rater[item] = label
    items = sorted({item for of_rater in labels.values() for item in of_rater})
    for rater, of_rater in labels.items():
        if missing := [item for item in items if item not in of_rater]:
            raise ScoreError(
                f"{rater}: {len(missing)} of {len(items)} items have no label, the first is"
                f" {missing[0]}"
            )
    columns = {rater: [of_rater[item] for item in items] for rater, of_rater in labels.items()}
    model = columns.pop(_MODEL, None)
    return agreement(items, list(columns.values()), model)


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table; a column for each rater, whose labels are compared without case."""
    try:
        text = read_input(path).decode("utf-8-sig")
        if path.suffix == ".jsonl":
            rows = [msgspec.json.decode(line, type=dict[str, str]) for line in text.splitlines()]
        else:
            delimiter = "\t" if path.suffix == ".tsv" else ","
            lines = io.StringIO(text, newline="")
            rows = list(csv.DictReader(lines, restkey="", restval="", delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error, msgspec.DecodeError) as error:
        raise ScoreError(f"{path}: cannot be read as a table of labels: {error}") from None
    if longer := [number for number, row in enumerate(rows, 1) if "" in row]:
        raise ScoreError(f"{path}: row {longer[0]}: found more cells than columns with a name")
    return [
        {key: value if key == _ITEM else value.strip().casefold() for key, value in row.items()}
        for row in rows
    ]
