"""Preparing configs in the Hugging Face cache, where ``load_dataset("sgdx", "v3")`` finds them."""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import datasets
import pyarrow as pa
from datasets.arrow_reader import ArrowReader
from datasets.naming import filenames_for_dataset_split
from filelock import FileLock

from ..configs import CONFIGS, split_name
from ..io.errors import SgdxError
from ..io.files import flush
from ..io.progress import progress
from ..release.open import Source, Variants, open_release
from ..release.release import Release
from ..release.remembered import OTHER_SOURCES, remember, remembered_source, resolve_source
from ..rows.dialogue_rows import dialogue_tables, read_split, steps
from ..rows.features import DIALOGUE_ROW
from ..sgdx_dataset import VERSION, dataset_info

# The cache has a folder per hash of the builder's code. This name is fixed, as VERSION already says
# when rows change.
_HASH = "sgdx"
_STAGING = ".sgdx-preparing"
# A split is cut into files of about this many bytes of Arrow data, so that several workers can
# stream a large one.
MAX_SHARD_BYTES = 20_000_000
# Rows repeat schemas, names and results, so that this makes files of two fifths of their size. To
# write and to check less takes the time that compressing takes, and reading is hardly slower.
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
# How often a config is read again because another process has replaced it meanwhile.
_MOST_READINGS = 100

_Loaded: TypeAlias = datasets.Dataset | datasets.DatasetDict


def prepare(
    source: Source = None,
    configs: Iterable[str] | None = None,
    cache_dir: str | Path | None = None,
    variants: Variants | None = None,
) -> list[Path]:
    """Prepare configs in the Hugging Face cache, so that ``load_dataset("sgdx", "v3")`` works.

    A cache holds the configs of one copy of one source. Those that are there already are kept;
    those of another source, or of an older copy of this one, are replaced or removed. The source is
    remembered: later commands, and ``load``, take it where none is named.

    Args:
        source: See ``open_release``; the remembered source is that of ``cache_dir``.
        configs: Any of ``CONFIGS`` and of ``variants``; None stands for all that the source has.
        cache_dir: The cache's folder, as ``cache_dir`` of ``load_dataset``; None stands for the
            user's Hugging Face cache.
        variants: The user's own schema variants, see ``open_release``.

    Returns:
        The folder of each config. A folder is complete whenever it exists.

    Raises:
        SgdxError: The source is at fault, or the cache cannot be written.
    """
    release = open_release(resolve_source(source, cache_folder(cache_dir)), variants)
    return prepare_release(release, configs or release.configs(), cache_dir)


def prepare_release(
    release: Release, configs: Iterable[str], cache_dir: str | Path | None = None
) -> list[Path]:
    """Do what ``prepare`` does, with a release that is open already."""
    cache = cache_folder(cache_dir)
    is_known = remembered_source(cache) == release.source and not _foreign_configs(release, cache)
    return _prepare_missing(release, configs, cache, remembering=not is_known)


def cache_folder(cache_dir: str | Path | None) -> Path:
    """The folder to prepare configs in: ``cache_dir``, or the user's Hugging Face cache."""
    return Path(cache_dir or datasets.config.HF_DATASETS_CACHE).expanduser()


