"""Prompt formats: how schema and dialogue become text, and how answers become a state.

In an answer, ``none`` (the slot is not set) and ``dontcare`` are reserved words. A real value that
looks like one of them, such as the subtitle language ``None``, is written in quotes, in prompts
too. So they stay distinct even if a model changes upper to lower case.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec.structs import replace

from sgdx_dataset.schema import (
    DONTCARE,
    NONE_INTENT,
    Service,
    Slot,
    allowed_value,
    read_service,
)

from ..data.dialogues import State, Values
from .settings import FormatName

Row = Mapping[str, Any]
NONE = "none"
_RESERVED = re.compile(rf'"*({NONE}|{DONTCARE})"*', re.IGNORECASE)


class Format(Protocol):
    """A format; the schemas that it gets are those of ``shown_schema``."""

    HISTORY_FIRST: bool  # whether an input has the history before the schema part, else after it
    # Whether training shuffles the elements of the schema. Prediction may do so too.
    SHUFFLED: bool
    TRACKS: tuple[str, ...]  # the parts of a prediction row that the format fills

    def history(self, turns: Sequence[Row], utterance: str) -> str:
        """The history part of a frame's inputs: the turns before, and the user's utterance."""
        ...

    def parts(self, schema: Service) -> list[str]:
        """The schema part of each of a frame's inputs."""
        ...

    def targets(self, schema: Service, state: State) -> list[str]:
        """The target of training for each of a frame's inputs."""
        ...

    def decode(self, schema: Service, dialogue: str, outputs: Sequence[str]) -> tuple[State, int]:
        """A frame's state from the model's answers; values are spelled as in ``dialogue``.

        Beside it is the number of answers, or parts of one, that cannot be read and set nothing.
        """
        ...


class T5DST:
    """The format of T5DST: one input per slot, with names and descriptions.

    An input is ``[USER] utterance [SYSTEM] utterance ... [USER] utterance [domain] service
    description [slot] name description [PVs] value, value``, where only categorical slots have
    ``[PVs]``. Names are shown as words, without the number that ends a service's name: ``Flights``
    for ``Flights_43``, which only one variant has, and ``name of restaurant`` for
    ``name_of_restaurant``. The answer is the slot's current value, ``dontcare`` or ``NONE``; of
    several variants of a value, the first is the target. Sources: Lee et al. 2021 (arXiv
    2109.07506); Lee et al. 2022 (SGD-X, arXiv 2110.06800), Figure 3; names as in Coca et al. 2023
    (arXiv 2306.09340).
    """

    HISTORY_FIRST = True
    SHUFFLED = False
    TRACKS: tuple[str, ...] = ("slot_values",)

    def history(self, turns: Sequence[Row], utterance: str) -> str:
        return spoken(turns, utterance, "[USER]", "[SYSTEM]")

    def parts(self, schema: Service) -> list[str]:
        service = re.sub(r"_\d+$", "", schema.service_name).replace("_", " ")
        parts = []
        for slot in schema.slots:
            text = f"{slot.name.replace('_', ' ')} {slot.description}"
            if slot.is_categorical:
                text += f" [PVs] {', '.join(map(quote, slot.possible_values))}"
            parts.append(f"[domain] {service} {schema.description} [slot] {text}")
        return parts

    def targets(self, schema: Service, state: State) -> list[str]:
        variants = [state.values.get(slot.name) for slot in schema.slots]
        return [write_value(values[0]) if values else "NONE" for values in variants]

    def decode(self, schema: Service, dialogue: str, outputs: Sequence[str]) -> tuple[State, int]:
        values: Values = {}
        invalid = 0
        for slot, output in zip(schema.slots, outputs, strict=True):
            value, valid = read_value(output, partial(find_value, slot, dialogue))
            if value is not None:
                values[slot.name] = [value]
            invalid += not valid
        return State(values=values), invalid


