"""Prompt formats: how schema and dialogue become text, and how answers become a state.

Each format is a module of pure functions. They take the schema of a frame row whose elements
``shown_schema`` has put into the order of the prompt.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, read_service

from . import d3st, d3st_joined, options, t5dst
from .values import AnswerState


class Format(Protocol):
    """The names that the module of a format defines."""

    HISTORY_FIRST: bool  # whether an input has the history before the schema part, else after it
    # Whether training shuffles the elements of the schema. Prediction may do so too.
    SHUFFLED: bool
    TRACKS: tuple[str, ...]  # the parts of a prediction row that the format fills

    def history(self, turns: Sequence[Mapping[str, Any]], utterance: str) -> str:
        """The history part of a frame's inputs: the turns before, and the user's utterance."""
        ...

    def parts(self, schema: Service) -> list[str]:
        """The schema part of each of a frame's inputs."""
        ...

    def targets(self, schema: Service, state: AnswerState) -> list[str]:
        """The target of training for each of a frame's inputs."""
        ...

    def decode(self, schema: Service, dialogue: str, outputs: Sequence[str]) -> AnswerState:
        """Read a frame's state from the model's answers."""
        ...


FORMATS: dict[str, Format] = {
    "t5dst": t5dst,
    "t5dst-options": options,
    "d3st": d3st,
    "d3st-joined": d3st_joined,
}


def get_format(name: str) -> Format:
    """The format with the given name."""
    if name not in FORMATS:
        raise SgdxError(f"format '{name}' is unknown, expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def shown_schema(row: Mapping[str, Any], prompt: Format, shuffle: int | None) -> Service:
    """The schema of a frame row with its elements in the order in which a prompt shows them."""
    schema = read_service(row["schema"])
    if shuffle is None or not prompt.SHUFFLED:
        return schema
    return shuffled(
        schema,
        random.Random(f"{shuffle} {row['variant']} {row['frame_id']}"),  # noqa: S311
    )


def shuffled(schema: Service, rng: random.Random) -> Service:
    """The schema with its slots, their possible values and its intents in random order."""
    slots = [
        msgspec.structs.replace(slot, possible_values=_shuffle(slot.possible_values, rng))
        for slot in schema.slots
    ]
    return msgspec.structs.replace(
        schema, slots=_shuffle(slots, rng), intents=_shuffle(schema.intents, rng)
    )


def _shuffle(items: Sequence[Any], rng: random.Random) -> list[Any]:
    return rng.sample(items, len(items))
