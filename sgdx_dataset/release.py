"""A copy of the SGD release, or of a corpus in its layout: files, splits, schemas, digests."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from .configs import BACKTRANS, CONFIGS, SAME_WORDS, SPLITS, VARIANTS, split_name
from .io.errors import SgdxError, one_of
from .io.files import MAX_FILE_BYTES, file_digest, in_utf8, note_read, read_file, staged
from .io.json import pretty_json
from .schema import Service
from .source import COMMIT, DOWNLOAD, NAMED, SHA256, Source, download, resolve_source
from .words import (
    apply_words,
    check_variant,
    in_same_words,
    is_overlay,
    read_schema,
    read_words,
)

FILES = {"train": 127, "validation": 20, "test": 34}  # of dialogues in a whole copy of SGD
_SGD_SERVICES = "20abcf4c8e5fbf18"  # SHA-256 of the sorted names of its 45 services, first digits

# The corpora of this package: a small one for demos and tests, and one of many services.
SAMPLE = Path(__file__).with_name("sample")
PACKAGED = {"sample": SAMPLE, "many": Path(__file__).with_name("many.zip")}
_OVERLAYS = Path(__file__).with_name(BACKTRANS)  # of SGD's train schemas

_FILE = re.compile(
    r"((?!(?:train|dev|test)/)[^/]+/)?((?:sgd_x/data/v[0-9]+/)?(?:train|dev|test)/schema\.json"
    r"|(?:train|dev|test)/dialogues_[0-9]+\.json|backtrans/[a-z]+\.json|schema\.json)"
)
# Of all splits, where they have none of their own: MultiWOZ 2.2 comes in this layout.
SHARED_SCHEMA = "schema.json"

Variants = Mapping[str, str | os.PathLike[str]]


class File(NamedTuple):
    """A file of a release, which goes by its relative path there: ``test/dialogues_001.json``."""

    shown: str  # in error messages
    read: Callable[[], bytes]
    is_added: bool = False  # by this package or the user, so that the copy itself has it not


@dataclass(frozen=True, eq=False)
class Release:
    """A copy of the release that can be read; ``open_release`` opens it."""

    name: str  # what the user called it, for error messages
    files: Mapping[str, File]
    archive: Path | None = None  # None of a directory
    # What opens it again from any directory: ``sample``, ``many``, ``download`` or a whole path.
    source: str = ""
    # Names of the user's own variants; their schemas are among ``files``.
    own_variants: tuple[str, ...] = ()
    shares_schema: bool = False  # whether one is that of all splits, as in MultiWOZ 2.2
    _digests: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    _schemas: dict[tuple[str, str], list[Service]] = field(
        default_factory=dict, init=False, repr=False
    )

    # ---- files

    @property
    def public_name(self) -> str:
        """What files that are made of it may call it: ``source`` without the folders around it."""
        return Path(self.source or self.name).name

    def read(self, path: str) -> bytes:
        """The bytes of one of ``files``; ``SgdxError`` where it is missing or unreadable."""
        if path not in self.files:
            raise SgdxError(f"{self.name}: has no {path}, expected the release's layout")
        try:
            return self.files[path].read()
        except SgdxError:
            raise
        except Exception as error:  # of all kinds, where an archive is damaged
            raise SgdxError(f"{self.name}: {path}: cannot be read: {error}") from None

    def with_dialogue(self, split: str, dialogue_id: str) -> Release:
        """The release with those dialogue files of a split alone whose text has an id, if any."""
        # Searching the bytes of files takes a fraction of the time of parsing them.
        files, quoted = self.dialogue_files(split), msgspec.json.encode(dialogue_id)
        if not (others := {file for file in files if quoted not in self.read(file)}):
            return self
        kept = {file: read for file, read in self.files.items() if file not in others}
        return replace(self, files=kept) if len(others) < len(files) else self

    def digest_of(self, path: str) -> str:
        """The SHA-256 of one of ``files`` in hexadecimal; each is read for it at most once."""
        if path not in self._digests:
            self._digests[path] = sha256(self.read(path)).hexdigest()
        return self._digests[path]

    def digest_of_all(self, paths: Iterable[str]) -> str:
        """The SHA-256 of some of ``files`` together."""
        lines = (f"{path} {self.digest_of(path)}\n" for path in sorted(paths))
        return sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the copy in hexadecimal: of the archive, or of a directory's files."""
        if self.archive:
            return file_digest(self.archive)
        return self.digest_of_all(path for path, file in self.files.items() if not file.is_added)

    def dialogue_files(self, split: str) -> list[str]:
        """Sorted paths of a split's dialogue files; a partial copy may have few or none."""
        return sorted(f for f in self.files if f.startswith(f"{SPLITS[split]}/dialogues_"))

    def schema_file(self, split: str, variant: str) -> str:
        """The path among ``files`` of a split's schema, or of an overlay, which is of train."""
        if variant.startswith(f"{BACKTRANS}-"):
            return f"{BACKTRANS}/{variant.removeprefix(f'{BACKTRANS}-')}.json"
        folder = "" if variant == "original" else f"sgd_x/data/{variant}/"
        return f"{folder}{SPLITS[split]}/schema.json"

    # ---- configs, variants and splits

    def configs(self) -> tuple[str, ...]:
        """The configs that this copy has data for."""
        return tuple(c for c in (*CONFIGS, *self.own_variants) if self.variants(c))

    def scored_variants(self) -> list[str]:
        """The original, those of v1..v5 that this copy has, and the user's own variants."""
        return [config for config in self.configs() if config != BACKTRANS]

    def variants(self, config: str) -> list[str]:
        """A config's variants: ``backtrans`` has one per language, others just one."""
        if config != BACKTRANS:
            return [config] if self.schema_splits(config) else []
        files = (f for f in self.files if f.startswith(f"{BACKTRANS}/"))
        return sorted(f"{BACKTRANS}-{Path(file).stem}" for file in files)

    def splits(self, config: str) -> list[str]:
        """The splits of a config for which this copy has dialogues."""
        having = ["train"] if config == BACKTRANS else list(SPLITS)
        if config in self.own_variants:
            having = self.schema_splits(config)
        return [split for split in SPLITS if split in having and self.dialogue_files(split)]

    def schema_splits(self, variant: str) -> list[str]:
        """The splits that have a schema under a variant; for a back-translation that is train."""
        if variant.startswith(f"{BACKTRANS}-"):
            return ["train"]
        return [split for split in SPLITS if self.schema_file(split, variant) in self.files]

    def check_dialogues(self, config: str, split: str | None = None) -> None:
        """Raise ``SgdxError`` unless ``config`` has dialogues in ``split``; None: in any."""
        configs = (*CONFIGS, *self.own_variants)
        if config not in configs:
            raise SgdxError(f"unknown config {config!r}, {one_of(config, configs)}")
        if not self.variants(config):
            example = f"{self.schema_file('test', config)}, or that of another split"
            expected = f"{BACKTRANS}/*.json" if config == BACKTRANS else example
            raise SgdxError(f"{self.name}: has no variant {config}, expected {expected}")
        splits = self.splits(config)
        if not splits:
            raise SgdxError(f"{self.name}: has no dialogues under {config}, expected some")
        if split is not None and split not in splits:
            raise SgdxError(f"{self.name}: has no dialogues in {split} under {config}")

    # ---- schemas

    def schema(self, split: str, variant: str) -> list[Service]:
        """A split's services under a variant, in the order of the original schema."""
        if (split, variant) in self._schemas:
            return self._schemas[split, variant]
        file = self.schema_file(split, variant)
        data = self.read(file)
        path = self.files[file].shown
        if variant.startswith(f"{BACKTRANS}-"):
            original = {split: self.schema(split, "original")}
            services = apply_words(read_words(data, path), original, path)[split]
        else:
            services = read_schema(data, path)
            if variant != "original":
                shown = self.files[self.schema_file(split, "original")].shown
                check_variant(self.schema(split, "original"), services, variant, (shown, path))
        return self._schemas.setdefault((split, variant), services)

    def seen_services(self) -> set[str]:
        """The original names of the services that the original train split has, if there is one."""
        if "train" not in self.schema_splits("original"):
            return set()
        return {service.service_name for service in self.schema("train", "original")}

    # ---- what this copy is

    def is_sgd(self) -> bool:
        """Whether this is a copy, perhaps a partial one, of the SGD release."""
        splits = self.schema_splits("original")
        names = {s.service_name for split in splits for s in self.schema(split, "original")}
        digest = sha256("\n".join(sorted(names)).encode()).hexdigest()
        return digest.startswith(_SGD_SERVICES)

    def missing(self) -> str:
        """What a partial copy of SGD lacks, in words; empty for any other release."""
        if not self.is_sgd():
            return ""
        return ", ".join(
            f"{split} {found:,} of {whole:,} dialogue files"
            for split, whole in FILES.items()
            if (found := len(self.dialogue_files(split))) != whole
        )

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

    def version(self, split: str | None = None) -> str:
        """Which published data this is, for a signature."""
        # ``sample`` or ``many``; SGD's commit; nothing for a partial copy of SGD; ``unverified:``
        # and a digest of the files, of a split or of all, for all else.
        if self.source in PACKAGED:
            return self.source
        if self.missing():
            return ""
        if self.is_sgd() and (self.source == DOWNLOAD or self.fingerprint == SHA256):
            return COMMIT
        folders = [SPLITS[split_name(split)]] if split else [*SPLITS.values(), BACKTRANS]
        own = (path for path, file in self.files.items() if not file.is_added)
        digest = self.digest_of_all(path for path in own if path.split("/")[-2] in folders)
        return f"unverified:{digest[:16]}"

    def data_digest(self, split: str, config: str) -> str:
        """A digest of all that the rows of a split under a config are made from, 16 digits."""
        # Prediction files carry it. A directory and an archive of the same files have the same.
        split = split_name(split)
        self.check_dialogues(config)
        variants = ("original", *self.variants(config))
        encoded = [msgspec.json.encode(self.schema(split, variant)) for variant in variants]
        # Each once, so that a variant that changes nothing has the digest of the original.
        schemas = list(dict.fromkeys(sha256(schema).hexdigest() for schema in encoded))
        dialogues = [f"{file} {self.digest_of(file)}" for file in self.dialogue_files(split)]
        made_from = [dialogues, schemas, sorted(self.seen_services())]
        return sha256(msgspec.json.encode(made_from)).hexdigest()[:16]


