"""A dialogue of a release under several variants of its schemas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.json import encode

from ..configs import SPLITS, split_name
from ..io.errors import SgdxError
from ..release.dialogue import Dialogue, Frame, read_dialogues
from ..release.release import Release
from ..rows.dialogue_rows import dialogue_columns, names_of
from ..rows.name_codes import Coder


@dataclass(frozen=True)
class Line:
    """A line of a turn's table."""

    kind: str  # what the line is about: ``service``, ``intent``, ``slot`` or ``asks for``
    names: list[str]  # its name under each variant
    value: str = ""  # what a slot is filled with, and empty for the other kinds


@dataclass(frozen=True)
class ShownTurn:
    """A turn, with the lines of its states; a system turn has none."""

    speaker: str
    utterance: str
    lines: list[Line]


@dataclass(frozen=True)
class ShownDialogue:
    """A dialogue under several variants; ``variants`` are the heads of the columns of names."""

    dialogue_id: str
    split: str
    variants: list[str]
    turns: list[ShownTurn]


def shown_dialogue(
    release: Release, dialogue_id: str | None, configs: Sequence[str], split: str | None = None
) -> ShownDialogue:
    """Find a dialogue and put it under several variants; see ``show``."""
    for config in configs:
        release.check_config(config)
    splits = [split_name(split)] if split else list(reversed(SPLITS))
    variants = [variant for config in configs for variant in release.variants(config)]
    split, path, dialogue = _find(release, dialogue_id, splits, variants)
    for config in configs:
        release.check_dialogues(config, split)
    coder = Coder(release.schema(split, "original"))
    table_of = dialogue_columns([dialogue], coder, path)
    all_names = [names for config in configs for names in names_of(release, split, config)]
    rows = [table_of(names).to_pylist()[0] for names in all_names]
    turns = [_shown_turn(turns) for turns in zip(*(row["turns"] for row in rows), strict=True)]
    return ShownDialogue(dialogue.dialogue_id, split, variants, turns)


def _find(
    release: Release, dialogue_id: str | None, splits: Sequence[str], variants: Sequence[str]
) -> tuple[str, str, Dialogue[Frame]]:
    """The first of the splits that has the dialogue, its file, and the dialogue itself.

    Without an id it is the first dialogue with a service that the variants put into other words, or
    the first of all.
    """
    for split in splits:
        first = None
        reworded = set() if dialogue_id else _reworded_services(release, split, variants)
        for file in release.dialogue_files(split):
            data, path = release.read(file), f"{release.name}: {file}"
            if dialogue_id and f'"{dialogue_id}"'.encode() not in data:
                continue  # It would take long to parse it.
            for dialogue in read_dialogues(data, path, Frame):
                if dialogue.dialogue_id == dialogue_id or reworded & set(dialogue.services):
                    return split, path, dialogue
                first = first or (split, path, dialogue)
        if first and not dialogue_id:
            return first
    expected = f" {dialogue_id!r}, expected an id such as 1_00000" if dialogue_id else ""
    raise SgdxError(f"{release.name}: {', '.join(splits)}: found no dialogue{expected}")


def _reworded_services(release: Release, split: str, variants: Sequence[str]) -> set[str]:
    """The original names of the services that have other words under some of the variants."""
    if split not in release.schema_splits("original"):
        return set()
    original = release.schema(split, "original").services
    return {
        service.service_name
        for variant in variants
        if split in release.schema_splits(variant)
        for service, reworded in zip(original, release.schema(split, variant).services, strict=True)
        if encode(reworded) != encode(service)  # services themselves compare by identity
    }


def _shown_turn(turns: Sequence[dict[str, Any]]) -> ShownTurn:
    """One turn, from its rows under every variant."""
    lines: list[Line] = []
    for frames in zip(*(turn["frames"] for turn in turns), strict=True):
        if frames[0]["state"] is not None:
            lines += _state_lines(frames)
    return ShownTurn(turns[0]["speaker"], turns[0]["utterance"], lines)


def _state_lines(frames: Sequence[dict[str, Any]]) -> list[Line]:
    """The lines of one service's state, from its frame under every variant."""
    states = [frame["state"] for frame in frames]
    lines = [
        Line("service", [frame["service"] for frame in frames]),
        Line("intent", [state["active_intent"] for state in states]),
    ]
    for pairs in zip(*(state["slot_values"] for state in states), strict=True):
        lines.append(Line("slot", [p["slot"] for p in pairs], " / ".join(pairs[0]["values"])))
    for names in zip(*(state["requested_slots"] for state in states), strict=True):
        lines.append(Line("asks for", list(names)))
    return lines
