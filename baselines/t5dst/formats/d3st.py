"""The format of D3ST: one input per frame, with descriptions only, in lower case.

An input is ``0=description 1=description 1a) value 1b) value ... i0=description ... [user]
utterance [system] utterance ...``. The answer is ``[states] 0=value 1=1a [intents] i0 [req_slots]
2``; it leaves out slots that are not set and the intent ``NONE``. Of several variants of a value,
the first is the target. A categorical slot whose values are all numbers is treated as free-form.
Slots, values and intents are shuffled in training. Source: Zhao et al. 2022 (arXiv 2201.08904).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sgdx_dataset.schema import NONE_INTENT, Service, Slot

from .values import AnswerState, find_value, letters, quote, read_value, spoken, write_value

HISTORY_FIRST = False
SHUFFLED = True
TRACKS: tuple[str, ...] = ("slot_values", "active_intent", "requested_slots")
_ANSWER = re.compile(r"\s*\[states\](.*)\[intents\](.*)\[req_slots\](.*)", re.DOTALL)
_PAIR = re.compile(r"(?<!\S)(\d+)=(.*?)(?=\s+\d+=|\s*$)", re.DOTALL)


def history(turns: Sequence[Mapping[str, Any]], utterance: str) -> str:
    """The history part of the input."""
    return spoken(turns, utterance, "[user]", "[system]").lower()


def parts(schema: Service) -> list[str]:
    """The schema part of the input, a list of one text for the whole frame."""
    slots = [
        " ".join([f"{index}={slot.description}", *_options(index, slot)])
        for index, slot in enumerate(schema.slots)
    ]
    intents = [f"i{index}={i.description}" for index, i in enumerate(schema.intents)]
    return [" ".join([*slots, *intents]).lower()]


def _options(index: int, slot: Slot) -> list[str]:
    return [f"{index}{letters(i)}) {quote(value)}" for i, value in enumerate(_lettered(slot))]


def _lettered(slot: Slot) -> list[str]:
    """The values that get letters; none if the slot is free-form or all values are numbers."""
    return [] if all(value.isdigit() for value in slot.values) else slot.values


def targets(schema: Service, state: AnswerState) -> list[str]:
    """The target answer, a list of one text for the whole frame."""
    first = {name: values[:1] for name, values in state.slot_values.items()}
    return [write_answer(schema, replace(state, slot_values=first))]


def write_answer(schema: Service, state: AnswerState, separator: str = "") -> str:
    """The answer that states a frame's state."""
    names = [slot.name for slot in schema.slots]
    states = [
        f"{index}={_target(index, slot, state.slot_values[slot.name], separator)}"
        for index, slot in enumerate(schema.slots)
        if state.slot_values.get(slot.name)
    ]
    intents = [
        f"i{index}"
        for index, intent in enumerate(schema.intents)
        if intent.name == state.active_intent
    ]
    requested = [names.index(name) for name in state.requested_slots if name in names]
    words = ["[states]", *states, "[intents]", *intents, "[req_slots]", *map(str, requested)]
    return " ".join(words)


def _target(index: int, slot: Slot, values: Sequence[str], separator: str) -> str:
    lettered = _lettered(slot)
    if values[0] in lettered:
        return f"{index}{letters(lettered.index(values[0]))}"
    return separator.join(map(write_value, values)).lower()


def decode(schema: Service, dialogue: str, outputs: Sequence[str]) -> AnswerState:
    """Read the state from the answer; free-form values are spelled as in ``dialogue``."""
    (output,) = outputs
    return read_answer(schema, dialogue, output)


def read_answer(
    schema: Service, dialogue: str, output: str, separator: str | None = None
) -> AnswerState:
    """Read a frame's state from an answer: the inverse of ``write_answer``."""
    answer = _ANSWER.fullmatch(output)
    if answer is None:
        return AnswerState(invalid=1)
    states, intents, requested = answer.groups()
    values, invalid = _values(schema.slots, states, dialogue, separator)
    named = {f"i{index}": intent.name for index, intent in enumerate(schema.intents)}
    asked = {str(index): slot.name for index, slot in enumerate(schema.slots)}
    words = requested.split()
    invalid += sum(word not in asked for word in words) + (intents.strip() not in ("", *named))
    return AnswerState(
        named.get(intents.strip(), NONE_INTENT),
        list(dict.fromkeys(asked[word] for word in words if word in asked)),
        values,
        invalid,
    )


def _values(
    slots: Sequence[Slot], text: str, dialogue: str, separator: str | None
) -> tuple[dict[str, list[str]], int]:
    """The values in a text like ``0=value 1=1a``, and how many of them cannot be read."""
    values_by_slot: dict[str, list[str]] = {}
    invalid = 0
    for index, answer in _PAIR.findall(text):
        slot = slots[int(index)] if len(index) < 5 and int(index) < len(slots) else None
        texts = answer.split(separator) if separator else [answer]
        values: list[str | None] = []
        if slot is not None:
            find = partial(_find, int(index), slot, dialogue)
            values = [read_value(text, find)[0] for text in texts]
        if slot is not None and any(values):
            values_by_slot.setdefault(slot.name, [value for value in values if value])
        else:
            invalid += 1
    return values_by_slot, invalid


def _find(index: int, slot: Slot, dialogue: str, text: str) -> str | None:
    """The value that a text stands for: an option's, or one that is spelled out."""
    lettered = {f"{index}{letters(i)}": value for i, value in enumerate(_lettered(slot))}
    return lettered.get(text.lower()) or find_value(slot, dialogue, text)
