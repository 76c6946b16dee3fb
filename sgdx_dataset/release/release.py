"""A copy of the SGD release: its files, schemas, splits and configs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ..configs import BACKTRANS, CONFIGS, SPLITS, VARIANTS, split_name
from ..io.errors import SgdxError
from ..io.files import staged
from ..io.json import pretty_json
from .archives import Read, digest
from .checksums import checksums
from .dialogue import BriefFrame, read_dialogues
from .download import COMMIT, FILES, is_sgd, missing_from_sgd
from .new_words import apply_words, read_words
from .schema import Schema, check_aligned, check_variant, read_schema


@dataclass(frozen=True)
class Release:
    """A copy of the SGD release, or of another corpus in its layout, that can be read."""

    name: str  # what the user called it, for error messages
    fingerprint: str  # a hexadecimal digest that changes when the copy does
    files: frozenset[str]  # the release's own relative paths, such as ``test/dialogues_001.json``
    _read: Read = field(repr=False)
    # What opens it again from any directory: ``sample``, ``many``, ``download`` or a whole path.
    source: str = ""
    # Names of the user's own variants; their schemas are among ``files``.
    own_variants: tuple[str, ...] = ()
    # The paths of those of ``files`` that are not in the copy itself, for error messages: schemas
    # of the user's own variants, and the overlays of this package.
    added_paths: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    _digests: dict[str, str] = field(default_factory=dict, init=False, compare=False, repr=False)
    _schemas: dict[tuple[str, str], Schema] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def public_name(self) -> str:
        """What files that are made of it may call it: ``source`` without the folders around it."""
        return Path(self.source or self.name).name

    def read(self, path: str) -> bytes:
        """The bytes of one of ``files``; ``SgdxError`` where it is missing or unreadable."""
        if path not in self.files:
            raise SgdxError(f"{self.name}: has no {path}, expected the release's layout")
        try:
            return self._read(path)
        except SgdxError:
            raise
        except Exception as error:  # of all kinds, where an archive is damaged
            raise SgdxError(f"{self.name}: {path}: cannot be read: {error}") from None

    def read_with_digest(self, path: str) -> tuple[bytes, str]:
        """The bytes of one of ``files``, and their SHA-256, which ``digest_of`` then knows."""
        content = self.read(path)
        sha256 = self._digests[path] = digest(content)
        return content, sha256

    def digest_of(self, path: str) -> str:
        """The SHA-256 of one of ``files`` in hexadecimal; each is read for it at most once."""
        return self._digests[path] if path in self._digests else self.read_with_digest(path)[1]

    def configs(self) -> tuple[str, ...]:
        """The configs that this copy has data for."""
        return tuple(c for c in (*CONFIGS, *self.own_variants) if self.variants(c))

    def all_variants(self) -> list[str]:
        """The original, those of v1..v5 that this copy has, and the user's own variants."""
        return [config for config in self.configs() if config != BACKTRANS]

    def variants(self, config: str) -> list[str]:
        """A config's schema variants: ``backtrans`` has one per language, others just one."""
        if config != BACKTRANS:
            return [config] if self.schema_splits(config) else []
        files = (f for f in self.files if f.startswith(f"{BACKTRANS}/"))
        return sorted(f"{BACKTRANS}-{Path(file).stem}" for file in files)

    def splits(self, config: str) -> list[str]:
        """The splits of a config for which this copy has dialogues."""
        with_dialogues = [split for split in SPLITS if self.dialogue_files(split)]
        if config == BACKTRANS:
            return [split for split in with_dialogues if split == "train"]
        if config in self.own_variants:
            return [split for split in with_dialogues if split in self.schema_splits(config)]
        return with_dialogues

    def schema_splits(self, variant: str) -> list[str]:
        """The splits that have a schema under a variant; for a back-translation that is train."""
        if variant.startswith(f"{BACKTRANS}-"):
            return ["train"]
        return [split for split in SPLITS if self.schema_file(split, variant) in self.files]

    def dialogue_files(self, split: str) -> list[str]:
        """Sorted paths of a split's dialogue files; a partial copy may have few or none."""
        return sorted(f for f in self.files if f.startswith(f"{SPLITS[split]}/dialogues_"))

    def count_dialogues(self, split: str) -> int:
        """How many dialogues a split has."""
        files = self.dialogue_files(split)
        return sum(len(read_dialogues(self.read(f), f, BriefFrame)) for f in files)

    def schema_file(self, split: str, variant: str) -> str:
        """The path of a split's schema under a variant, relative to the release's root."""
        folder = "" if variant == "original" else f"sgd_x/data/{variant}/"
        return f"{folder}{SPLITS[split]}/schema.json"

    def schema(self, split: str, variant: str) -> Schema:
        """A split's schema under a variant, which is read once and lines up with the original."""
        key = split, variant
        if key not in self._schemas:
            self._schemas[key] = self._read_schema(split, variant)
        return self._schemas[key]

    def _read_schema(self, split: str, variant: str) -> Schema:
        if variant.startswith(f"{BACKTRANS}-"):
            file = f"{BACKTRANS}/{variant.removeprefix(f'{BACKTRANS}-')}.json"
            words = read_words(self.read(file), f"{self.name}: {file}")
            return apply_words(words, {split: self.schema(split, "original")})[split]
        file = self.schema_file(split, variant)
        schema = read_schema(self.read(file), self.added_paths.get(file, f"{self.name}: {file}"))
        if variant != "original":
            original = self.schema(split, "original")
            check_aligned(original, schema)
            if variant in VARIANTS:
                check_variant(original, schema, variant)
        return schema

    def seen_services(self) -> set[str]:
        """The original names of the services that the original train split has, if there is one."""
        if "train" not in self.schema_splits("original"):
            return set()
        return set(self.schema("train", "original").service_names())

    def is_sgd(self) -> bool:
        """Whether this is a copy, perhaps a partial one, of the SGD release."""
        splits = self.schema_splits("original")
        names = (self.schema(split, "original").service_names() for split in splits)
        return is_sgd({name for of_split in names for name in of_split})

    def missing(self) -> str:
        """What a partial copy of SGD lacks, in words; empty for any other release."""
        files = {split: len(self.dialogue_files(split)) for split in SPLITS}
        return missing_from_sgd(files, FILES, "dialogue files") if self.is_sgd() else ""

    def gaps(self) -> str:
        """What a source lacks, in words for a note; empty where nothing is missing."""
        if missing_files := self.missing():
            return f"a partial copy of SGD: {missing_files}"
        has_split = self.schema_splits("original")
        gaps = [f"no {split} split" for split in SPLITS if split not in has_split]
        gaps += [f"no {variant}" for variant in VARIANTS if not self.variants(variant)]
        text = ", ".join(gaps).replace(", ".join(f"no {name}" for name in VARIANTS), "no v1 to v5")
        unseen = "" if "train" in has_split else "; every service counts as unseen"
        return f"the source has {text}{unseen}" if gaps else ""

    def data_digest(self, split: str, config: str) -> str:
        """A digest of all that the rows of a split under a config are made from, 16 digits."""
        # Prediction files carry it. A directory and an archive of the same files have the same.
        split = split_name(split)
        self.check_config(config)
        services = (
            self.schema(split, variant).services for variant in ("original", *self.variants(config))
        )
        # Each once, so that a variant that changes nothing has the digest of the original.
        schemas = list(dict.fromkeys(digest(msgspec.json.encode(schema)) for schema in services))
        dialogues = [f"{file} {self.digest_of(file)}" for file in self.dialogue_files(split)]
        made_from = [dialogues, schemas, sorted(self.seen_services())]
        return digest(msgspec.json.encode(made_from))[:16]

    def version(self, split: str | None = None) -> str:
        """Which published data this is, by the SHA-256 of its files, for a signature."""
        # ``sample`` or ``many``; SGD's commit; nothing for a partial copy of SGD; ``unverified:``
        # and a digest for all else, which a whole copy of SGD is while some checksums are unknown.
        files = self._published_files(split)
        digests = {file: self.digest_of(file) for file in files}
        for corpus in ("sample", "many"):
            if files and digests.items() <= checksums(corpus).items():
                return corpus
        if self.is_sgd():
            published = checksums("sgd")
            altered = any(
                published.get(file, file_digest) != file_digest
                for file, file_digest in digests.items()
            )
            if not altered and (digests.keys() <= published.keys() or self.source == "download"):
                return "" if self.missing() else COMMIT
        content = "".join(f"{file} {file_digest}\n" for file, file_digest in digests.items())
        return f"unverified:{digest(content.encode())[:16]}"

    def _published_files(self, split: str | None) -> list[str]:
        """The files, of a split or of all, that are neither a user's own nor of this package."""
        folders = [SPLITS[split_name(split)]] if split else [*SPLITS.values()]
        if "train" in folders:
            folders.append(BACKTRANS)
        of_folders = {
            file
            for file in self.files
            if file not in self.added_paths and file.split("/")[-2] in folders
        }
        return sorted(of_folders | ({self.schema_file("train", "original")} & self.files))

    def completeness(self) -> str:
        """Which corpus this is and how much of it, as in ``SGD, partial: test 24 of 34 ...``."""
        if self.source in ("sample", "many"):
            return f"{self.source} corpus"
        if not self.is_sgd():
            return "a corpus in the layout of SGD"
        return f"SGD, partial: {lacking}" if (lacking := self.missing()) else "SGD, complete"

    def check_config(self, config: str) -> None:
        """Raise ``SgdxError`` unless ``config`` exists and this copy has its schemas."""
        configs = (*CONFIGS, *self.own_variants)
        if config not in configs:
            raise SgdxError(f"unknown config {config!r}, expected one of {', '.join(configs)}")
        if config == BACKTRANS and not self.variants(config):
            raise SgdxError(
                f"{self.name}: has no {BACKTRANS}/*.json, expected overlays for {config}"
            )
        if not self.variants(config):
            file = self.schema_file("test", config)
            raise SgdxError(
                f"{self.name}: has no variant {config}, expected {file}, or that of another split"
            )

    def check_any_dialogues(self, config: str) -> None:
        """Raise ``SgdxError`` unless ``config`` exists and has dialogues in some split."""
        self.check_config(config)
        if not self.splits(config):
            raise SgdxError(f"{self.name}: has no dialogues under {config}, expected some")

    def check_dialogues(self, config: str, split: str) -> None:
        """Raise ``SgdxError`` unless ``config`` and ``split`` exist and have dialogues here."""
        self.check_config(config)
        if split_name(split) not in self.splits(config):
            raise SgdxError(f"{self.name}: has no dialogues in {split} under {config}")

    def fingerprint_of(self, config: str) -> str:
        """A hexadecimal digest that changes when what a config is made from does."""
        if config == BACKTRANS:
            own = [file for file in sorted(self.files) if file.startswith(f"{BACKTRANS}/")]
        elif config in self.own_variants:
            own = [self.schema_file(split, config) for split in self.splits(config)]
        else:
            return self.fingerprint
        parts = [self.fingerprint.encode(), *(self.read(file) for file in own)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def write_variants(variants: Mapping[str, Mapping[str, Schema]], output: Path) -> list[Path]:
    """Write schema variants as ``output/VARIANT/{train,dev,test}/schema.json``."""
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder for variants")
    with staged(output) as staging:
        for variant, schemas in variants.items():
            for split, schema in schemas.items():
                file = staging / variant / SPLITS[split] / "schema.json"
                file.parent.mkdir(parents=True)
                file.write_bytes(pretty_json(schema.services, 2))
    return [output / variant for variant in variants]