# ---- opening


def open_release(source: Source = None, variants: Variants | None = None) -> Release:
    """Open a copy of the release for reading.

    Args:
        source: A directory, a .zip archive, ``"sample"`` or ``"many"`` for a corpus that comes with
            this package, or ``"download"`` for the pinned archive, which is downloaded once. None
            stands for the environment variable ``SGDX_SOURCE`` and, where that is not set, for the
            source that ``prepare`` was given last.
        variants: The user's own schema variants, as paths by name. A path is a directory with
            ``{train,dev,test}/schema.json``, of which some may be missing, or a ``.json`` file:
            a file of new words (``words``), which makes a variant of every split, or an overlay, as
            ``backtranslate`` writes it, which makes a variant of train alone. ``control1`` to
            ``control5`` and ``repeat2`` to ``repeat6`` (``SAME_WORDS``) have no path but their own
            set's name: ``{"control1": "control"}``.

    Returns:
        The open release. SGD itself gets the back-translated schemas of this package.

    Raises:
        SgdxError: No source is named or remembered; it does not exist, is no archive, or lacks the
            ``schema.json`` of a split with dialogues, or of all splits; a variant's directory has
            no schema, its file is at fault, or its name is taken.
    """
    source = resolve_source(source)
    path = PACKAGED.get(source) or Path(source)
    if source == DOWNLOAD:
        path = download(_check_download)
    name, archive = str(path) if source == DOWNLOAD else source, None
    try:
        if path.is_dir():
            files = _directory_files(name, path)
        elif path.is_file():
            files, archive = _zip_files(name, path), path
        else:
            expected = f"expected a directory, a zip archive, or one of {', '.join(NAMED)}"
            raise SgdxError(f"{name}: no such source, {expected}")
    except OSError as error:  # such as a name that is too long
        raise SgdxError(f"{name}: cannot be opened: {error}") from None
    # Splits have the one schema that there is for all, if none has one of its own.
    shared = files.pop(SHARED_SCHEMA, None)
    own_ones = [f"{folder}/{SHARED_SCHEMA}" for folder in SPLITS.values()]
    shares = shared is not None and files.keys().isdisjoint(own_ones)
    if shared and shares:
        folders = {file.partition("/")[0] for file in files if "/dialogues_" in file}
        files |= {f"{folder}/{SHARED_SCHEMA}": shared for folder in folders}
    source = source if source in NAMED else str(path.absolute())
    release = Release(name, files, archive, source, tuple(variants or ()), shares)
    splits = release.schema_splits("original")
    for split in SPLITS:
        # A copy may lack splits, but not the schema alone; one without any is told what is usual.
        if not splits or (release.dialogue_files(split) and split not in splits):
            release.read(release.schema_file(split, "original"))
    if release.is_sgd() and not release.variants(BACKTRANS):
        for path in _OVERLAYS.glob("*.json"):
            files[f"{BACKTRANS}/{path.name}"] = File(
                str(path), partial(read_file, path), is_added=True
            )
    for own, place in (variants or {}).items():
        is_own = re.fullmatch(r"[A-Za-z0-9_-]+", own) and not _is_taken(own)
        if not (is_own or own in SAME_WORDS.get(str(place), ())):
            raise SgdxError(
                f"variant {own!r}: expected a name of letters from a to z and digits, not taken"
            )
        for split, file in _schema_files(release, own, Path(place)).items():
            files[release.schema_file(split, own)] = file
    return release


