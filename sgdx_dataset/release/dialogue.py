"""Dialogues of the release: their types, which are those of its JSON, and reading them."""

from __future__ import annotations

import json
import re
from typing import Generic, TypeVar

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
    """A service's state after a user turn; a slot's values are different wordings of one value."""

    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, list[str]]


class ServiceCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The API call that the system made before it spoke."""

    method: str
    parameters: dict[str, str]


class Frame(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A turn's part about one service; a user's has a state, a system's may have a service call."""

    service: str
    slots: list[Span]
    actions: list[Action]
    state: State | None = None
    service_call: ServiceCall | None = None
    service_results: list[dict[str, str]] | None = None


class FrameState(msgspec.Struct, gc=False):
    """The part of a ``Frame`` that scoring reads; a parser passes over the rest, unchecked."""

    service: str
    slots: list[Span]
    state: State | None = None


AnyFrame = TypeVar("AnyFrame", Frame, FrameState)


class Turn(msgspec.Struct, Generic[AnyFrame], forbid_unknown_fields=True, gc=False):
    """One utterance of the ``USER`` or the ``SYSTEM``."""

    speaker: str
    utterance: str
    frames: list[AnyFrame]


class Dialogue(msgspec.Struct, Generic[AnyFrame], forbid_unknown_fields=True, gc=False):
    """One entry of a release's ``dialogues_*.json``."""

    dialogue_id: str
    services: list[str]
    turns: list[Turn[AnyFrame]]


def read_dialogues(data: bytes, path: str, frame: type[AnyFrame]) -> list[Dialogue[AnyFrame]]:
    """Parse a ``dialogues_*.json``.

    Args:
        data: The file's content.
        path: Where it comes from, for error messages.
        frame: What to read of the frames: all of them (``Frame``), or ``FrameState``.

    Raises:
        SgdxError: It is malformed or has no dialogue; the message names the dialogue at fault.
    """
    try:
        dialogues = msgspec.json.decode(data, type=list[Dialogue[frame]])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise SgdxError(f"{path}: {_dialogue_named(data, str(error))}{error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: not JSON: {error}; expected a list of dialogues") from None
    if not dialogues:
        raise SgdxError(f"{path}: has no dialogue, expected at least one")
    return dialogues


def _dialogue_named(data: bytes, message: str) -> str:
    """Name the dialogue at ``$[0]`` in a decoder's message, as ``dialogue 1_00000: ``."""
    position = re.search(r"\$\[(\d+)\]", message)
    dialogue = json.loads(data)[int(position[1])] if position else None
    name = dialogue.get("dialogue_id") if isinstance(dialogue, dict) else None
    return f"dialogue {name}: " if isinstance(name, str) else ""
