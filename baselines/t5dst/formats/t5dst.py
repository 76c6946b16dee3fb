"""The format of T5DST: one input per slot, with names and descriptions.

An input is ``[USER] utterance [SYSTEM] utterance ... [USER] utterance [domain] service description
[slot] name description [PVs] value, value``, where only categorical slots have ``[PVs]``. Names are
shown as words, without the number that ends a service's name: ``Flights`` for ``Flights_43``, which
only one variant has, and ``name of restaurant`` for ``name_of_restaurant``. The answer is the
slot's current value, ``dontcare`` or ``NONE``; of several variants of a value, the first is the
target. Sources: Lee et al. 2021 (arXiv 2109.07506); Lee et al. 2022 (SGD-X, arXiv 2110.06800),
Figure 3; names as in Coca et al. 2023 (arXiv 2306.09340).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sgdx_dataset.schema import Service, Slot

from .values import AnswerState, find_value, quote, read_value, spoken, write_value

HISTORY_FIRST = True
SHUFFLED = False
TRACKS: tuple[str, ...] = ("slot_values",)


def history(turns: Sequence[Mapping[str, Any]], utterance: str) -> str:
    """The history part of the inputs."""
    return spoken(turns, utterance, "[USER]", "[SYSTEM]")


def parts(schema: Service) -> list[str]:
    """The schema part of the input for each slot, in the schema's order."""
    service = re.sub(r"_\d+$", "", schema.service_name)
    domain = f"[domain] {_words(service)} {schema.description}"
    return [f"{domain} [slot] {_slot(slot)}" for slot in schema.slots]


def _slot(slot: Slot) -> str:
    text = f"{_words(slot.name)} {slot.description}"
    if not slot.is_categorical:
        return text
    return f"{text} [PVs] {', '.join(map(quote, slot.possible_values))}"


def _words(name: str) -> str:
    """A name with spaces between its words."""
    return name.replace("_", " ")


def targets(schema: Service, state: AnswerState) -> list[str]:
    """The target answer for each slot."""
    variants = [state.slot_values.get(slot.name) for slot in schema.slots]
    return [write_value(values[0]) if values else "NONE" for values in variants]


def decode(schema: Service, dialogue: str, outputs: Sequence[str]) -> AnswerState:
    """Read the state from the answers; free-form values are spelled as in ``dialogue``."""
    values: dict[str, list[str]] = {}
    invalid = 0
    for slot, output in zip(schema.slots, outputs, strict=True):
        value, valid = read_value(output, partial(find_value, slot, dialogue))
        invalid += not valid
        if value is not None:
            values[slot.name] = [value]
    return AnswerState(slot_values=values, invalid=invalid)
