"""A release as tables of dialogue rows: each split is parsed once and named for every variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import pyarrow as pa
from datasets.utils import tqdm

from .columns import dialogue_columns
from .dialogue import read_dialogues
from .errors import SgdxError
from .names import Coder, Names
from .release import Release
from .schema import SPLITS


def tables(release: Release, split: str, config: str) -> Iterator[tuple[str, pa.Table]]:
    """A split's dialogue files in order, each with its table of rows (``DIALOGUE_ROW``).

    A config of several variants (``backtrans``) goes through the files once for each.

    Raises:
        SgdxError: The release's JSON, schemas or dialogues are at fault; the message names them.
    """
    original, seen = release.schema(split, "original"), release.seen_services()
    for variant in release.variants(config):
        names = Names.of(variant, release.schema(split, variant), original, seen)
        for file, table in read_split(release, split):
            yield file, table(names)


@lru_cache(maxsize=len(SPLITS))
def read_split(release: Release, split: str) -> list[tuple[str, Callable[[Names], pa.Table]]]:
    """Parse a split's dialogue files; kept, because every variant is made from the same parse."""
    coder = Coder.of(release.schema(split, "original"))
    file_of: dict[str, str] = {}
    parsed = []
    for file in tqdm(release.dialogue_files(split), desc=f"Reading {split}", unit=" files"):
        path = f"{release.name}: {file}"
        dialogues = read_dialogues(release.read(file), path)
        for dialogue in dialogues:
            if first := file_of.get(dialogue.dialogue_id):
                raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id} is in {first} already")
            file_of[dialogue.dialogue_id] = file
        parsed.append((file, dialogue_columns(dialogues, coder, path)))
    return parsed
