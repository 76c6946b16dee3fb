"""T5DST with lettered options: one input per slot, with descriptions only, in lower case.

An input is ``[user] utterance [system] utterance ... [slot] description a) value b) value``. The
answer is the letter of an option, or for a free-form slot all variants of its value, joined by
``||``; else ``none`` or ``dontcare``. Options are shuffled in training. According to a third party
(the code of Coca et al. 2023, arXiv 2306.09340), the authors of SGD-X said that they trained with
this format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sgdx_dataset.schema import Service, Slot

from .values import NONE, AnswerState, find_value, letters, quote, read_value, spoken, write_value

HISTORY_FIRST = True
SHUFFLED = True
TRACKS: tuple[str, ...] = ("slot_values",)
_OR = " || "  # a single bar occurs in values


def history(turns: Sequence[Mapping[str, Any]], utterance: str) -> str:
    """The history part of the inputs."""
    return spoken(turns, utterance, "[user]", "[system]").lower()


def parts(schema: Service) -> list[str]:
    """The schema part of the input for each slot, in the schema's order."""
    return [
        " ".join(["[slot]", slot.description, *_options(slot)]).lower() for slot in schema.slots
    ]


def _options(slot: Slot) -> list[str]:
    return [f"{letters(index)}) {quote(value)}" for index, value in enumerate(slot.values)]


def targets(schema: Service, state: AnswerState) -> list[str]:
    """The target answer for each slot."""
    return [_target(slot, state.slot_values.get(slot.name)) for slot in schema.slots]


def _target(slot: Slot, values: list[str] | None) -> str:
    if not values:
        return NONE
    if values[0] in slot.values:
        return letters(slot.values.index(values[0]))
    return _OR.join(map(write_value, values)).lower()


def decode(schema: Service, dialogue: str, outputs: Sequence[str]) -> AnswerState:
    """Read the state from the answers; free-form values are spelled as in ``dialogue``."""
    values_by_slot: dict[str, list[str]] = {}
    invalid = 0
    for slot, output in zip(schema.slots, outputs, strict=True):
        read = [read_value(text, partial(_find, slot, dialogue)) for text in output.split(_OR)]
        if values := [value for value, _ in read if value is not None]:
            values_by_slot[slot.name] = values
        invalid += not any(valid for _, valid in read)
    return AnswerState(slot_values=values_by_slot, invalid=invalid)


def _find(slot: Slot, dialogue: str, text: str) -> str | None:
    options = {letters(index): value for index, value in enumerate(slot.values)}
    if (letter := text.lower().rstrip(")")) in options:
        return options[letter]
    return find_value(slot, dialogue, text)
