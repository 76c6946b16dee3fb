"""The suite's dialogues, and the verdict on the states that a tracker reaches at their ends.

Each file of ``apis/`` is an API: its schema, as ``baselines.use.track_dialogue`` takes it, and five
dialogues, each with the values that its slots have in the end.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgdx_dataset.schema import DONTCARE

from ..system import System
from ..use import Dialogue, track_dialogues

_APIS = Path(__file__).parent / "apis"


@dataclass(frozen=True)
class OwnDialogue:
    """A dialogue of the suite."""

    dialogue_id: str  # its id, such as ``coffee-1``
    service: Mapping[str, Any]  # the schema of its API
    # What is said, in turn by the user and the system; the user begins and ends.
    utterances: Sequence[str]
    # The slots that have a value in the end, each with all spellings of it that are right.
    state: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Verdict:
    """How the state at the end of a dialogue compares with what the user wanted."""

    dialogue: OwnDialogue
    states: Sequence[Mapping[str, Any]]  # the tracker's state after each of the user's turns
    # Of the slots that the user settled, those whose value is right, another, or absent.
    right: Sequence[str]
    wrong: Sequence[str]
    missing: Sequence[str]
    invented: Sequence[str]  # the slots that have a value and should have none

    @property
    def is_whole(self) -> bool:
        """Whether the whole state is right: every expected value, and no other."""
        return not (self.wrong or self.missing or self.invented)


def read_suite() -> list[OwnDialogue]:
    """All dialogues, API by API in the order of their file names."""
    dialogues = []
    for path in sorted(_APIS.glob("*.toml")):
        api = tomllib.loads(path.read_text(encoding="utf-8"))
        service = {name: value for name, value in api.items() if name != "dialogues"}
        dialogues += [
            OwnDialogue(dialogue["id"], service, dialogue["turns"], dialogue["state"])
            for dialogue in api["dialogues"]
        ]
    return dialogues


def judge(tracker: System, dialogues: Sequence[OwnDialogue]) -> list[Verdict]:
    """Track dialogues, by their text alone, and judge the state at the end of each."""
    # A value is right if it equals one of the spellings that are listed, in capitals or not.
    states = track_dialogues(
        tracker, [Dialogue(dialogue.service, dialogue.utterances) for dialogue in dialogues]
    )
    return [_verdict(*pair) for pair in zip(dialogues, states, strict=True)]


def _verdict(dialogue: OwnDialogue, states: Sequence[Mapping[str, Any]]) -> Verdict:
    values: Mapping[str, Sequence[str]] = states[-1]["slot_values"]
    tracked = [slot for slot in dialogue.state if values.get(slot)]
    right = [slot for slot in tracked if _is_right(values[slot][0], dialogue.state[slot])]
    return Verdict(
        dialogue,
        states,
        right,
        wrong=[slot for slot in tracked if slot not in right],
        missing=[slot for slot in dialogue.state if slot not in tracked],
        invented=[slot for slot in values if values[slot] and slot not in dialogue.state],
    )


def _is_right(value: str, spellings: Sequence[str]) -> bool:
    if DONTCARE in spellings:
        return value == DONTCARE
    return value.casefold() in [spelling.casefold() for spelling in spellings]
