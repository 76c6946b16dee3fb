"""The first line of a prediction file, in which the file may say how it was made."""

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json

from ..signature import split_name
from .systems import Metadata

Stated = TypeVar("Stated")
_BEGINNING = re.compile(rb'\s*\{\s*"metadata"\s*:')
# How like a known key, of 1, another one is that may be meant for it.
_LIKE = 0.8


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


def _keys(line: bytes, path: Path) -> list[str]:
    """The keys of what a header states."""
    return [*(parse_header(line, dict[str, msgspec.Raw], path) or {})]


def check_keys(keys: Iterable[str], known: Collection[str], where: str) -> None:
    """Refuse a header's key that is a known one in other letters; note one that is like one.

    Headers may have keys of their own besides, which nobody compares.

    Args:
        keys: The header's keys.
        known: The keys that are compared.
        where: What messages begin with, such as the file's name.

    Raises:
        SgdxError: A key is a known one but for case, blanks, hyphens or the forms of its letters.
    """
    for key in keys:
        if key in known:
            continue
        plain = "_".join(re.split(r"[\s_-]+", unicodedata.normalize("NFKC", key).strip()))
        if plain.casefold() in known:
            raise SgdxError(f"{where}: metadata: found key {key!r}, expected {plain.casefold()!r}")
        if meant := get_close_matches(plain.casefold(), known, 1, _LIKE):
            print(
                f"note: {escape_controls(where)}: metadata: found the unknown key {key!r}; "
                f"did you mean {meant[0]!r}?",
                file=sys.stderr,
            )


@dataclass(frozen=True)
class PredictionLines:
    """A prediction file whose rows have not been read yet.

    Attributes:
        data: The file's content, with an empty first line where that was the header, so that the
            number of a line stays what it is.
        metadata: What the file states about itself.
    """

    data: bytes
    metadata: Metadata

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers from 1."""
        lines = enumerate(self.data.split(b"\n"), 1)
        return ((number, line) for number, line in lines if line and not line.isspace())


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
    first_line = data[: data.find(b"\n")] if b"\n" in data else data
    header = parse_header(first_line, Metadata, path)
    if header is not None:
        check_keys(_keys(first_line, path), Metadata.__struct_fields__, f"{path}:1")
        data = data[len(first_line) :]
    metadata = header or Metadata()
    for key, stated, expected in (
        ("split", metadata.split and split_name(metadata.split), split),
        ("variant", metadata.variant, variant),
    ):
        if stated not in (None, expected):
            raise SgdxError(f"{path}:1: metadata: {key} is '{stated}', not '{expected}'")
    return PredictionLines(data, metadata)