def _directory_files(name: str, root: Path) -> dict[str, File]:
    files = {}
    for folder in ("", "*/", "sgd_x/data/*/*/"):
        for path in root.glob(f"{folder}*.json"):
            file = path.relative_to(root).as_posix()
            if _FILE.fullmatch(f"top/{file}"):
                files[file] = File(f"{name}: {file}", partial(read_file, path))
    return files


def _zip_files(name: str, path: Path) -> dict[str, File]:
    try:
        archive = zipfile.ZipFile(path)
        note_read(path)
    except Exception as error:  # Damaged archives make the standard library raise of all kinds.
        raise SgdxError(f"{name}: neither a directory nor a whole zip archive: {error}") from None

    def read(member: zipfile.ZipInfo) -> bytes:
        if member.file_size > MAX_FILE_BYTES:
            raise ValueError(f"found {member.file_size} bytes, expected at most {MAX_FILE_BYTES}")
        with archive.open(member) as entry:
            data = entry.read(member.file_size + 1)  # no more, whatever the archive has of it
        return in_utf8(data, Path(member.filename))

    files: dict[str, File] = {}
    tops = set[str]()
    members = [(member, _FILE.fullmatch(member.filename)) for member in archive.infolist()]
    folders = {match[1] for _, match in members if match and match[2] != SHARED_SCHEMA}
    for member, match in members:
        if match and match[1] in folders:
            top, file = match.groups(default="")
            tops.add(top)
            if file in files or len(tops) > 1:
                expected = "expected each file of one release once"
                raise SgdxError(f"{name}: {member.filename}: {file} is there twice, {expected}")
            files[file] = File(f"{name}: {file}", partial(read, member))
    return files


