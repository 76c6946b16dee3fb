"""Checking the files of services, and the archive that is made from them."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec.json import encode, format

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.rewording.compose import compose_schema
from sgdx_dataset.rewording.pool import Pool, check_pool
from sgdx_dataset.rows import Dialogue
from sgdx_dataset.schema import Service

from .dialogues import make_dialogue
from .notation import ServiceFile, read_service

SERVICES = Path(__file__).with_name("services")
ARCHIVE = Path(__file__).parents[2] / "sgdx_dataset" / "many.zip"
_SPLITS = ("train", "dev", "test")
_DIALOGUES_PER_FILE = 100


def check(files: Sequence[Path]) -> int:
    """Print what is wrong with each file, or what is in it; 2 where one is at fault."""
    faults = 0
    for path in files:
        try:
            found = read_service(path)
            dialogues = annotate(path, found, "0", 0)
            schemas(str(path), [found])
            _check_size(path, found)
        except SgdxError as error:
            faults += 1
            print(error)
            continue
        frames = [turn["frames"][0] for dialogue in dialogues for turn in dialogue["turns"]]
        states = [frame["state"] for frame in frames if "state" in frame]
        filled = Counter(slot for state in states for slot in state["slot_values"])
        never = [slot.name for slot in found.service.slots if slot.name not in filled]
        asked = {slot for state in states for slot in state["requested_slots"]}
        unused = [name for name in never if name not in asked]
        turns = sum(turn["speaker"] == "USER" for d in dialogues for turn in d["turns"])
        note = f"; never in a state or asked for: {', '.join(unused)}" if unused else ""
        print(f"{path}: {len(dialogues)} dialogues, {turns} turns of the user{note}")
    return 2 if faults else 0


def _check_size(path: Path, found: ServiceFile) -> None:
    """Refuse a service or a dialogue that is smaller or larger than all others."""
    service = found.service
    booleans = sum(slot.is_boolean for slot in service.slots)
    for what, number, least, most in (
        ("slots", len(service.slots), 6, 10),
        ("intents", len(service.intents), 1, 3),
        ("yes-or-no slots", booleans, 1, 4),
        ("dialogues", len(found.dialogues), 5, 9),
    ):
        if not least <= number <= most:
            raise SgdxError(f"{path}: has {number} {what}, expected {least} to {most}")
    for turns in found.dialogues:
        users = sum(turn.speaker == "U" for turn in turns)
        if not 3 <= users <= 7:
            where = f"{path}:{turns[0].line if turns else '?'}"
            raise SgdxError(f"{where}: {users} turns of the user, expected 3 to 7")


def annotate(path: Path, found: ServiceFile, group: str, first: int) -> list[Dialogue]:
    """The dialogues of a service, numbered from ``first``."""
    made = []
    for number, turns in enumerate(found.dialogues, start=first):
        try:
            made.append(make_dialogue(f"{group}_{number:05}", turns, found.service))
        except SgdxError as error:
            raise SgdxError(f"{path}:{error}") from None
    return made


def schemas(path: str, files: Sequence[ServiceFile]) -> list[list[Service]]:
    """The schema of services, and its variants ``v1`` to ``v5``, the nearest first."""
    original = [found.service for found in files]
    pool = Pool(path, {found.service.service_name: found.pool for found in files})
    check_pool(pool, [original])
    return [original, *compose_schema(original, pool, path)]


def build() -> None:
    """Write ``sgdx_dataset/many.zip``, the same bytes for the same files."""
    members: dict[str, bytes] = {}
    for group, split in enumerate(_SPLITS, start=1):
        paths = sorted((SERVICES / split).glob("*.txt"))
        files = [read_service(path) for path in paths]
        wordings = zip(["", *(f"sgd_x/data/v{i}/" for i in range(1, 6))], schemas(split, files))
        for folder, schema in wordings:
            members[f"{folder}{split}/schema.json"] = _json(schema)
        dialogues: list[Dialogue] = []
        for path, found in zip(paths, files, strict=True):
            dialogues += annotate(path, found, f"many{group}", len(dialogues))
        for start in range(0, len(dialogues), _DIALOGUES_PER_FILE):
            name = f"{split}/dialogues_{start // _DIALOGUES_PER_FILE + 1:03}.json"
            members[name] = _json(dialogues[start : start + _DIALOGUES_PER_FILE])
        print(f"{split}: {len(files)} services, {len(dialogues)} dialogues")
    with zipfile.ZipFile(ARCHIVE, "w") as archive:
        for name, data in sorted(members.items()):
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, compresslevel=9)


def _json(value: object) -> bytes:
    return format(encode(value), indent=1)