class D3ST:
    """The format of D3ST: one input per frame, with descriptions only, in lower case.

    An input is ``0=description 1=description 1a) value 1b) value ... i0=description ... [user]
    utterance [system] utterance ...``. The answer is ``[states] 0=value 1=1a [intents] i0
    [req_slots] 2``; it leaves out slots that are not set and the intent ``NONE``. Of several
    variants of a value, the first is the target. A categorical slot whose values are all numbers is
    treated as free-form. Slots, values and intents are shuffled in training. Source: Zhao et al.
    2022 (arXiv 2201.08904).
    """

    HISTORY_FIRST = False
    SHUFFLED = True
    TRACKS: tuple[str, ...] = ("slot_values", "active_intent", "requested_slots")
    _ANSWER = re.compile(r"\s*\[states\](.*)\[intents\](.*)\[req_slots\](.*)", re.DOTALL)
    _PAIR = re.compile(r"(?<!\S)(\d+)=(.*?)(?=\s+\d+=|\s*$)", re.DOTALL)

    def history(self, turns: Sequence[Row], utterance: str) -> str:
        return spoken(turns, utterance, "[user]", "[system]").lower()

    def parts(self, schema: Service) -> list[str]:
        texts = []
        for index, slot in enumerate(schema.slots):
            texts.append(f"{index}={slot.description}")
            for number, value in enumerate(_lettered(slot)):
                texts.append(f"{index}{letters(number)}) {quote(value)}")
        texts += [f"i{index}={intent.description}" for index, intent in enumerate(schema.intents)]
        return [" ".join(texts).lower()]

    def targets(self, schema: Service, state: State) -> list[str]:
        states = []
        for index, slot in enumerate(schema.slots):
            values, lettered = state.values.get(slot.name), _lettered(slot)
            if values and values[0] in lettered:
                states.append(f"{index}={index}{letters(lettered.index(values[0]))}")
            elif values:
                states.append(f"{index}={write_value(values[0]).lower()}")
        intents = [f"i{i}" for i, one in enumerate(schema.intents) if one.name == state.intent]
        names = [slot.name for slot in schema.slots]
        requested = [str(names.index(name)) for name in state.requested if name in names]
        return [" ".join(["[states]", *states, "[intents]", *intents, "[req_slots]", *requested])]

    def decode(self, schema: Service, dialogue: str, outputs: Sequence[str]) -> tuple[State, int]:
        answer = self._ANSWER.fullmatch(outputs[0])
        if answer is None:
            return State(), 1
        states, intents, requested = answer.groups()
        values: Values = {}
        invalid = 0
        for index, said in self._PAIR.findall(states):
            value = None
            if len(index) < 5 and int(index) < len(schema.slots):
                slot = schema.slots[int(index)]
                of_letters = {f"{index}{letters(i)}": v for i, v in enumerate(_lettered(slot))}
                value, _ = read_value(said, partial(find_value, slot, dialogue, options=of_letters))
            if value:
                values.setdefault(slot.name, [value])
            else:
                invalid += 1
        named = {f"i{index}": intent.name for index, intent in enumerate(schema.intents)}
        asked = {str(index): slot.name for index, slot in enumerate(schema.slots)}
        words = requested.split()
        invalid += sum(word not in asked for word in words) + (intents.strip() not in ("", *named))
        of_user = tuple(dict.fromkeys(asked[word] for word in words if word in asked))
        return State(named.get(intents.strip(), NONE_INTENT), values, of_user), invalid


def _lettered(slot: Slot) -> list[str]:
    """The values that get letters in D3ST; none if the slot is free-form or all are numbers."""
    return [] if all(value.isdigit() for value in slot.values) else slot.values


FORMATS: dict[FormatName, Format] = {"t5dst": T5DST(), "d3st": D3ST()}


def shown_schema(row: Row, prompt: Format, shuffle: int | None) -> Service:
    """The schema of a frame row with its elements in the order in which a prompt shows them."""
    schema = read_service(row["schema"])
    if shuffle is None or not prompt.SHUFFLED:
        return schema
    # Slots, their possible values and intents, each frame in an order of its own.
    rng = random.Random(f"{shuffle} {row['variant']} {row['frame_id']}")  # noqa: S311
    slots = [
        replace(slot, possible_values=rng.sample(slot.possible_values, len(slot.possible_values)))
        for slot in schema.slots
    ]
    slots = rng.sample(slots, len(slots))
    return replace(schema, slots=slots, intents=rng.sample(schema.intents, len(schema.intents)))


def gold_state(row: Row) -> State:
    """The gold state of a frame row, for training only."""
    values = {entry["slot"]: entry["values"] for entry in row["slot_values"]}
    return State(row["active_intent"], values, tuple(row["requested_slots"]))


Find = Callable[[str], str | None]  # the value that a text stands for; None for none


def write_value(value: str) -> str:
    """A gold value as it is written in a target: in quotes if it looks like a reserved word.

    >>> write_value("dontcare"), write_value("None"), write_value("Rome")
    ('dontcare', '"None"', 'Rome')
    """
    return value if value == DONTCARE else quote(value)


def quote(value: str) -> str:
    """A real value as it is written in a prompt: in quotes if it looks like a reserved word."""
    return f'"{value}"' if _RESERVED.fullmatch(value) else value


def read_value(text: str, find: Find) -> tuple[str | None, bool]:
    """The value of an answer, None if the slot is not set, and whether the answer is valid."""
    text = " ".join(text.split())
    if text.lower() in ("", NONE):
        return None, True
    if text.lower() == DONTCARE:
        return DONTCARE, True
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and _RESERVED.fullmatch(text)
    value = find(text[1:-1] if quoted else text)
    return value, value is not None


def find_value(
    slot: Slot, dialogue: str, text: str, options: Mapping[str, str] | None = None
) -> str | None:
    """The value that a text stands for: an option, a possible value, or a text of the dialogue."""
    if options and (option := options.get(text.lower())):
        return option
    if slot.is_categorical:
        return allowed_value(text, slot.possible_values)
    return restore_case(text, dialogue)


def restore_case(text: str, dialogue: str) -> str:
    """``text`` as it is last spelled in the dialogue; unchanged if the dialogue lacks it.

    >>> restore_case("san jose", "San Jose? No: to SAN JOSE, from san joseph")
    'SAN JOSE'
    """
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    spellings = re.findall(rf"(?<!\w){pattern}(?!\w)", dialogue, re.IGNORECASE) if pattern else []
    return spellings[-1] if spellings else text


def spoken(history: Sequence[Row], utterance: str, user: str, system: str) -> str:
    """The dialogue as one line, with a marker of the speaker before each utterance."""
    markers = {"USER": user, "SYSTEM": system}
    turns = [f"{markers[turn['speaker']]} {turn['utterance']}" for turn in history]
    return " ".join([*turns, f"{user} {utterance}"])


def letters(index: int) -> str:
    """The letters of an option by its index from 0: a to z, then aa, ab, and so on.

    >>> letters(0), letters(25), letters(26), letters(27)
    ('a', 'z', 'aa', 'ab')
    """
    more, last = divmod(index, 26)
    return (letters(more - 1) if more else "") + chr(ord("a") + last)