def _check_download(path: Path) -> None:
    """Raise ``SgdxError`` unless an archive is the whole of SGD."""
    release = open_release(path)
    if lacks := release.missing() if release.is_sgd() else "SGD's services":
        raise SgdxError(f"{path}: was downloaded, but lacks {lacks}")


# ---- the user's own variants


def find_variants(folder: Path) -> dict[str, Path]:
    """Find the user's own variants of the train schemas in a folder.

    A variant is a sub-folder with ``train/schema.json``, as ``compose`` and ``corrupt`` write them,
    or an overlay: a ``.json`` file. A folder that has ``train/schema.json`` itself is one variant,
    as is an overlay.

    Returns:
        Paths by variant name, sorted by name, for ``open_release``. Variants are named after their
        folder or file; where a config has that name already (``v1``), the parent folder's name
        comes before it (``mine-v1``).

    Raises:
        SgdxError: The folder has no variant, or two variants of the same name.
    """
    paths = [folder]
    is_one = folder.suffix == ".json" and folder.is_file()
    if not is_one and not (folder / "train" / "schema.json").is_file():
        schemas = folder.glob("*/train/schema.json")
        paths = sorted([*(path.parents[1] for path in schemas), *folder.glob("*.json")])
    path_of: dict[str, Path] = {}
    for path in paths:
        name = path.absolute().name.removesuffix(".json")
        if _is_taken(name):
            name = f"{path.absolute().parent.name}-{name}"
        if name in path_of:
            found = f"is variant {name} as {path_of[name]} is"
            raise SgdxError(f"{path}: {found}, expected one of them")
        path_of[name] = path
    if not path_of:
        raise SgdxError(f"{folder}: has no variant, expected */train/schema.json or overlays")
    return dict(sorted(path_of.items()))


