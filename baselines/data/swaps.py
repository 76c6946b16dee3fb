"""Training dialogues with other values: what was said of a slot elsewhere takes a value's place.

So a tracker cannot know a dialogue by its values, but has to read which slot they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from datasets import Dataset

from sgdx_dataset.schema import DONTCARE

from .dialogues import Dialogue, Frame, Gold, Row, UserTurn

Pool = Mapping[tuple[str, str], Sequence[str]]  # the values of each service's slot
_SHORTEST = 3  # characters: a shorter value is part of too many other words


def value_pool(rows: Dataset) -> Pool:
    """The distinct values of every slot in frame rows, each in the spelling that comes first."""
    pool: dict[tuple[str, str], dict[str, None]] = {}
    for batch in rows.select_columns(["service", "slot_values"]).iter(10_000):
        for service, state in zip(batch["service"], batch["slot_values"], strict=True):
            for entry in state:
                pool.setdefault((service, entry["slot"]), {})[entry["values"][0]] = None
    return {slot: list(values) for slot, values in pool.items()}


def swap_some(
    dialogues: Iterable[Dialogue], pool: Pool, fraction: float, seed: int
) -> Iterator[Dialogue]:
    """Dialogues, a random fraction of which have other values, which depend on the seed alone."""
    for number, dialogue in enumerate(dialogues):
        rng = np.random.default_rng([seed, number])
        yield swap(dialogue, pool, rng) if rng.random() < fraction else dialogue


def swap(dialogue: Dialogue, pool: Pool, rng: np.random.Generator) -> Dialogue:
    """The dialogue with other values of its free-form slots, in its texts, acts and states alike.

    A value stays that is a category of the service, is nowhere said, or is also said in part: of
    "The Honey Barn" and later "the barn", one would name the old place.
    """
    texts = [text for turn in dialogue.turns for text in (turn.system, turn.user)]
    spelled = _spellings(dialogue)
    mentions = _pattern(spelled)
    rest = " ".join(mentions.sub(" ", text) for text in texts).casefold()
    said = {match for text in texts for match in mentions.findall(text)}
    new: dict[str, str] = {}
    for value, (service, slot) in spelled.items():
        if value in new or value not in said or _is_said_in_part(value, rest):
            continue
        taken = {*new.values(), *spelled}
        others = [
            other
            for other in pool.get((service, slot), ())
            if other not in taken and other != DONTCARE and not any(other in t for t in texts)
        ]
        if others:
            new[value] = others[rng.integers(len(others))]
    if not new:
        return dialogue
    swapped = [_swapped_turn(turn, new, _pattern(new)) for turn in dialogue.turns]
    turns = [turn for turn in swapped if turn is not None]
    return dialogue._replace(turns=turns) if len(turns) == len(swapped) else dialogue


def _spellings(dialogue: Dialogue) -> dict[str, tuple[str, str]]:
    """The values that may be swapped, each in its only spelling, with service and slot."""
    found: dict[str, tuple[str, str]] = {}
    fixed = {DONTCARE}
    for turn in dialogue.turns:
        for frame in turn.frames:
            schema = frame.schema
            fixed |= {value for slot in schema.slots for value in slot.values}
            free = {slot.name for slot in schema.slots if not slot.is_categorical}
            own = [act for act in turn.acts if act["service"] == schema.service_name]
            given = [(act["slot"], act["values"]) for act in own if act["slot"] in free]
            state = frame.gold.state.values if frame.gold else {}
            for slot, values in [*given, *((s, v) for s, v in state.items() if s in free)]:
                if len(values) > 1 or len(values[0:1] and values[0]) < _SHORTEST:
                    fixed |= set(values)
                else:
                    found.setdefault(values[0], (schema.service_name, slot))
    return {value: slot for value, slot in found.items() if value not in fixed}


def _pattern(values: Iterable[str]) -> re.Pattern[str]:
    """Finds any of the values as whole words, the longest first; nothing if there are none."""
    longest = sorted(map(re.escape, values), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(longest)})(?![\w-])" if longest else r"(?!)")


def _is_said_in_part(value: str, rest: str) -> bool:
    """Whether a telling word of a value stands in what is said besides the values."""
    telling = [word for word in re.findall(r"\w+", value.casefold()) if len(word) > 3]
    return any(re.search(rf"\b{re.escape(word)}\b", rest) for word in telling)


class _Move(NamedTuple):
    """A replaced piece of a text."""

    start: int  # first character in the old text
    end: int  # character after its last one
    growth: int  # by how many characters it has grown


def _swapped_turn(turn: UserTurn, new: Mapping[str, str], old: re.Pattern[str]) -> UserTurn | None:
    """The turn with new values; None where a span that was right is so no longer."""
    moves = [
        _Move(*match.span(), len(new[match[0]]) - len(match[0]))
        for match in old.finditer(turn.user)
    ]
    system, user = (old.sub(lambda found: new[found[0]], text) for text in (turn.system, turn.user))
    frames: list[Frame] = []
    for frame in turn.frames:
        assert frame.gold is not None  # noqa: S101 - training rows have the gold columns
        state = frame.gold.state
        values = {slot: [new.get(v, v) for v in state.values[slot]] for slot in state.values}
        spans: dict[str, list[tuple[int, int]]] = {}
        for slot, ranges in frame.gold.spans.items():
            for start, end in ranges:
                begin = start + sum(move.growth for move in moves if move.end <= start)
                stop = end + sum(move.growth for move in moves if move.start < end)
                spans.setdefault(slot, []).append((begin, stop))
                was_right = turn.user[start:end] in state.values.get(slot, ())
                if was_right and user[begin:stop] not in values[slot]:
                    return None
        frames.append(frame._replace(gold=Gold(state._replace(values=values), spans)))
    acts: list[Row] = [{**a, "values": [new.get(v, v) for v in a["values"]]} for a in turn.acts]
    return UserTurn(system, user, acts, frames)
