"""Helpers for all commands: options generated from a struct, and how errors are reported."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TypeVar

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import run
from sgdx_metric import ScoreError

Struct = TypeVar("Struct", bound=msgspec.Struct)
# Older spellings of options, which commands still take.
_ALIASES = {"chunk_size": ("--shard-size",)}


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--source``, which every command that reads dialogues has."""
    parser.add_argument(
        "--source",
        metavar="PATH",
        help="SGD as a release directory or archive, 'sample', or 'download'; default: "
        "$SGDX_SOURCE, else what sgdx_dataset prepare was given",
    )


def add_struct(parser: argparse.ArgumentParser, kind: type[msgspec.Struct], title: str) -> None:
    """Add an option for each field of a struct; its description and default make up the help.

    Args:
        parser: The parser to add the options to.
        kind: The struct. The name of an option is the field's name with hyphens.
        title: Heading of the options in the help.
    """
    group = parser.add_argument_group(title)
    shapes = msgspec.inspect.type_info(kind)
    assert isinstance(shapes, msgspec.inspect.StructType)  # noqa: S101
    for shape in shapes.fields:
        schema = getattr(shape.type, "extra_json_schema", None) or {}
        default = "" if shape.default is None else f"; default: {shape.default}"
        group.add_argument(
            _option(shape.name),
            *_ALIASES.get(shape.name, ()),
            dest=shape.name,
            metavar=shape.name.upper(),
            help=f"{schema.get('description', '')}{default}".replace("%", "%%"),
        )


def read_struct(options: argparse.Namespace, kind: type[Struct]) -> Struct:
    """Build a struct from the options that ``add_struct`` added; missing ones keep their default.

    Raises:
        SgdxError: The value of an option has the wrong type or is out of range.
    """
    texts = {name: getattr(options, name) for name in kind.__struct_fields__}
    try:
        given_texts = {name: text for name, text in texts.items() if text is not None}
        return msgspec.convert(given_texts, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, field = str(error).partition(" - at `$.")
        raise SgdxError(f"{_option(field.rstrip('`'))}: {reason}") from None


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def is_first() -> bool:
    """Whether this is the first of the launched processes, the only one to print and write."""
    return os.environ.get("RANK", "0") == "0"


def run_command(name: str, command: Callable[[], int | None]) -> int:
    """Run a command; errors and interruptions end in one line, which the first process prints.

    Args:
        name: Name of the command, with which the line begins.
        command: The command; it returns its exit status, or None for 0.

    Returns:
        The exit status, as ``sgdx_dataset.io.console.run`` gives it.
    """
    return run(name, command, (SgdxError, ScoreError), is_main_process=is_first())
