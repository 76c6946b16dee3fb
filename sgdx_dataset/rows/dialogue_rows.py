"""Dialogue rows: their columns from the release's files, and the table of a split."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ..configs import SPLITS
from ..io.errors import SgdxError
from ..io.json import many_objects
from ..io.progress import advance
from ..release.checksums import checksums
from ..release.dialogue import AnyFrame, Dialogue, Frame, Turn, read_dialogues
from ..release.release import Release
from .arrays import code_array, list_array, offsets_of, struct_array
from .columns import DIALOGUE_COLUMNS
from .frame_columns import Column, frame_column
from .name_codes import Coder, Names

Gathered = TypeVar("Gathered")


def dialogue_columns(
    dialogues: Sequence[Dialogue[Frame]], coder: Coder, path: str
) -> Callable[[Names], pa.Table]:
    """Gather dialogues into columns."""
    return gathered(_dialogue_columns, dialogues, coder, path)


def gathered(
    gather: Callable[[Sequence[Dialogue[AnyFrame]], Coder], Gathered],
    dialogues: Sequence[Dialogue[AnyFrame]],
    coder: Coder,
    path: str,
) -> Gathered:
    """What a function gathers from a file's dialogues; its errors name the dialogue at fault."""
    try:
        return gather(dialogues, coder)
    except SgdxError:
        for dialogue in dialogues:  # find the one at fault
            try:
                gather([dialogue], coder)
            except SgdxError as error:
                raise SgdxError(f"{path}: dialogue {dialogue.dialogue_id}: {error}") from None
        raise


def _dialogue_columns(
    dialogues: Sequence[Dialogue[Frame]], coder: Coder
) -> Callable[[Names], pa.Table]:
    ids = pa.array([dialogue.dialogue_id for dialogue in dialogues], pa.string())
    services = code_array([coder.services[s] for dialogue in dialogues for s in dialogue.services])
    service_offsets = offsets_of(dialogue.services for dialogue in dialogues)
    turns = _turns([turn for dialogue in dialogues for turn in dialogue.turns], coder)
    turn_offsets = offsets_of(dialogue.turns for dialogue in dialogues)

    def table(names: Names) -> pa.Table:
        columns = [
            ids,
            pa.repeat(names.variant, len(ids)),
            list_array(service_offsets, names.services.take(services)),
            list_array(service_offsets, names.schemas.take(services)),
            list_array(turn_offsets, turns(names)),
        ]
        return pa.table(columns, names=DIALOGUE_COLUMNS.names)

    return table


def _turns(turns: Sequence[Turn[Frame]], coder: Coder) -> Column:
    speaker = pa.array([turn.speaker for turn in turns], pa.string())
    utterance = pa.array([turn.utterance for turn in turns], pa.string())
    frames = frame_column([frame for turn in turns for frame in turn.frames], coder)
    offsets = offsets_of(turn.frames for turn in turns)
    return lambda names: struct_array(
        speaker=speaker, utterance=utterance, frames=list_array(offsets, frames(names))
    )


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
