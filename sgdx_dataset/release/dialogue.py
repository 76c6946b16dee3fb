"""Dialogues of the release, as its JSON has them: types, decoding, and naming what is wrong."""

from __future__ import annotations

import json
import re

import msgspec

from ..errors import SgdxError


class Span(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A slot value's characters in the utterance: ``utterance[start:exclusive_end]``."""

    slot: str
    start: int
    exclusive_end: int


class Action(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A dialogue act; ``slot`` is empty where the act has none."""

    act: str
    slot: str
    values: list[str]
    canonical_values: list[str]


class State(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A service's state after a user turn; several values of a slot are wordings of one value."""

    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, list[str]]


class ServiceCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The API call that the system made before it spoke."""

    method: str
    parameters: dict[str, str]


class Frame(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What a turn says about one service; user turns carry a state, system turns may call."""

    service: str
    slots: list[Span]
    actions: list[Action]
    state: State | None = None
    service_call: ServiceCall | None = None
    service_results: list[dict[str, str]] | None = None


class Turn(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One utterance of the ``USER`` or the ``SYSTEM``."""

    speaker: str
    utterance: str
    frames: list[Frame]


class Dialogue(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One entry of a release's ``dialogues_*.json``."""

    dialogue_id: str
    services: list[str]
    turns: list[Turn]


_DECODER = msgspec.json.Decoder(list[Dialogue])


def read_dialogues(data: bytes, path: str) -> list[Dialogue]:
    """Parse a ``dialogues_*.json``; ``SgdxError`` names the file, the dialogue and the fault."""
    try:
        dialogues = _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{path}: {_dialogue_named(data, str(error))}{error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: not JSON: {error}; expected a list of dialogues") from None
    if not dialogues:
        raise SgdxError(f"{path}: has no dialogue, expected at least one")
    return dialogues


def _dialogue_named(data: bytes, message: str) -> str:
    """``"dialogue 1_00000: "`` for a decoder's message that points at ``$[0]...``."""
    position = re.search(r"\$\[(\d+)\]", message)
    dialogue = json.loads(data)[int(position[1])] if position else None
    name = dialogue.get("dialogue_id") if isinstance(dialogue, dict) else None
    return f"dialogue {name}: " if isinstance(name, str) else ""
