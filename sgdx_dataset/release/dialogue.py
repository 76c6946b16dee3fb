"""Dialogues of the release: their types, which are those of its JSON, and reading them."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

import msgspec

from ..io.errors import SgdxError
from ..io.json import parse_json
from .archives import digest
from .checksums import is_released

Position = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
# The first value of a slot is the canonical one, which scoring takes: there must be one.
Values = Annotated[list[str], msgspec.Meta(min_length=1)]


class Span(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A slot value's characters in the utterance: ``utterance[start:exclusive_end]``."""

    slot: str
    start: Position
    exclusive_end: Position


class Action(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A dialogue act; ``slot`` is empty where the act has none."""

    act: str
    slot: str
    values: list[str]
    canonical_values: list[str]


class State(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A service's state after a user turn; a slot's values are different variants of one value."""

    active_intent: str
    requested_slots: list[str]
    slot_values: dict[str, Values]


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


class BriefAction(msgspec.Struct, gc=False):
    """The part of an ``Action`` that scoring reads: values, and what they are to the API."""

    values: list[str] = []
    canonical_values: list[str] = []


class BriefFrame(msgspec.Struct, gc=False):
    """The part of a ``Frame`` that scoring reads. The rest of the JSON is skipped unchecked."""

    service: str
    slots: list[Span]
    actions: list[BriefAction] = []
    state: State | None = None


AnyFrame = TypeVar("AnyFrame", Frame, BriefFrame)
_SPEAKERS = ("USER", "SYSTEM")


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


def read_dialogues(
    data: bytes, path: str, frame: type[AnyFrame], sha256: str | None = None
) -> list[Dialogue[AnyFrame]]:
    """Parse a ``dialogues_*.json``."""
    kind = list[Dialogue[frame]]  # type: ignore[valid-type]
    verified = is_released(sha256 or digest(data))
    dialogues = parse_json(data, kind, path, "a list of dialogues", verified=verified)
    if not dialogues:
        raise SgdxError(f"{path}: has no dialogue, expected at least one")
    # Published files are known to pass, so that they are not looked at again and again.
    for dialogue in () if verified else dialogues:
        try:
            _check_frames(dialogue)
        except SgdxError as error:
            raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id}: {error}") from None
    return dialogues


def _check_frames(dialogue: Dialogue[AnyFrame]) -> None:
    """Raise ``SgdxError`` unless the frames are what rows rely on."""
    services = set(dialogue.services)
    for index, turn in enumerate(dialogue.turns):
        if turn.speaker not in _SPEAKERS:
            raise SgdxError(f"turn {index}: speaker is {turn.speaker!r}, expected USER or SYSTEM")
        frame_services = {frame.service for frame in turn.frames}
        if len(frame_services) < len(turn.frames) or not frame_services <= services:
            listed = [frame.service for frame in turn.frames]
            twice = len(frame_services) < len(listed)
            expected = "one frame a service" if twice else f"of {dialogue.services}"
            raise SgdxError(f"turn {index}: frames of {listed}, expected {expected}")
        length = len(turn.utterance)
        for frame in turn.frames:
            for span in frame.slots:
                if not span.start <= span.exclusive_end <= length:
                    place = f"{span.slot} at characters {span.start} to {span.exclusive_end}"
                    raise SgdxError(f"turn {index}: found {place}, expected some of {length}")
            if not isinstance(frame, Frame):
                continue
            if (frame.service_call is None) != (frame.service_results is None):
                raise SgdxError(f"turn {index}: expected both service_call and service_results")
