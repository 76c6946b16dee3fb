"""Write values into prompts and answers, and read them back; shared by all formats.

In an answer, ``none`` (the slot is not set) and ``dontcare`` are reserved words. A real value that
looks like one of them, such as the subtitle language ``None``, is written in quotes, in prompts
too. So they stay distinct even if a model changes upper to lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Slot, allowed_value

NONE = "none"
_RESERVED = re.compile(rf'"*({NONE}|{DONTCARE})"*', re.IGNORECASE)


@dataclass(frozen=True)
class AnswerState:
    """The state that the answers about one frame give."""

    active_intent: str = NONE_INTENT
    requested_slots: list[str] = field(default_factory=list)
    # For each slot that is set, its value and other variants of it.
    slot_values: dict[str, list[str]] = field(default_factory=dict)
    # Number of answers, or parts of an answer, that could not be read; they set no slot.
    invalid: int = 0


def gold_state(row: Mapping[str, Any]) -> AnswerState:
    """The gold state of a frame row, for training only."""
    values = {entry["slot"]: entry["values"] for entry in row["slot_values"]}
    return AnswerState(row["active_intent"], row["requested_slots"], values)


def write_value(value: str) -> str:
    """A gold value as it is written in a target: in quotes if it looks like a reserved word.

    >>> write_value("dontcare"), write_value("None"), write_value("Rome")
    ('dontcare', '"None"', 'Rome')
    """
    return value if value == DONTCARE else quote(value)


def quote(value: str) -> str:
    """A real value as it is written in a prompt: in quotes if it looks like a reserved word."""
    return f'"{value}"' if _RESERVED.fullmatch(value) else value


def read_value(text: str, find: Callable[[str], str | None]) -> tuple[str | None, bool]:
    """The value of an answer, None if the slot is not set, and whether the answer is valid."""
    text = " ".join(text.split())
    if text.lower() in ("", NONE):
        return None, True
    if text.lower() == DONTCARE:
        return DONTCARE, True
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and _RESERVED.fullmatch(text)
    value = find(text[1:-1] if quoted else text)
    return value, value is not None


def find_value(slot: Slot, dialogue: str, text: str) -> str | None:
    """The value that a text stands for: a possible one, or the text as the dialogue spells it."""
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


def spoken(history: Sequence[Mapping[str, Any]], utterance: str, user: str, system: str) -> str:
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
