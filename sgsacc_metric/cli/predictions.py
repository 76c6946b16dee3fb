"""Reading predictions: a JSON Lines file of utterances for each variant."""

from pathlib import Path

import msgspec

from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import decode_json, parse_json
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name

from ..rows import Prediction


class Metadata(msgspec.Struct):
    """What a prediction file may state about itself in its first line; other keys are skipped."""

    split: str | None = None
    variant: str | None = None
    model: str | None = None
    input: str | None = None
    beams: int | None = None


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    metadata: Metadata


def read_predictions(path: Path, split: str, variant: str) -> tuple[list[Prediction], Metadata]:
    """Read one variant's predictions.

    Args:
        path: A JSONL file of prediction rows, whose first line may be {"metadata": {...}}.
        split, variant: What the file must be for.

    Returns:
        The rows, and what the file says of itself.

    Raises:
        SgdxError: The file cannot be read, or is malformed.
        ScoreError: It is for another split or variant.
    """
    lines = read_input(path).split(b"\n")
    metadata = Metadata()
    if lines[0].lstrip().startswith(b'{"metadata"'):
        metadata = parse_json(lines[0], _Header, f"{path}:1", "a header of predictions").metadata
        lines[0] = b""
    for key, stated, expected in (
        ("split", metadata.split and split_name(metadata.split), split),
        ("variant", metadata.variant, variant),
    ):
        if stated not in (None, expected):
            raise ScoreError(f"{path}:1: metadata: {key} is '{stated}', not '{expected}'")
    rows = []
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            row = decode_json(line, Prediction, f"{path}:{number}", "a prediction row")
            if row.variant != variant:
                raise ScoreError(f"{path}:{number}: variant is '{row.variant}', not '{variant}'")
            rows.append(row)
    return rows, metadata