def write_variants(
    variants: Mapping[str, Mapping[str, Sequence[Service]]], output: Path
) -> list[Path]:
    """Write schema variants as ``output/VARIANT/{train,dev,test}/schema.json``."""
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder for variants")
    with staged(output) as staging:
        for variant, schemas in variants.items():
            for split, services in schemas.items():
                file = staging / variant / SPLITS[split] / "schema.json"
                file.parent.mkdir(parents=True)
                file.write_bytes(pretty_json(services, 2))
    return [output / variant for variant in variants]


def _is_taken(name: str) -> bool:
    """Whether a config of the release itself has this name, or one such as ``V1``."""
    is_same = any(name.casefold() in names for names in SAME_WORDS.values())
    return is_same or name.casefold() in CONFIGS or name.casefold().startswith(BACKTRANS)


def _schema_files(release: Release, name: str, path: Path) -> dict[str, File]:
    """The ``schema.json`` of each split that a variant has."""
    schemas = {s: release.schema(s, "original") for s in release.schema_splits("original")}
    if name in SAME_WORDS.get(str(path), ()):
        made = {split: in_same_words(services, name) for split, services in schemas.items()}
    elif path.suffix == ".json" and not path.is_dir():
        words = read_words(read_file(path), str(path))
        if is_overlay(words):
            schemas = {"train": release.schema("train", "original")}
        made = apply_words(words, schemas, str(path))
    else:
        places = {split: path / folder / "schema.json" for split, folder in SPLITS.items()}
        readers = {
            s: (file, partial(read_file, file)) for s, file in places.items() if file.is_file()
        }
        if not readers:
            raise SgdxError(f"{path}: has no schema.json in train, dev or test, expected one")
        return {s: File(str(file), read, is_added=True) for s, (file, read) in readers.items()}
    encoders = {split: partial(msgspec.json.encode, services) for split, services in made.items()}
    return {split: File(str(path), read, is_added=True) for split, read in encoders.items()}
