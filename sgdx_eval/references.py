"""What predictions are scored against: the rows of a split, frames or turns, of a release."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, cached_property
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.release import Release
from sgdx_dataset.rows import read_dialogues
from sgdx_dataset.schema import Service
from sgdx_dataset.source import resolve_source, sources_named
from sgdx_metric.rows import REFERENCE
from sgdx_metric.variants import ORIGINAL, fingerprint, own_variants, schema_digest

# The name of the source that predictions were made from, and the digest of the data; None unstated.
Stated = tuple[str | None, str | None]
# The speaker and the utterance of each turn of a dialogue.
Turns = list[tuple[str, str]]

OF_DIALOGUES = [*REFERENCE.names, "service_call", "history"]


class References(ABC):
    """The rows of a split, frames or turns, and where they come from."""

    # What the user calls the data, and the commit or name of it; None where that is unknown.
    name: str
    split: str
    release: str | None
    # How many dialogues the split has, where these are a choice of them.
    available: int | None = None

    @abstractmethod
    def rows(self, variant: str) -> pa.Table:
        """The rows of a variant, with the columns that were asked for."""

    @abstractmethod
    def data(self, variant: str) -> str | None:
        """The digest of what a variant's rows are made from; None where it is unknown."""

    @abstractmethod
    def fingerprint(self, variant: str) -> str:
        """The fingerprint of a variant's variant, of the services of the split's frames."""

    def marks(self, variants: Mapping[str, Any] | list[str]) -> dict[str, str]:
        """The fingerprints of those variants that are the user's own."""
        return {name: self.fingerprint(name) for name in own_variants(variants)}

    @abstractmethod
    def dialogue(self, variant: str, dialogue_id: str) -> pa.Table:
        """The frame rows of one dialogue, with `history` and `service_call` where there are."""

    @abstractmethod
    def schemas(self, variant: str) -> Mapping[str, Service]:
        """The schema of each service under a variant, by the service's original name."""

    @abstractmethod
    def turns(self) -> dict[str, Turns]:
        """The turns of every dialogue, by its id; {} where the data has not all of them."""


class ReleaseReferences(References):
    """The rows of a release."""

    def __init__(self, opened: Release, split: str, columns: list[str], kind: str) -> None:
        self.opened, self.split, self._kind = opened, split, kind
        # The joined schemas of every turn would take longer than all else.
        self._columns = [name for name in columns if kind == "frames" or name != "schemas"]
        self.name = opened.name

    @cached_property
    def release(self) -> str | None:  # type: ignore[override]
        """The commit of the data, or a name of other data."""
        return self.opened.version(self.split) or None

    def rows(self, variant: str) -> pa.Table:
        """Frames or turns, as `sgdx_dataset` makes them."""
        from sgdx_dataset import frame_tables, turn_tables  # Not needed for a folder.

        if self._kind == "turns":
            self.opened.check_dialogues(variant, self.split)
            return turn_tables(self.opened, self.split, variant, self._columns)
        return frame_tables(self.opened, self.split, variant, self._columns)

    def data(self, variant: str) -> str | None:
        return self.opened.data_digest(self.split, variant)

    @cache  # noqa: B019 - a process opens few releases
    def fingerprint(self, variant: str) -> str:
        from sgdx_dataset import frame_tables

        frames = frame_tables(self.opened, self.split, variant, ["service"])
        scored_services = set(frames["service"].unique().to_pylist())
        return fingerprint(
            schema_digest(msgspec.to_builtins(service))
            for name in self.opened.variants(variant)
            for service in self.opened.schema(self.split, name)
            if service.service_name in scored_services
        )

    def dialogue(self, variant: str, dialogue_id: str) -> pa.Table:
        from sgdx_dataset import frame_tables

        opened = self._with_dialogue(dialogue_id)
        rows = frame_tables(opened, self.split, variant, OF_DIALOGUES)
        return rows.filter(of_dialogue(rows["frame_id"], dialogue_id))

    @cache  # noqa: B019 - likewise
    def _with_dialogue(self, dialogue_id: str) -> Release:
        return self.opened.with_dialogue(self.split, dialogue_id)

    def schemas(self, variant: str) -> dict[str, Service]:
        originals = self.opened.schema(self.split, ORIGINAL)
        services = self.opened.schema(self.split, variant)
        return {o.service_name: service for o, service in zip(originals, services, strict=True)}

    def turns(self) -> dict[str, Turns]:
        return {
            dialogue["dialogue_id"]: [
                (turn["speaker"], turn["utterance"]) for turn in dialogue["turns"]
            ]
            for _, dialogues in read_dialogues(self.opened, self.split)
            for dialogue in dialogues
        }


def open_references(
    source: str | None,
    split: str,
    own: Mapping[str, str] | None = None,
    columns: list[str] | None = None,
    kind: str = "frames",
    stated: Mapping[str, Stated] | None = None,
) -> ReleaseReferences:
    """Open the SGD release for its rows, "frames" or "turns".

    The source is a release's directory or archive, or "sample"; None is `$SGDX_SOURCE` and, where
    that is unset, what `sgdx_dataset prepare` was given. Where that is other data than the
    predictions of each variant say that they were made from (`stated`), the source that they name
    is taken. `own` are the user's own schema variants: a directory or an overlay by name.
    """
    release = stated_release(source, split, own or {}, stated or {})
    if gaps := release.gaps():
        print(f"note: {gaps}", file=sys.stderr)
    return ReleaseReferences(release, split, columns or REFERENCE.names, kind)


def stated_release(
    source: str | None, split: str, own: Mapping[str, str], stated: Mapping[str, Stated]
) -> Release:
    """Open the source that is named, else the one that predictions were made from."""
    from sgdx_dataset import open_release

    named = [name for name, data in stated.values() if name and data]
    others = sources_named(named[0]) if named and source is None else []
    if not others:
        return open_release(resolve_source(source, announce=True), own)
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
    return open_release(resolve_source(source, announce=True), own)


def _is_stated(release: Release, split: str, stated: Mapping[str, Stated]) -> bool:
    """Whether a release has the data that predictions were made from."""
    configs = release.configs()
    return all(
        variant in configs and release.data_digest(split, variant) == data
        for variant, (_, data) in stated.items()
        if data is not None
    )


def of_dialogue(frame_ids: Any, dialogue_id: str) -> Any:
    """Which frame ids, an array or an expression, are of a dialogue."""
    return pc.starts_with(frame_ids, f"{dialogue_id}/")
