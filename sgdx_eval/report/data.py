"""The frames, schemas and dialogues that runs were scored on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sgdx_dataset import SgdxError, frame_tables
from sgdx_dataset.release.dialogue import BriefFrame, read_dialogues
from sgdx_dataset.release.release import Release
from sgdx_dataset.schema import Service, read_service
from sgdx_eval.reference_folder import open_folder
from sgdx_eval.references import Stated, stated_release
from sgdx_metric.columns import column, strings
from sgdx_metric.rows import REFERENCE

Turns = list[tuple[str, str]]  # the speaker and the utterance of each turn


@dataclass(frozen=True)
class ReferenceData:
    """One split of a source: what runs are scored against.

    Attributes:
        name: What the user calls the source.
        frames: Makes the frame rows of a variant, with the columns of ``REFERENCE``, sorted by
            ``frame_id``.
        schemas: Reads the schema of each service under a variant, by the service's original name.
        read_turns: Reads the turns of every dialogue, by its id; {} where the source has not all.
    """

    name: str
    frames: Callable[[str], pa.Table]
    schemas: Callable[[str], Mapping[str, Service]]
    read_turns: Callable[[], dict[str, Turns]]

    @cached_property
    def turns(self) -> dict[str, Turns]:
        """The turns of every dialogue, by its id."""
        return self.read_turns()


def open_source(
    source: str | None, split: str, stated: Mapping[str, Stated] | None = None
) -> ReferenceData:
    """Open a release for its frames.

    Args:
        source: Where SGD is, as for ``sgdx_dataset.load``.
        split: ``train``, ``validation`` or ``test``.
        stated: What the predictions of each variant say that they were made from, which is taken
            where no source is given.

    Raises:
        SgdxError: The source cannot be opened.
    """
    release = stated_release(source, split, {}, stated or {})

    def frames(variant: str) -> pa.Table:
        return _sorted(frame_tables(release, split, variant, REFERENCE.names))

    def schemas(variant: str) -> dict[str, Service]:
        pairs = zip(
            release.schema(split, "original").services,
            release.schema(split, variant).services,
            strict=True,
        )
        return {original.service_name: service for original, service in pairs}

    turns = partial(read_turns, release, split)
    return ReferenceData(release.name, cache(frames), cache(schemas), turns)


def open_references(folder: Path, variants: list[str]) -> ReferenceData:
    """Open a folder of Parquet files, as ``python -m sgdx_dataset frames`` writes them.

    Args:
        folder: Has ``VARIANT.parquet`` for each variant.
        variants: The variants that will be asked for.

    Raises:
        SgdxError, ScoreError: A file is missing or is not one of frame rows.
    """
    references = open_folder(folder, variants)

    def schemas(variant: str) -> dict[str, Service]:
        return _schemas_of_frames(folder / f"{variant}.parquet")

    def frames(variant: str) -> pa.Table:
        return _sorted(references.frames(variant))

    turns = partial(_turns_of_frames, folder / f"{variants[0]}.parquet")
    return ReferenceData(str(folder), cache(frames), cache(schemas), turns)


def _sorted(table: pa.Table) -> pa.Table:
    table = table.combine_chunks()
    return table.take(pc.sort_indices(strings(column(table, "frame_id")))).combine_chunks()


def read_turns(release: Release, split: str) -> dict[str, Turns]:
    """The turns of every dialogue of a split, by the dialogue's id.

    Raises:
        SgdxError: A file of the release is malformed.
    """
    turns = {}
    for file in release.dialogue_files(split):
        data, path = release.read(file), f"{release.name}: {file}"
        for dialogue in read_dialogues(data, path, BriefFrame):
            turns[dialogue.dialogue_id] = [
                (turn.speaker, turn.utterance) for turn in dialogue.turns
            ]
    return turns


def _turns_of_frames(path: Path) -> dict[str, Turns]:
    """The turns of every dialogue up to its last user turn, from a file of frame rows."""
    columns = ["dialogue_id", "turn", "history", "utterance"]
    if set(columns) - set(pq.read_schema(path).names):
        return {}
    turns: dict[str, Turns] = {}
    for row in pq.read_table(path, columns=columns).to_pylist():
        if row["turn"] + 1 > len(turns.get(row["dialogue_id"], [])):
            before = [(turn["speaker"], turn["utterance"]) for turn in row["history"]]
            turns[row["dialogue_id"]] = [*before, ("USER", row["utterance"])]
    return turns


def _schemas_of_frames(path: Path) -> dict[str, Service]:
    """The schema of each service, from a file of frame rows."""
    if "schema" not in pq.read_schema(path).names:
        raise SgdxError(f"{path}: found no column schema, expected the words of the services")
    table = pq.read_table(path, columns=["service", "schema"]).combine_chunks()
    names = column(table, "service")
    first = [pc.index(names, name).as_py() for name in names.unique()]
    services: list[dict[str, Any]] = column(table, "schema").take(pa.array(first)).to_pylist()
    try:
        return {schema["original_name"]: read_service(schema) for schema in services}
    except (msgspec.ValidationError, KeyError) as error:
        raise SgdxError(f"{path}: schema: {error}, expected that of a frame row") from None


def select_frames(data: ReferenceData, variant: str, frame_ids: pa.Array) -> pa.Table:
    """The frame rows of a variant for some frames, in their order.

    Args:
        data: Where the frames are from.
        variant: The schema variant.
        frame_ids: The frames' ids, sorted [frames].

    Raises:
        SgdxError: The data lacks one of the frames.
    """
    table = data.frames(variant)
    available = strings(column(table, "frame_id"))
    if available.equals(frame_ids):
        return table
    rows = pc.index_in(frame_ids, value_set=available)
    if rows.null_count:
        first = frame_ids.filter(rows.is_null())[0].as_py()
        raise SgdxError(
            f"{data.name}: lacks {rows.null_count} of the run's {len(frame_ids)} frames under "
            f"{variant}, the first is {first}; was the run scored on other data?"
        )
    return table.take(rows).combine_chunks()
