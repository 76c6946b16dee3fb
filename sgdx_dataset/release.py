"""A copy of the SGD release: its files, schemas and splits, and the configs that it can give."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from . import sgd
from .archives import DAMAGE, Read
from .errors import SgdxError
from .overlay import apply_overlay, read_overlay
from .schema import BACKTRANS, CONFIGS, SPLITS, Schema, check_aligned, check_split, read_schema


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
            return [split for split in with_dialogues if split in self.schema_splits(config)]
        return with_dialogues

    def schema_splits(self, variant: str) -> list[str]:
        """The splits that have a schema under a variant; a back-translation has train alone."""
        if variant.startswith(f"{BACKTRANS}-"):
            return ["train"]
        return [split for split in SPLITS if self.schema_file(split, variant) in self.files]

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

    def version(self) -> str:
        """The commit for a whole copy of SGD, "sample" for the sample, "" for anything else."""
        if self.name == "sample":
            return self.name
        return sgd.COMMIT if self.is_sgd() and not self.missing() else ""

    def check_config(self, config: str) -> None:
        """Raise ``SgdxError`` unless ``config`` is one that there is."""
        known = (*CONFIGS, *self.own_variants)
        if config not in known:
            raise SgdxError(f"unknown config {config!r}, expected one of {', '.join(known)}")
        if not self.variants(config):
            raise SgdxError(
                f"{self.name}: has no {BACKTRANS}/*.json, expected overlays for {config}"
            )

    def check_dialogues(self, config: str, split: str) -> None:
        """Raise ``SgdxError`` unless ``config`` and ``split`` exist and have dialogues here."""
        self.check_config(config)
        check_split(split)
        if split not in self.splits(config):
            raise SgdxError(f"{self.name}: has no dialogues in {split} under {config}")

    def fingerprint_of(self, config: str) -> str:
        """The fingerprint of what a config is made from."""
        if config == BACKTRANS:
            own = [file for file in sorted(self.files) if file.startswith(f"{BACKTRANS}/")]
        elif config in self.own_variants:
            own = [self.schema_file(split, config) for split in self.splits(config)]
        else:
            return self.fingerprint
        parts = [self.fingerprint.encode(), *(self.read(file) for file in own)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def write_variants(variants: Mapping[str, Mapping[str, Schema]], output: Path) -> list[Path]:
    """Write schemas, by variant and split, as ``output/VARIANT/{train,dev,test}/schema.json``.

    Args:
        variants: Schemas by the variant's name and by split.
        output: A new folder; it appears whole.

    Returns:
        The variants' folders; each is what ``open_release`` takes as a variant of the user's own.

    Raises:
        SgdxError: ``output`` exists, or cannot be written.
    """
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder for variants")
    staging = output.with_name(f".{output.name}.incomplete")
    shutil.rmtree(staging, ignore_errors=True)
    try:
        for variant, schemas in variants.items():
            for split, schema in schemas.items():
                place = staging / variant / SPLITS[split] / "schema.json"
                place.parent.mkdir(parents=True)
                data = msgspec.json.format(msgspec.json.encode(schema.services), indent=2)
                place.write_bytes(data + b"\n")
        staging.rename(output)
    except OSError as error:
        raise SgdxError(f"{output}: cannot be written: {error}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return [output / variant for variant in variants]
