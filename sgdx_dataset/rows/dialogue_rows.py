"""Dialogue rows: each split is parsed once, and then named for every variant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ..io.errors import SgdxError
from ..io.memory import many_objects
from ..io.progress import advance
from ..release.dialogue import BriefFrame, Frame, read_dialogues
from ..release.release import Release
from ..release.schema import SPLITS
from .dialogue_columns import dialogue_columns
from .name_codes import Coder, Names


def dialogue_tables(
    release: Release, split: str, config: str, brief: bool = False
) -> Iterator[tuple[str, pa.Table]]:
    """Make the dialogue rows of a split under a config.

    Args:
        release: The release to read.
        split: ``train``, ``validation`` or ``test``.
        config: One of the release's configs.
        brief: Whether to leave out what scoring does not need and much of the time goes into:
            actions, service calls and results, and what a schema has beside its slots' names and
            kinds. They are not checked either.

    Yields:
        The path of each dialogue file, in order, with its table of rows (``DIALOGUE_COLUMNS``). A
        config of several variants (``backtrans``) goes through the files once for each variant.

    Raises:
        SgdxError: The release's JSON, schemas or dialogues are at fault; the message names them.
    """
    original, seen = release.schema(split, "original"), release.seen_services()
    for variant in release.variants(config):
        names = Names.from_schemas(variant, release.schema(split, variant), original, seen, brief)
        # ``read_split`` caches its result by its arguments as they are written, defaults left out.
        files = read_split(release, split, brief=True) if brief else read_split(release, split)
        for file, table in files:
            yield file, table(names)
            advance()


@lru_cache(maxsize=len(SPLITS))
def read_split(
    release: Release, split: str, brief: bool = False
) -> list[tuple[str, Callable[[Names], pa.Table]]]:
    """Parse a split's dialogue files; the result is kept, as every variant is made from it.

    ``brief`` is that of ``dialogue_tables``.

    Returns:
        The path of each dialogue file, in order, with a function from a variant's names to its
        table of rows (``DIALOGUE_COLUMNS``).

    Raises:
        SgdxError: A file is at fault, or two dialogues have the same id.
    """
    coder = Coder.from_schema(release.schema(split, "original"))
    frame: Any = BriefFrame if brief else Frame
    file_of: dict[str, str] = {}
    parsed = []
    for file in release.dialogue_files(split):
        path = f"{release.name}: {file}"
        content, sha256 = release.read_with_digest(file)
        if release.is_altered(file, sha256):
            warnings.warn(f"{path}: differs from the published file of this name", stacklevel=2)
        with many_objects():
            dialogues = read_dialogues(content, path, frame, sha256)
            for dialogue in dialogues:
                if first := file_of.get(dialogue.dialogue_id):
                    raise SgdxError(
                        f"{path}: dialogue {dialogue.dialogue_id} is in {first} already"
                    )
                file_of[dialogue.dialogue_id] = file
            parsed.append((file, dialogue_columns(dialogues, frame, coder, path)))
        advance()
    return parsed


def steps(release: Release, configs: Iterable[str], splits: Iterable[str] | None = None) -> int:
    """How many steps of a progress bar it takes to parse splits and name every config's rows.

    Each dialogue file is a step when it is parsed, and another one under every variant.
    """
    split_names = set(SPLITS if splits is None else splits)
    pairs = [(c, s) for c in configs for s in release.splits(c) if s in split_names]
    parsed = sum(len(release.dialogue_files(split)) for split in {split for _, split in pairs})
    named = sum(len(release.variants(c)) * len(release.dialogue_files(s)) for c, s in pairs)
    return parsed + named
