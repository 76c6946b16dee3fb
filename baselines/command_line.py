"""Helpers for all commands: how they are reached as modules, and facts in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def door(command: str) -> Callable[[], int]:
    """The ``main`` of a module that stands for a command of ``sgdx``, as launchers need one."""

    def main() -> int:
        from sgdx_cli import main as sgdx

        return sgdx([*command.split(), *sys.argv[1:]])

    return main


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
