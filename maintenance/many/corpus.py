"""The archive that is made from the files of services."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from msgspec.json import encode, format

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.rewording.compose import check_pool, compose_schema
from sgdx_dataset.rows import Dialogue
from sgdx_dataset.schema import Service

from .dialogues import make_dialogue
from .notation import ServiceFile, read_service

SERVICES = Path(__file__).with_name("services")
ARCHIVE = Path(__file__).parents[2] / "sgdx_dataset" / "many.zip"
_SPLITS = ("train", "dev", "test")
_DIALOGUES_PER_FILE = 100


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
    pool = {found.service.service_name: found.pool for found in files}
    check_pool(pool, [original], path)
    return [original, *compose_schema(original, pool, path)]


def build() -> None:
    """Write ``sgdx_dataset/many.zip``, the same bytes for the same files."""
    members: dict[str, bytes] = {}
    for group, split in enumerate(_SPLITS, start=1):
        paths = sorted((SERVICES / split).glob("*.txt"))
        files = [read_service(path) for path in paths]
        variants = zip(["", *(f"sgd_x/data/v{i}/" for i in range(1, 6))], schemas(split, files))
        for folder, schema in variants:
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
