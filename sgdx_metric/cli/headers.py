"""The first line of a prediction file, in which the file may say how it was made."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json

from ..signature import split_name
from .systems import Metadata

Stated = TypeVar("Stated")
_BEGINNING = re.compile(rb'\s*\{\s*"metadata"\s*:')


class _Header(msgspec.Struct, Generic[Stated], forbid_unknown_fields=True):
    metadata: Stated


def parse_header(line: bytes, kind: type[Stated], path: Path) -> Stated | None:
    """What the first line of a prediction file states, as in `{"metadata": {"split": "test"}}`.

    Args:
        line: The line.
        kind: The type of the metadata; keys that it lacks are skipped.
        path: The file, for the error message.

    Returns:
        The metadata, or None where the line is no header but, for example, a row.

    Raises:
        SgdxError: It begins as a header does, and is none.
    """
    if not _BEGINNING.match(line):
        return None
    header = parse_json(line, _Header[kind], f"{path}:1", "a header of predictions")  # type: ignore[valid-type]
    return header.metadata


@dataclass(frozen=True)
class PredictionLines:
    """A prediction file whose rows have not been read yet.

    Attributes:
        lines: The lines, of which the first is empty where it was the header, so that the number of
            a line is its place from 1.
        metadata: What the file states about itself.
        has_header: Whether it states anything.
        sha256: The digest of the file, in hexadecimal.
    """

    lines: list[bytes]
    metadata: Metadata
    has_header: bool
    sha256: str


def read_prediction_lines(path: Path, split: str, variant: str) -> PredictionLines:
    """Read the header of a JSONL file of predictions, and its lines.

    Args:
        path: The file.
        split, variant: What the file must be for.

    Raises:
        SgdxError: The file cannot be read, or its header is malformed or is of another split or
            variant.
    """
    data = read_input(path)
    lines = data.split(b"\n")
    header = parse_header(lines[0], Metadata, path)
    if header is not None:
        lines[0] = b""
    metadata = header or Metadata()
    for key, stated, expected in (
        ("split", metadata.split and split_name(metadata.split), split),
        ("variant", metadata.variant, variant),
    ):
        if stated not in (None, expected):
            raise SgdxError(f"{path}:1: metadata: {key} is '{stated}', not '{expected}'")
    return PredictionLines(lines, metadata, header is not None, hashlib.sha256(data).hexdigest())
