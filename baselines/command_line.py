"""What the commands share: options that a struct declares, and how a command fails."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TypeVar

import msgspec

from sgdx_dataset import SgdxError
from sgdx_metric import ScoreError

Struct = TypeVar("Struct", bound=msgspec.Struct)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add ``--source``, which every command that reads dialogues has."""
    parser.add_argument(
        "--source",
        metavar="PATH",
        help="SGD as a release directory or archive, or 'sample'; default: $SGDX_SOURCE, "
        "else a download",
    )


def add_struct(parser: argparse.ArgumentParser, kind: type[msgspec.Struct], title: str) -> None:
    """Add an option for each field of a struct, with its description and default as the help."""
    group = parser.add_argument_group(title)
    shapes = msgspec.inspect.type_info(kind)
    assert isinstance(shapes, msgspec.inspect.StructType)  # noqa: S101
    for shape in shapes.fields:
        schema = getattr(shape.type, "extra_json_schema", None) or {}
        default = "" if shape.default is None else f"; default: {shape.default}"
        group.add_argument(
            _option(shape.name),
            metavar=shape.name.upper(),
            help=f"{schema.get('description', '')}{default}".replace("%", "%%"),
        )


def read_struct(options: argparse.Namespace, kind: type[Struct]) -> Struct:
    """The struct that the options of ``add_struct`` say.

    Raises:
        SgdxError: An option has another type or range than its field.
    """
    given = {name: getattr(options, name) for name in kind.__struct_fields__}
    try:
        told = {name: text for name, text in given.items() if text is not None}
        return msgspec.convert(told, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise SgdxError(f"{_option(place.rstrip('`'))}: {reason}") from None


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def is_first() -> bool:
    """Whether this process is the one of those launched that prints and writes."""
    return os.environ.get("RANK", "0") == "0"


def run_command(name: str, command: Callable[[], int | None]) -> int:
    """Run a command; its exit status, or 2 after one line on standard error on what is wrong."""
    try:
        return command() or 0
    except (SgdxError, ScoreError) as error:
        if is_first():
            print(f"{name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
