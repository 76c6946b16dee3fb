"""Prompt formats: pure functions from schema and dialogue to texts, and from answers to a state.

A format is a module. Its functions take the schema (``Service`` of a frame row) as it is to be
shown; where elements are shuffled in training, ``shuffled`` has made another of it before.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sgdx_dataset import SgdxError

from . import d3st, options, t5dst
from .values import FrameState


class Format(Protocol):
    """What a format's module has: see ``t5dst``."""

    HISTORY_FIRST: bool  # in the input; else the schema's part stands before it
    SHUFFLED: bool  # whether training shuffles the schema's elements
    TRACKS: tuple[str, ...]  # the parts of a prediction row that it fills

    def history(self, turns: Sequence[Mapping[str, Any]], utterance: str) -> str: ...
    def parts(self, schema: Mapping[str, Any]) -> list[str]: ...
    def targets(self, schema: Mapping[str, Any], state: FrameState) -> list[str]: ...
    def decode(
        self, schema: Mapping[str, Any], dialogue: str, outputs: Sequence[str]
    ) -> FrameState: ...


FORMATS: dict[str, Format] = {"t5dst": t5dst, "t5dst-options": options, "d3st": d3st}


def get_format(name: str) -> Format:
    """The format of that name.

    Raises:
        SgdxError: There is none.
    """
    if name not in FORMATS:
        raise SgdxError(f"format '{name}' is unknown, expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def shuffled(schema: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """The schema with its slots, their possible values and its intents in another order."""
    slots = [
        {**slot, "possible_values": _shuffle(slot["possible_values"], rng)}
        for slot in schema["slots"]
    ]
    return {**schema, "slots": _shuffle(slots, rng), "intents": _shuffle(schema["intents"], rng)}


def _shuffle(items: Sequence[Any], rng: random.Random) -> list[Any]:
    return rng.sample(items, len(items))
