"""Values as a model writes them, and back: pure functions that every format shares.

``none`` (not set) and ``dontcare`` are words of the answer's language. A real value that looks like
one of them, as the ``None`` of a subtitle language, is written in quotes, in prompts too, so that
neither can be taken for the other whatever a model does to the case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DONTCARE = "dontcare"
NONE = "none"
_RESERVED = re.compile(rf'"*({NONE}|{DONTCARE})"*', re.IGNORECASE)


@dataclass(frozen=True)
class FrameState:
    """The state of one frame.

    slot_values: per slot its value, and other ways to say it. invalid: how many outputs could not
    be read as an answer to what was asked; their slots are left unset.
    """

    active_intent: str = "NONE"
    requested_slots: list[str] = field(default_factory=list)
    slot_values: dict[str, list[str]] = field(default_factory=dict)
    invalid: int = 0


def gold_state(row: Mapping[str, Any]) -> FrameState:
    """The gold state of a frame row: for training alone."""
    values = {given["slot"]: given["values"] for given in row["slot_values"]}
    return FrameState(row["active_intent"], row["requested_slots"], values)


def write_value(value: str) -> str:
    """A gold value as a target: ``dontcare`` as it is, a real value that looks reserved in quotes.

    >>> write_value("dontcare"), write_value("None"), write_value("Rome")
    ('dontcare', '"None"', 'Rome')
    """
    return value if value == DONTCARE else quote(value)


def quote(value: str) -> str:
    """A real value as a prompt shows it: in quotes if it looks reserved."""
    return f'"{value}"' if _RESERVED.fullmatch(value) else value


def read_value(text: str, find: Callable[[str], str | None]) -> tuple[str | None, bool]:
    """What ``write_value`` wrote.

    Args:
        text: What a model wrote.
        find: The slot's value that a text without quotes means, or None if there is none.

    Returns:
        The value, None if the slot is not set (``none`` in any case, or nothing); and whether the
        text is an answer at all.
    """
    text = " ".join(text.split())
    if text.lower() in ("", NONE):
        return None, True
    if text.lower() == DONTCARE:
        return DONTCARE, True
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and _RESERVED.fullmatch(text)
    value = find(text[1:-1] if quoted else text)
    return value, value is not None


def find_value(slot: Mapping[str, Any], dialogue: str, text: str) -> str | None:
    """A categorical slot's allowed value, or None; a free slot's as the dialogue spells it."""
    if slot["is_categorical"]:
        return allowed_value(text, slot["possible_values"])
    return restore_case(text, dialogue)


def allowed_value(text: str, values: Sequence[str]) -> str | None:
    """The one of ``values`` that ``text`` means: exactly, else but for case and punctuation.

    Returns:
        None if there is none, or several that differ in punctuation alone.
    """
    if text in values:
        return text
    for normalise in (str.casefold, _words):
        meant = [v for v in values if normalise(v) == normalise(text)]
        if normalise(text) and len(meant) == 1:
            return meant[0]
    return None


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def restore_case(text: str, dialogue: str) -> str:
    """``text`` as the dialogue last spells it; unchanged if it is not there.

    >>> restore_case("san jose", "San Jose? No: to SAN JOSE, from san joseph")
    'SAN JOSE'
    """
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    found = re.findall(rf"(?<!\w){pattern}(?!\w)", dialogue, re.IGNORECASE) if pattern else []
    return found[-1] if found else text


def spoken(history: Sequence[Mapping[str, Any]], utterance: str, user: str, system: str) -> str:
    """The dialogue as one line, every turn behind its speaker's marker."""
    markers = {"USER": user, "SYSTEM": system}
    turns = [f"{markers[turn['speaker']]} {turn['utterance']}" for turn in history]
    return " ".join([*turns, f"{user} {utterance}"])


def letters(index: int) -> str:
    """The name of an option: a to z, aa, ab, ...

    >>> letters(0), letters(25), letters(26), letters(27)
    ('a', 'z', 'aa', 'ab')
    """
    more, last = divmod(index, 26)
    return (letters(more - 1) if more else "") + chr(ord("a") + last)
