"""Options as `add_argument` takes them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sgdx_metric import bootstrap


class Option(NamedTuple):
    """What `add_argument` is given."""

    names: str
    keywords: dict[str, Any]


def option(names: str, help: str, **keywords: Any) -> Option:
    """An option by all its names, or an argument without dashes."""
    return Option(names, {"help": help, **keywords})


def file(names: str, help: str, metavar: str = "FILE", **keywords: Any) -> Option:
    """An option that is a path."""
    return option(names, help, type=Path, metavar=metavar, **keywords)


def flag(name: str, help: str) -> Option:
    """An option without a value."""
    return option(name, help, action="store_true")


def add(command: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Add options to a parser."""
    for names, keywords in options:
        command.add_argument(*names.split(), **keywords)


OVER = option(
    "--over",
    "Say what the intervals are drawn over: the dialogues, as if there were other "
    "dialogues; the wordings, as if somebody had written other wordings; or both. "
    "Default: dialogues.",
    choices=bootstrap.OVER,
    default=bootstrap.DIALOGUES,
)
