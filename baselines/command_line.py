"""Helpers for all commands: options generated from a struct, and how errors are reported."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sgdx_dataset import CONFIGS, SgdxError
from sgdx_dataset.configs import split_name
from sgdx_dataset.io.arguments import (
    DIALOGUES_HELP,
    SOURCE_HELP,
    SPLIT_HELP,
    VARIANT_HELP,
    paths_by_name,
)
from sgdx_dataset.io.console import is_first, run
from sgdx_dataset.release.remembered import announced_source, resolve_source
from sgdx_metric import ScoreError

from .data.requested import RequestedData

Struct = TypeVar("Struct", bound=msgspec.Struct)


class ParagraphFormatter(argparse.HelpFormatter):
    """Formats a command's description paragraph by paragraph, to the width of the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip().split("\n\n")
        return "\n\n".join(
            super(ParagraphFormatter, self)._fill_text(p, width, indent) for p in paragraphs
        )


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--source``, which every command that reads dialogues has."""
    parser.add_argument("--source", metavar="PATH", help=SOURCE_HELP)


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose dialogues and wordings, which ``read_data`` reads."""
    add_source(parser)
    parser.add_argument(
        "--config",
        nargs="+",
        action="extend",
        metavar="CONFIG",
        help=f"Take these wordings: any of {', '.join(CONFIGS)}, or a NAME of --variant. Default: "
        "original, those of v1 to v5 that the source has, and each NAME.",
    )
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME=PATH", help=VARIANT_HELP
    )
    text = f"{DIALOGUES_HELP} Default: all."
    parser.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    parser.add_argument("--split", default="test", help=f"{SPLIT_HELP} Default: test.")


def read_data(options: argparse.Namespace) -> tuple[RequestedData, list[str]]:
    """The data to predict and the names of the schema variants, without repetition."""
    # A note on standard error says what the source lacks.
    variants = paths_by_name("--variant", options.variant)
    split = split_name(options.split)
    data = RequestedData(source_of(options), split, variants, options.dialogues)
    if is_first() and (gaps := data.release.gaps()):
        print(f"note: {gaps}", file=sys.stderr)
    return data, list(dict.fromkeys(options.config or data.release.wordings()))


def source_of(options: argparse.Namespace) -> str:
    """What ``--source`` names; where it is left out, the first process says what is taken."""
    return (announced_source if is_first() else resolve_source)(options.source)


def add_struct(parser: argparse.ArgumentParser, kind: type[msgspec.Struct], title: str) -> None:
    """Add an option for each field of a struct; its description and default make up the help."""
    group = parser.add_argument_group(title)
    shapes = msgspec.inspect.type_info(kind)
    assert isinstance(shapes, msgspec.inspect.StructType)  # noqa: S101
    for shape in shapes.fields:
        schema = getattr(shape.type, "extra_json_schema", None) or {}
        default = "" if shape.default is None else f" Default: {shape.default}."
        group.add_argument(
            _option(shape.name),
            dest=shape.name,
            metavar=shape.name.upper(),
            help=f"{schema.get('description', '')}{default}".replace("%", "%%"),
        )


def read_struct(options: argparse.Namespace, kind: type[Struct]) -> Struct:
    """Build a struct from the options of ``add_struct``; missing ones keep their default."""
    texts = {name: getattr(options, name) for name in kind.__struct_fields__}
    try:
        given_texts = {name: text for name, text in texts.items() if text is not None}
        return msgspec.convert(given_texts, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, field = str(error).partition(" - at `$.")
        raise SgdxError(f"{_option(field.rstrip('`'))}: {reason}") from None


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def in_words(facts: Mapping[str, Any]) -> str:
    """Facts as words: numbers before their names, and groups of them after theirs.

    >>> in_words({"turns": 482, "cut": 0, "labels": {"changes": 390, "not_in_turn": 44}})
    '482 turns, 0 cut, labels: 390 changes, 44 not in turn'
    >>> in_words({"cut": {"of": 482, "inputs": 3}, "commit": "", "model": None})
    'cut of 482: 3 inputs'
    """
    words = []
    for key, value in facts.items():
        name = key.replace("_", " ")
        if isinstance(value, Mapping):
            group = {key: count for key, count in value.items() if key != "of"}
            of = f" of {value['of']}" if "of" in value else ""
            words.append(f"{name}{of}: {in_words(group)}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            words.append(f"{value} {name}")
        elif value not in (None, ""):
            words.append(f"{name} {value}")
    return ", ".join(words)


def run_command(name: str, command: Callable[[], int | None]) -> int:
    """Run a command; errors and interruptions end in one line, which the first process prints."""
    return run(name, command, (SgdxError, ScoreError), is_main_process=is_first())