def load(
    config: str = "original",
    split: str | None = None,
    source: Source = None,
    variants: Variants | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load a config from ``source``, whatever folders there are in the current directory.

    What ``prepare`` has made of the source is used as it is. Where the remembered source has
    changed since, or lacks the config, it is prepared there anew, with a warning of the change. A
    config of any other source, and one of the user's own variants, is prepared once for the splits
    that are asked for, in a folder of the Hugging Face cache for these, where it replaces what an
    older copy gave; what ``load_dataset("sgdx")`` loads stays as it is. The original and the five
    variants are prepared together, as parsing the dialogues is most of the work; but for the train
    split under the original schemas, since a training reads no other words of it.

    Args:
        config: One of ``CONFIGS``, or of ``variants``.
        split: ``train``, ``validation`` (or ``dev``) or ``test``, or a part of one or several in
            the notation of ``datasets``: ``test[:10%]``, ``train[:100]+dev``. None stands for all.
        source, variants: See ``open_release``.

    Returns:
        Dialogue rows: a ``Dataset`` for one split, or a ``DatasetDict`` of all splits.

    Raises:
        SgdxError: The source is at fault, the cache cannot be written, or the config or split is
            unknown or has no dialogues.
    """
    release = open_release(source, variants)
    release.check_config(config)
    splits = None
    if split is not None:
        split, splits = _checked_slice(release, config, split)
    shared = cache = cache_folder(None)
    together = [name for name in release.all_variants() if name in CONFIGS]
    if config not in together or (config == "original" and splits == ["train"]):
        together = [config]
    for _ in range(_MOST_READINGS):
        if (loaded := _read_whole(release, config, cache, split)) is not None:
            return loaded
        if cache != shared:
            _prepare_missing(release, together, cache, splits=splits)
            remember(release.source, cache)  # so that ``sources_named`` finds it
        elif config not in CONFIGS or remembered_source(cache) != release.source:
            place = release.source.encode("utf-8", "surrogateescape")
            name = hashlib.sha256(place).hexdigest()[:16]
            cache = cache / OTHER_SOURCES / "-".join([name, *(splits or ())])
        else:
            if _foreign_configs(release, cache):
                text = f"{release.name} has changed since it was prepared: it is prepared anew"
                warnings.warn(text, stacklevel=2)
            _prepare_missing(release, together, cache)
    raise SgdxError(f"{cache}: {config} cannot be read; run sgdx cache clear")


def _read_whole(release: Release, config: str, cache: Path, split: str | None) -> _Loaded | None:
    """Read a prepared config; None where it is not there, or is replaced while it is read."""
    # A folder that is replaced is renamed and never comes back, and while it is open no other one
    # gets its number: two looks that find one folder say that what was read is of it. Readers take
    # no lock, as they may have no right to write to the cache.
    folder = _config_folder(config, cache)
    if os.name != "posix":  # there a folder whose files are open cannot be renamed
        return _read(folder, split) if _is_prepared(release, config, cache) else None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        if not _is_prepared(release, config, cache):
            return None
        loaded = _read(folder, split)
        return loaded if os.path.samestat(os.fstat(descriptor), folder.stat()) else None
    except OSError:  # a file that has just been there
        return None
    finally:
        os.close(descriptor)


class CachedConfig(NamedTuple):
    """A config that lies in the cache."""

    # Its folder below the cache: sgdx/v1, or sgdx-sources/SOURCE-test/sgdx/v1 where it is of
    # another source than the remembered one, or of the user's own words.
    name: str
    source: str  # of what release it was made
    size: int  # bytes of its files


def cached_configs(cache_dir: str | Path | None = None) -> list[CachedConfig]:
    """All configs that ``prepare`` and ``load`` have put into a cache, sorted by name."""
    cache = cache_folder(cache_dir)
    configs = []
    for folder in sorted([*cache.glob("sgdx/*"), *cache.glob("sgdx-sources/*/sgdx/*")]):
        source = next(iter(_made_from(folder / VERSION / _HASH)), "").removeprefix("config of ")
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        configs.append(CachedConfig(str(folder.relative_to(cache)), source, size))
    return configs


def clear_cache(cache_dir: str | Path | None = None) -> list[CachedConfig]:
    """Remove all that ``prepare`` and ``load`` have put into a cache; give what was there."""
    cache, removed = cache_folder(cache_dir), cached_configs(cache_dir)
    if removed:
        with _locked(cache):
            for name in ("sgdx", OTHER_SOURCES):
                if (cache / name).is_dir():
                    shutil.move(cache / name, cache / _STAGING / "removed" / name)
    return removed


def _checked_slice(release: Release, config: str, split: str) -> tuple[str, list[str]]:
    """The split in the release's notation, and the splits in it, which must have dialogues."""
    parts, names = [], set()
    for part in split.split("+"):
        name, bracket, rest = part.strip().partition("[")
        name = split_name(name)
        release.check_dialogues(config, name)
        names.add(name)
        parts.append(name + bracket + rest)
    instruction = "+".join(parts)
    try:
        datasets.ReadInstruction.from_spec(instruction)
    except ValueError:
        expected = "expected a split, or a part of one as in test[:10%] or test[100:200]"
        raise SgdxError(f"unknown split {split!r}, {expected}") from None
    return instruction, sorted(names)


def _read(folder: Path, split: str | None) -> _Loaded:
    """Read a prepared config, without writing anything: the cache may be a read-only one."""
    info = datasets.DatasetInfo.from_directory(str(folder))
    reader = ArrowReader(str(folder), info)

    def rows(name: str) -> datasets.Dataset:
        # Given, so that datasets does not hash the tables, for which it would import torch.
        origin = f"{info.config_name} {info.download_checksums} {name}"
        fingerprint = hashlib.sha256(origin.encode()).hexdigest()[:16]
        read = reader.read("sgdx", name, info.splits.values())
        return datasets.Dataset(**read, fingerprint=fingerprint)

    try:
        return datasets.DatasetDict({s: rows(s) for s in info.splits}) if not split else rows(split)
    except (AssertionError, ValueError) as error:  # a slice that goes beyond the split
        raise SgdxError(f"split {split!r}: cannot be read: {error}") from None


def _prepare_missing(
    release: Release,
    configs: Iterable[str],
    cache: Path,
    remembering: bool = False,
    splits: Sequence[str] | None = None,
) -> list[Path]:
    """Prepare the configs that a cache lacks, and remove those of another source."""
    # All are built before the first is moved into place, so that a source at fault, or a process
    # that is killed, leaves the cache as it was. A cache that needs nothing is not written to.
    configs = list(dict.fromkeys(configs))
    for config in configs:
        release.check_any_dialogues(config)
    if remembering or not all(_is_prepared(release, config, cache) for config in configs):
        with _locked(cache):
            stale = [config for config in configs if not _is_prepared(release, config, cache)]
            with progress("Preparing", steps(release, stale, splits)):
                built = {config: _build(release, config, cache, splits) for config in stale}
            for folder in _foreign_configs(release, cache):
                shutil.move(folder, cache / _STAGING / "removed" / folder.name)
            if remembering:
                remember(release.source, cache)
            for config, folder in built.items():
                _move(folder, _config_folder(config, cache))
    return [_config_folder(config, cache) for config in configs]


@contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """Lock the cache while it is written, and clean up afterwards."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "sgdx.lock"):
            try:
                # What a killed run has left; the folder is where removed configs go.
                shutil.rmtree(cache / _STAGING, ignore_errors=True)
                (cache / _STAGING / "removed").mkdir(parents=True)
                yield
            finally:
                shutil.rmtree(cache / _STAGING, ignore_errors=True)
    except OSError as error:
        raise SgdxError(f"{cache}: cache cannot be written: {error}") from None
    finally:
        read_split.cache_clear()


def _config_folder(config: str, cache: Path) -> Path:
    """Where ``load_dataset("sgdx", config)`` looks for a prepared config."""
    return cache / "sgdx" / config / VERSION / _HASH


def _made_from(folder: Path) -> dict[str, str]:
    """The fingerprints of a prepared config itself, and of its whole source; nothing of none."""
    try:
        record = datasets.DatasetInfo.from_directory(str(folder)).download_checksums or {}
        return {name: entry["checksum"] for name, entry in record.items()}
    except (OSError, ValueError):  # another process replaces it
        return {}


def _is_prepared(release: Release, config: str, cache: Path) -> bool:
    """Whether a config is in the cache already, made from this very copy of the release."""
    made_from = _made_from(_config_folder(config, cache))
    return list(made_from.values())[:1] == [release.fingerprint_of(config)]


def _foreign_configs(release: Release, cache: Path) -> list[Path]:
    """The folders of the cache's configs that were not made from this very copy of the release."""
    folders = (folder for folder in cache.glob("sgdx/*") if folder.is_dir())
    return [
        folder
        for folder in folders
        if release.fingerprint not in _made_from(_config_folder(folder.name, cache)).values()
    ]


def _build(release: Release, config: str, cache: Path, splits: Sequence[str] | None) -> Path:
    """Build a config in the staging folder, out of ``load_dataset``'s sight; give its folder."""
    chosen = [split for split in release.splits(config) if splits is None or split in splits]
    for split in chosen:
        read_split(release, split)  # so that a fault is found before anything is written
    folder = _config_folder(config, cache / _STAGING)
    folder.mkdir(parents=True)
    splits_info = datasets.SplitDict(dataset_name="sgdx")
    for split in chosen:
        splits_info.add(_write_split(release, config, split, folder))
    fingerprints = {"config": release.fingerprint_of(config), "source": release.fingerprint}
    made_from = {
        f"{what} of {release.name}": {"num_bytes": None, "checksum": fingerprint}
        for what, fingerprint in fingerprints.items()
    }
    info = dataset_info(config, release)
    info.builder_name, info.dataset_name, info.config_name = "sgdx_dataset", "sgdx", config
    info.version, info.splits = VERSION, splits_info
    info.dataset_size = info.size_in_bytes = sum(s.num_bytes for s in splits_info.values())
    info.download_size = 0
    info.download_checksums = made_from
    info.write_to_directory(str(folder))
    flush(folder)
    return folder


def _write_split(release: Release, config: str, split: str, folder: Path) -> datasets.SplitInfo:
    """Write a split's rows as the Arrow files that ``load_dataset`` looks for, compressed."""
    schema = DIALOGUE_ROW.arrow_schema
    files: list[Path] = []
    lengths, size = [], 0
    for table in _shards(table for _, table in dialogue_tables(release, split, config)):
        file = folder / f"{split}-{len(files)}"  # how many there are is known at the end
        with pa.ipc.new_stream(file, schema, options=_COMPRESSED) as writer:
            writer.write_table(table.cast(schema))
        files.append(file)
        lengths.append(len(table))
        size += table.nbytes
    names = filenames_for_dataset_split(folder, "sgdx", split, "arrow", lengths)
    for file, name in zip(files, names, strict=True):
        file.rename(name)
    shards = lengths if len(files) > 1 else None
    return datasets.SplitInfo(split, size, sum(lengths), shard_lengths=shards, dataset_name="sgdx")


def _shards(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables, in order, joined to some that have ``MAX_SHARD_BYTES`` or a little more."""
    group: list[pa.Table] = []
    for table in tables:
        group.append(table)
        if sum(member.nbytes for member in group) > MAX_SHARD_BYTES:
            yield pa.concat_tables(group)
            group = []
    if group:
        yield pa.concat_tables(group)


def _move(folder: Path, target: Path) -> None:
    """Move a config that is built into its place, and what was there out of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.rename(folder.with_name("replaced"))
    folder.rename(target)
