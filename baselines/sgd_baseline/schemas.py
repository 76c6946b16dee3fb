"""Schema elements: their sentence pairs, and their places in a table of embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ..batching import Ints

Row = dict[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Service:
    """A service's elements in the order of its sentence pairs: intents, then slots and values.

    intents: names. categorical, free: names of the slots of either kind. values: of each
    categorical slot.
    """

    intents: list[str]
    categorical: list[str]
    free: list[str]
    values: list[list[str]]
    pairs: list[Pair]


def read_service(schema: Row) -> Service:
    """The elements of a service, and what is embedded of each."""
    categorical = [slot for slot in schema["slots"] if slot["is_categorical"]]
    free = [slot for slot in schema["slots"] if not slot["is_categorical"]]
    elements = [*schema["intents"], *categorical, *free]
    pairs = [(schema["description"], f"{e['name']} {e['description']}") for e in elements]
    for slot in categorical:
        pairs += [(f"{slot['name']} {slot['description']}", v) for v in slot["possible_values"]]
    return Service(
        [intent["name"] for intent in schema["intents"]],
        [slot["name"] for slot in categorical],
        [slot["name"] for slot in free],
        [slot["possible_values"] for slot in categorical],
        pairs,
    )


class Table:
    """The places of services' elements among all the different pairs.

    services: of each place of ``Frames.schemas``. pairs: the different ones. Arrays of places plus
    1, as 0 is the intent NONE, with -1 where there is nothing: intents [services, 1 + intents];
    categorical, free [slots]: the slots of all services; values [categorical slots, values].
    categorical_begin, free_begin [services + 1]: where a service's slots begin.
    categorical_names, choices, free_names: of each slot its name, its values.
    """

    def __init__(self, schemas: Sequence[Row]) -> None:
        self.services = [read_service(schema) for schema in schemas]
        places: dict[Pair, int] = {}
        intents, categorical, free, values = [], [], [], []
        for service in self.services:
            found = iter([places.setdefault(pair, len(places)) + 1 for pair in service.pairs])
            intents.append([0, *_take(found, service.intents)])
            categorical += _take(found, service.categorical)
            free += _take(found, service.free)
            values += [_take(found, choices) for choices in service.values]
        self.pairs = list(places)
        self.categorical_names = [name for s in self.services for name in s.categorical]
        self.choices = [choices for s in self.services for choices in s.values]
        self.free_names = [name for s in self.services for name in s.free]
        self.intents, self.values = _rectangle(intents), _rectangle(values)
        self.categorical, self.free = np.array(categorical, np.int64), np.array(free, np.int64)
        self.categorical_begin = _begins([len(s.categorical) for s in self.services])
        self.free_begin = _begins([len(s.free) for s in self.services])


def _take(places: Iterator[int], names: Sequence[str]) -> list[int]:
    return [next(places) for _ in names]


def _rectangle(rows: list[list[int]]) -> Ints:
    wide = np.full((len(rows), max(map(len, rows), default=1)), -1, np.int64)
    for index, row in enumerate(rows):
        wide[index, : len(row)] = row
    return wide


def _begins(counts: list[int]) -> Ints:
    return np.array([0, *accumulate(counts)], np.int64)
