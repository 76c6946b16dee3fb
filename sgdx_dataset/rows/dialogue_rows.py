"""Dialogue rows: each split is parsed once, and then named for every variant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from ..configs import SPLITS
from ..io.errors import SgdxError
from ..io.json import many_objects
from ..io.progress import advance
from ..release.checksums import checksums
from ..release.dialogue import AnyFrame, Dialogue, Frame, read_dialogues
from ..release.release import Release
from .dialogue_columns import Gathered, dialogue_columns
from .name_codes import Coder, Names


def dialogue_tables(
    release: Release, split: str, config: str, dialogue_ids: Collection[str] | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """The rows of some dialogues, or all, under a config, by dialogue file: once per variant."""
    ids = None if dialogue_ids is None else pa.array(sorted(dialogue_ids), pa.string())
    for names in names_of(release, split, config):
        for file, named in read_split(release, split):
            table = named(names)
            yield file, table if ids is None else table.filter(pc.is_in(table["dialogue_id"], ids))
            advance()


def names_of(release: Release, split: str, config: str) -> Iterator[Names]:
    """The names of a split's elements under each variant of a config."""
    original, seen = release.schema(split, "original"), release.seen_services()
    for variant in release.variants(config):
        yield Names(variant, release.schema(split, variant), original, seen)


@lru_cache(maxsize=len(SPLITS))
def read_split(release: Release, split: str) -> list[tuple[str, Callable[[Names], pa.Table]]]:
    """Parse a split's dialogue files; the result is kept, as every variant is made from it."""
    return list(parse_files(release, split, Frame, dialogue_columns))


def parse_files(
    release: Release,
    split: str,
    frame: type[AnyFrame],
    gather: Callable[[list[Dialogue[AnyFrame]], Coder, str], Gathered],
) -> Iterator[tuple[str, Gathered]]:
    """Parse a split's dialogue files one after the other; what ``gather`` makes of each."""
    coder = Coder(release.schema(split, "original"))
    file_of: dict[str, str] = {}

    def parsed(content: bytes, file: str, sha256: str) -> Gathered:
        path = f"{release.name}: {file}"
        dialogues = read_dialogues(content, path, frame, sha256)
        for dialogue in dialogues:
            if first := file_of.get(dialogue.dialogue_id):
                raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id} is in {first} already")
            file_of[dialogue.dialogue_id] = file
        return gather(dialogues, coder, path)

    for file in release.dialogue_files(split):
        content, sha256 = release.read_with_digest(file)
        if release.is_sgd() and checksums("sgd").get(file, sha256) != sha256:
            warnings.warn(
                f"{release.name}: {file}: differs from the published file of this name",
                stacklevel=2,
            )
        with many_objects():  # They are gone again when it ends.
            result = parsed(content, file, sha256)
        yield file, result
        advance()


def steps(release: Release, configs: Iterable[str], splits: Iterable[str] | None = None) -> int:
    """How many steps of a progress bar it takes to parse splits and name every config's rows."""
    split_names = set(SPLITS if splits is None else splits)
    pairs = [(c, s) for c in configs for s in release.splits(c) if s in split_names]
    parsed = sum(len(release.dialogue_files(split)) for split in {split for _, split in pairs})
    named = sum(len(release.variants(c)) * len(release.dialogue_files(s)) for c, s in pairs)
    return parsed + named
