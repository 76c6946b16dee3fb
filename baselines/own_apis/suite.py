"""Hand-written dialogues about APIs that are in no corpus, and what a tracker makes of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from sgdx_eval.tables import Table, print_line, table, terminal, to_terminal

from ..system import System
from ..use import Dialogue, load_tracker, track_dialogues

_APIS = Path(__file__).parent / "apis"
_FAULTS = ("wrong", "missing", "invented")


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
    # Of the slots that the user settled, those whose value is ``right``, ``wrong`` or ``missing``,
    # and as ``invented`` the slots that have a value and should have none.
    slots: Mapping[str, Sequence[str]]

    @property
    def is_whole(self) -> bool:
        """Whether the whole state is right: every expected value, and no other."""
        return not any(self.slots[fault] for fault in _FAULTS)


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
    asked = [Dialogue(dialogue.service, dialogue.utterances) for dialogue in dialogues]
    verdicts = []
    for dialogue, states in zip(dialogues, track_dialogues(tracker, asked), strict=True):
        values = {slot: found[0] for slot, found in states[-1]["slot_values"].items() if found}
        slots: dict[str, list[str]] = {"right": [], **{fault: [] for fault in _FAULTS}}
        for slot, spellings in dialogue.state.items():
            if slot not in values:
                slots["missing"].append(slot)
            elif values[slot].casefold() in map(str.casefold, spellings):
                slots["right"].append(slot)
            else:
                slots["wrong"].append(slot)
        slots["invented"] = [slot for slot in values if slot not in dialogue.state]
        verdicts.append(Verdict(dialogue, states, slots))
    return verdicts


def show_verdicts(model: str, dialogues: Sequence[OwnDialogue], details: bool) -> None:
    """Track the dialogues, and print how many states are right."""
    verdicts = judge(load_tracker(model), dialogues)
    console = terminal()
    if details:
        for verdict in verdicts:
            print_line(_details(verdict), console)
    to_terminal(_table(verdicts), console)


def _table(verdicts: Sequence[Verdict]) -> Table:
    """A row for each API and one for all: the counts of dialogues, states and values."""
    rows = [
        [name, *_counts(list(group))]
        for name, group in groupby(verdicts, lambda v: str(v.dialogue.service["service_name"]))
    ]
    headers = ["API", "states right", "values right", *_FAULTS]
    return table("", headers, [*rows, ["all", *_counts(verdicts)]], breaks=[len(rows) - 1])


def _counts(verdicts: Sequence[Verdict]) -> list[str]:
    number = {
        kind: sum(len(verdict.slots[kind]) for verdict in verdicts) for kind in ("right", *_FAULTS)
    }
    values = sum(len(verdict.dialogue.state) for verdict in verdicts)
    return [
        f"{sum(verdict.is_whole for verdict in verdicts)} of {len(verdicts)}",
        f"{number['right']} of {values}",
        *(str(number[fault]) for fault in _FAULTS),
    ]


def _details(verdict: Verdict) -> str:
    dialogue = verdict.dialogue
    lines = [f"{dialogue.dialogue_id}: {'right' if verdict.is_whole else 'not right'}"]
    for turn, utterance in enumerate(dialogue.utterances):
        lines.append(f"  {'SYSTEM' if turn % 2 else 'USER'}: {utterance}")
        if turn % 2 == 0:
            values = verdict.states[turn // 2]["slot_values"]
            lines.append("    " + ", ".join(f"{slot}={values[slot][0]}" for slot in sorted(values)))
    for fault in _FAULTS:
        for slot in verdict.slots[fault]:
            expected = " or ".join(dialogue.state.get(slot, ["none"]))
            lines.append(f"  {fault}: {slot}, expected {expected}")
    return "\n".join([*lines, ""])
