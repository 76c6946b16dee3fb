"""References for the command line: frame rows of a release."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.release.dialogue import BriefFrame, read_dialogues
from sgdx_dataset.release.release import Release
from sgdx_dataset.release.remembered import announced_source, sources_named
from sgdx_dataset.schema import Service
from sgdx_metric.columns import column
from sgdx_metric.rows import REFERENCE
from sgdx_metric.variants import ORIGINAL, fingerprint, schema_digest

# The name of the source that predictions were made from, and the digest of the data; None unstated.
Stated = tuple[str | None, str | None]
# The speaker and the utterance of each turn of a dialogue.
Turns = list[tuple[str, str]]

OF_DIALOGUES = [*REFERENCE.names, "service_call", "history"]


@dataclass(frozen=True)
class References:
    """The references of a split.

    Attributes:
        frames: Makes the frame rows of a variant, with the columns of REFERENCE, or those that were
            asked for; raises SgdxError where they cannot be had.
        dialogue: Makes the frame rows of one dialogue, given a variant's name and the dialogue's
            id, without those of the others. They have the columns `history`, the turns before
            the frame's own (`speaker`, `utterance`, ...), and `service_call` besides, where the
            data has them.
        fingerprint: Makes the fingerprint of a variant's wording, given the variant's name and its
            frame rows.
        data: The digest of what a variant's rows are made from, as prediction files have it; None
            where it is unknown.
        find_release: Finds out `release`.
        name: What the user calls the data.
        schemas: Makes the schema of each service under a variant, by the service's original name.
        turns: Makes the turns of every dialogue, by its id; {} where the data has not all of them.
        available: How many dialogues the split has, where these are a choice of them; None where
            they are all.
    """

    frames: Callable[[str], pa.Table]
    dialogue: Callable[[str, str], pa.Table]
    fingerprint: Callable[[str, pa.Table], str]
    data: Callable[[str], str | None]
    find_release: Callable[[], str | None]
    name: str
    schemas: Callable[[str], Mapping[str, Service]]
    turns: Callable[[], dict[str, Turns]]
    available: int | None = None

    @cached_property
    def release(self) -> str | None:
        """The commit of the data, or a name of other data; None where it is unknown."""
        return self.find_release()


def open_references(
    source: str | None,
    split: str,
    own: Mapping[str, str],
    columns: pa.Schema = REFERENCE,
    stated: Mapping[str, Stated] | None = None,
) -> References:
    """Open the SGD release for its frame rows.

    Args:
        source: The release's directory or archive, or "sample"; None for `$SGDX_SOURCE` and, where
            that is unset, what `sgdx_dataset prepare` was given.
        split: "train", "validation" or "test".
        own: The user's own schema variants: a directory or an overlay by name.
        columns: The columns that frame rows are to have.
        stated: What the predictions of each variant say that they were made from. Where no source
            is given, and that of the default is other data, the one that they name is taken.

    Raises:
        SgdxError: The source or a variant of the user's own cannot be opened.
    """
    from sgdx_dataset import frame_tables  # Not needed for a folder.

    def frame_rows(variant: str) -> pa.Table:
        return frame_tables(release, split, variant, columns.names)

    @cache
    def narrowed(dialogue_id: str) -> Any:
        return _with_dialogue(release, split, dialogue_id)

    def dialogue(variant: str, dialogue_id: str) -> pa.Table:
        rows = frame_tables(narrowed(dialogue_id), split, variant, OF_DIALOGUES)
        return rows.filter(of_dialogue(rows["frame_id"], dialogue_id))

    def wording(variant: str, frames: pa.Table) -> str:
        scored_services = set(column(frames, "service").unique().to_pylist())
        services = (
            service
            for name in release.variants(variant)
            for service in release.schema(split, name).services
        )
        return fingerprint(
            schema_digest(msgspec.to_builtins(service))
            for service in services
            if service.service_name in scored_services
        )

    def schemas(variant: str) -> dict[str, Service]:
        originals = release.schema(split, ORIGINAL).services
        services = release.schema(split, variant).services
        return {o.service_name: service for o, service in zip(originals, services, strict=True)}

    release = stated_release(source, split, own, stated or {})
    if gaps := release.gaps():
        print(f"note: {gaps}", file=sys.stderr)
    return References(
        frame_rows,
        dialogue,
        wording,
        partial(release.data_digest, split),
        lambda: release.version(split) or None,
        release.name,
        schemas,
        partial(_read_turns, release, split),
    )


def stated_release(
    source: str | None, split: str, own: Mapping[str, str], stated: Mapping[str, Stated]
) -> Release:
    """Open the source that is named, else the one that predictions were made from.

    Args:
        source: The source that the user names; None for `$SGDX_SOURCE` and, where that is unset,
            what `sgdx_dataset prepare` was given, unless predictions were made from another.
        split: "train", "validation" or "test".
        own: The user's own schema variants: a directory or an overlay by name.
        stated: What the predictions of each variant say that they were made from.
    """
    from sgdx_dataset import open_release

    named = [name for name, data in stated.values() if name and data]
    others = sources_named(named[0]) if named and source is None else []
    if not others:
        return open_release(announced_source(source), own)
    # Nothing may have been prepared, or it may not be there any more.
    with suppress(SgdxError):
        if _is_stated(default := open_release(source, own), split, stated):
            return default
    for name in others:
        release = open_release(name, own)
        if _is_stated(release, split, stated):
            print(
                f"note: the source is {escape_controls(name)}, which the predictions were made "
                "from; --source names another",
                file=sys.stderr,
            )
            return release
    return open_release(announced_source(source), own)


def _is_stated(release: Release, split: str, stated: Mapping[str, Stated]) -> bool:
    """Whether a release has the data that predictions were made from."""
    configs = release.configs()
    return all(
        variant in configs and release.data_digest(split, variant) == data
        for variant, (_, data) in stated.items()
        if data is not None
    )


def _read_turns(release: Release, split: str) -> dict[str, Turns]:
    """The turns of every dialogue of a split, by the dialogue's id."""
    return {
        dialogue.dialogue_id: [(turn.speaker, turn.utterance) for turn in dialogue.turns]
        for file in release.dialogue_files(split)
        for dialogue in read_dialogues(release.read(file), f"{release.name}: {file}", BriefFrame)
    }


def _with_dialogue(release: Any, split: str, dialogue_id: str) -> Any:
    """The release with those dialogue files alone whose text has an id, all of them if none has.

    Searching the bytes of the files takes a fraction of the time of parsing them.
    """
    files = release.dialogue_files(split)
    quoted = json.dumps(dialogue_id).encode()
    matching = {file for file in files if quoted in release.read(file)}
    return replace(release, files=release.files - (set(files) - matching)) if matching else release


def of_dialogue(frame_ids: Any, dialogue_id: str) -> Any:
    """Which frame ids, an array or an expression, are of a dialogue."""
    return pc.starts_with(frame_ids, f"{dialogue_id}/")
