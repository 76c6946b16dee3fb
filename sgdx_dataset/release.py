"""Where the data comes from: a directory, an archive, the sample, or the pinned download."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import sgd
from .archives import DAMAGE, Read, read_archive, read_directory
from .errors import SgdxError
from .overlay import apply_overlay, read_overlay
from .schema import BACKTRANS, CONFIGS, SPLITS, Schema, check_aligned, read_schema

SAMPLE = Path(__file__).parent / "sample"
Source = str | os.PathLike[str] | None
Variants = Mapping[str, str | os.PathLike[str]]


@dataclass(frozen=True)
class Release:
    """A readable copy of the release.

    Attributes:
        name: What the user called it, for messages.
        fingerprint: Hex digest that changes when the copy does.
        files: The release's own relative paths, such as ``test/dialogues_001.json``.
        own_variants: Names of the user's own variants; their schemas are among ``files``.
    """

    name: str
    fingerprint: str
    files: frozenset[str]
    _read: Read = field(repr=False)
    own_variants: tuple[str, ...] = ()

    def read(self, path: str) -> bytes:
        """The bytes of one of ``files``; ``SgdxError`` where it is missing or unreadable."""
        if path not in self.files:
            raise SgdxError(f"{self.name}: has no {path}, expected the release's layout")
        try:
            return self._read(path)
        except DAMAGE as error:
            raise SgdxError(f"{self.name}: {path}: cannot be read: {error}") from None

    def configs(self) -> tuple[str, ...]:
        """The configs that can be made of this copy."""
        backtrans = BACKTRANS if self.variants(BACKTRANS) else None
        return tuple(c for c in (*CONFIGS, *self.own_variants) if c != BACKTRANS or backtrans)

    def variants(self, config: str) -> list[str]:
        """The schema variants whose dialogues a config has: itself, or each back-translation."""
        if config != BACKTRANS:
            return [config]
        files = (f for f in self.files if f.startswith(f"{BACKTRANS}/"))
        return sorted(f"{BACKTRANS}-{Path(file).stem}" for file in files)

    def splits(self, config: str) -> list[str]:
        """A config's splits that have dialogues here."""
        with_dialogues = [split for split in SPLITS if self.dialogue_files(split)]
        if config == BACKTRANS:
            return [split for split in with_dialogues if split == "train"]
        if config in self.own_variants:
            return [s for s in with_dialogues if self.schema_file(s, config) in self.files]
        return with_dialogues

    def dialogue_files(self, split: str) -> list[str]:
        """Sorted paths of a split's dialogue files; a partial copy may have few or none."""
        return sorted(f for f in self.files if f.startswith(f"{SPLITS[split]}/dialogues_"))

    def schema_file(self, split: str, variant: str) -> str:
        """Where the release keeps a split's schema under a variant."""
        folder = "" if variant == "original" else f"sgd_x/data/{variant}/"
        return f"{folder}{SPLITS[split]}/schema.json"

    def schema(self, split: str, variant: str) -> Schema:
        """A split's schema under a variant, checked to line up with the original's."""
        if variant.startswith(f"{BACKTRANS}-"):
            file = f"{BACKTRANS}/{variant.removeprefix(f'{BACKTRANS}-')}.json"
            path = f"{self.name}: {file}"
            return apply_overlay(
                self.schema(split, "original"), read_overlay(self.read(file), path)
            )
        file = self.schema_file(split, variant)
        schema = read_schema(self.read(file), f"{self.name}: {file}")
        if variant != "original":
            check_aligned(self.schema(split, "original"), schema)
        return schema

    def seen_services(self) -> set[str]:
        """Original names of the services in the original train split."""
        return set(self.schema("train", "original").service_names())

    def is_sgd(self) -> bool:
        """Whether this is a copy, perhaps a partial one, of the SGD release."""
        names = (self.schema(split, "original").service_names() for split in SPLITS)
        return sgd.is_sgd({name for of_split in names for name in of_split})

    def missing(self) -> str:
        """What a partial copy of SGD lacks, in words; empty for a whole one or another corpus."""
        files = {split: len(self.dialogue_files(split)) for split in SPLITS}
        return sgd.missing(files, sgd.FILES, "dialogue files") if self.is_sgd() else ""

    def check_config(self, config: str) -> None:
        """Raise ``SgdxError`` unless ``config`` is one that there is."""
        known = (*CONFIGS, *self.own_variants)
        if config not in known:
            raise SgdxError(f"unknown config {config!r}, expected one of {', '.join(known)}")
        if not self.variants(config):
            raise SgdxError(
                f"{self.name}: has no {BACKTRANS}/*.json, expected overlays for {config}"
            )

    def fingerprint_of(self, config: str) -> str:
        """The fingerprint of what a config is made from."""
        if config not in self.own_variants:
            return self.fingerprint
        schemas = (self.read(self.schema_file(s, config)) for s in self.splits(config))
        return hashlib.sha256(b"\0".join([self.fingerprint.encode(), *schemas])).hexdigest()


def open_release(source: Source = None, variants: Variants | None = None) -> Release:
    """Open ``source``: a directory, an archive (.zip, .tar.*), ``"sample"``, or None.

    None means ``$SGDX_SOURCE`` and, where that is unset, the pinned archive, downloaded once.

    Args:
        source: See above.
        variants: The user's own variants of the schemas by name: a directory with
            ``{train,dev,test}/schema.json``, of which some may be missing.

    Raises:
        SgdxError: The source does not exist, is no archive, or lacks ``test/schema.json``; a
            variant's directory has no schema, or its name is taken.
    """
    source = source or os.environ.get("SGDX_SOURCE")
    path = SAMPLE if source == "sample" else Path(source) if source else sgd.download()
    name = str(source or path)
    if path.is_dir():
        digest, files, read = read_directory(path)
    elif path.is_file():
        digest, files, read = read_archive(name, path)
    else:
        raise SgdxError(f"{name}: no such source, expected a directory, an archive or 'sample'")
    release = Release(name, digest, frozenset(files), read)
    for split in SPLITS.values():
        release.read(f"{split}/schema.json")
    if source is None and (not release.is_sgd() or release.missing()):
        lacks = release.missing() or "SGD's services"
        raise SgdxError(f"{name}: was downloaded, but lacks {lacks}; delete it and try again")
    return _with_variants(release, variants) if variants else release


def _with_variants(release: Release, variants: Variants) -> Release:
    own: dict[str, Path] = {}
    for name, folder in variants.items():
        if name in CONFIGS or name.startswith(BACKTRANS) or not re.fullmatch(r"[\w-]+", name):
            raise SgdxError(f"variant {name!r}: expected a name of letters and digits, not taken")
        schemas = {
            f"sgd_x/data/{name}/{split}/schema.json": path
            for split in SPLITS.values()
            if (path := Path(folder) / split / "schema.json").is_file()
        }
        if not schemas:
            raise SgdxError(f"{folder}: has no schema.json in train, dev or test, expected one")
        own |= schemas

    def read(file: str) -> bytes:
        return own[file].read_bytes() if file in own else release.read(file)

    files = release.files.union(own)
    return Release(release.name, release.fingerprint, files, read, tuple(variants))
