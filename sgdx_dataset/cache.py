"""Preparing configs in the Hugging Face cache, where ``load_dataset("sgdx", "v3")`` finds them."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import datasets
import pyarrow as pa
from datasets.arrow_reader import ArrowReader
from datasets.naming import filenames_for_dataset_split

from .columns import DIALOGUE_COLUMNS, VERSION
from .configs import CONFIGS, split_name
from .io.errors import SgdxError
from .io.files import flush
from .io.progress import progress
from .io.waiting import locked_file
from .release import Release, Variants, open_release
from .rows import in_groups, row_tables, split_rows, steps
from .source import (
    CITATION,
    NOTE,
    OTHER_SOURCES,
    Source,
    home_remedy,
    remembered_source,
    source_of_file,
)

_STAGING = ".sgdx-preparing"
# A split is cut into files of about this many bytes of Arrow data, so that several workers can
# stream a large one.
MAX_SHARD_BYTES = 20_000_000
# Rows repeat schemas, names and results, so that this makes files of two fifths of their size. To
# write and to check less takes the time that compressing takes, and reading is hardly slower.
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")

_Loaded: TypeAlias = datasets.Dataset | datasets.DatasetDict


def prepare(
    source: Source | Release = None,
    configs: Iterable[str] | None = None,
    variants: Variants | None = None,
) -> list[Path]:
    """Prepare configs in the Hugging Face cache, so that ``load_dataset("sgdx", "v3")`` works.

    A cache holds the configs of one copy of one source. Those that are there already are kept;
    those of another source, or of an older copy of this one, are replaced or removed. The source is
    remembered: later commands, and ``load``, take it where none is named.

    Args:
        source: See ``open_release``; or a release that is open already.
        configs: Any of ``CONFIGS`` and of ``variants``; None stands for all that the source has.
        variants: The user's own schema variants, see ``open_release``.

    Returns:
        The folder of each config. A folder is complete whenever it exists.

    Raises:
        SgdxError: The source is at fault, or the cache cannot be written.
    """
    cache = cache_folder()
    release = source if isinstance(source, Release) else open_release(source, variants)
    configs = list(dict.fromkeys(configs or release.configs()))
    for config in configs:
        release.check_dialogues(config)
    folders = [_config_folder(release, config, cache) for config in configs]
    is_of_it = remembered_source(cache) == release.source and not _foreign_configs(release, cache)
    if not is_of_it or not all(map(_is_prepared, folders)):  # else nothing is written
        with _locked(cache) as staging:
            _fill(cache, release, configs, staging)
    return folders


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
        split: ``train``, ``validation`` (or ``dev``) or ``test``; None stands for all.
        source, variants: See ``open_release``.

    Returns:
        Dialogue rows: a ``Dataset`` for one split, or a ``DatasetDict`` of all splits.

    Raises:
        SgdxError: The source is at fault, the cache cannot be written, or the config or split is
            unknown or has no dialogues.
    """
    release = open_release(source, variants)
    split = split and split_name(split)
    release.check_dialogues(config, split)
    splits = [split] if split else None
    cache = cache_folder()
    shared = config in CONFIGS and remembered_source(cache) == release.source
    if not shared and not _is_prepared(_config_folder(release, config, cache)):
        place = release.source.encode("utf-8", "surrogateescape")
        name = hashlib.sha256(place).hexdigest()[:16]
        cache = cache / OTHER_SOURCES / "-".join([name, *(splits or ())])
    together = [name for name in release.scored_variants() if name in CONFIGS]
    if config not in together or (config == "original" and splits == ["train"]):
        together = [config]
    # Readers take no lock where all is there, as they may have no right to write to the cache.
    folder = _config_folder(release, config, cache)
    with suppress(OSError):  # another process may put another source's config in its place
        before = folder.stat()
        if _is_prepared(folder):
            loaded, after = _read(folder, split), folder.stat()
            if (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns):
                return loaded
    if shared and _foreign_configs(release, cache):
        text = f"{release.name} has changed since it was prepared: it is prepared anew"
        warnings.warn(text, stacklevel=2)
    with _locked(cache) as staging:
        _fill(cache, release, together, staging, None if shared else splits)
        return _read(folder, split)


def cache_folder() -> Path:
    """The Hugging Face cache, in which ``load_dataset`` looks for prepared configs."""
    return Path(datasets.config.HF_DATASETS_CACHE).expanduser()


def cached_configs(cache: Path) -> list[tuple[str, str, int]]:
    """All configs that ``prepare`` and ``load`` have put into a cache, sorted by folder.

    Of each its folder below the cache, the source that it was made of, and the bytes of its files.
    The folder is ``sgdx/v1``, or ``sgdx-sources/SOURCE-test/sgdx/v1`` where the config is not of
    the remembered source, or of the user's own words.
    """
    configs = []
    for of_source in [cache, *sorted((cache / OTHER_SOURCES).glob("*"))]:
        for folder in _config_folders(of_source):
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            name = str(folder.relative_to(cache))
            configs.append((name, source_of_file(folder) or "", size))
    return configs


def clear_cache(cache: Path) -> None:
    """Remove all that ``prepare`` and ``load`` have put into a cache."""
    with _locked(cache) as staging:
        for number, folder in enumerate([*_config_folders(cache), cache / OTHER_SOURCES]):
            if folder.is_dir():
                folder.replace(staging / str(number))


def _read(folder: Path, split: str | None) -> _Loaded:
    """Read a prepared config, without writing anything: the cache may be a read-only one."""
    info = datasets.DatasetInfo.from_directory(str(folder))
    reader = ArrowReader(str(folder), info)

    def rows(name: str) -> datasets.Dataset:
        # Given, so that datasets does not hash the tables, for which it would import torch.
        origin = f"{info.config_name} {folder.name} {name}"
        fingerprint = hashlib.sha256(origin.encode()).hexdigest()[:16]
        read = reader.read("sgdx", name, info.splits.values())
        return datasets.Dataset(**read, fingerprint=fingerprint)

    try:
        return datasets.DatasetDict({s: rows(s) for s in info.splits}) if not split else rows(split)
    except (ValueError, OSError) as error:
        raise SgdxError(f"{folder}: cannot be read: {error}") from None


# ---- what lies in the cache


def _config_folder(release: Release, config: str, cache: Path) -> Path:
    """Where ``load_dataset("sgdx", config)`` looks for a config that was prepared of a release."""
    # The last folder is named by the copy's digest, in whose second half that of what was added to
    # the copy stands, if anything was.
    files = {
        release.schema_file(split, variant)
        for variant in release.variants(config)
        for split in release.schema_splits(variant)
    }
    added = [file for file in files if release.files[file].is_added]
    second = release.digest_of_all(added) if added else release.fingerprint[8:]
    return cache / "sgdx" / config / VERSION / f"{release.fingerprint[:8]}{second[:8]}"


def _is_prepared(folder: Path) -> bool:
    """Whether a config is there whole: a file that was cut, or is missing, is of another size."""
    with suppress(OSError, ValueError, AttributeError, KeyError):
        info = datasets.DatasetInfo.from_directory(str(folder))
        return all(
            sum(file.stat().st_size for file in folder.glob(f"sgdx-{split}*.arrow"))
            == info.download_checksums[f"release of {split}"]["num_bytes"]
            for split in info.splits or ()
        )
    return False


def load_fault(config: str) -> str:
    """What keeps ``load_dataset`` from loading a prepared config, in words; empty for nothing."""
    was_offline, datasets.config.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE, True
    verbosity = datasets.utils.logging.get_verbosity()
    datasets.utils.logging.set_verbosity_error()
    try:
        datasets.load_dataset("sgdx", config)
    except Exception as error:  # of all kinds, which differ by version
        return " ".join(str(error).split())
    finally:
        datasets.config.HF_HUB_OFFLINE = was_offline
        datasets.utils.logging.set_verbosity(verbosity)
    return ""


def _config_folders(cache: Path) -> list[Path]:
    """The folders ``sgdx/CONFIG`` of a cache; none of a clone of the project called ``sgdx``."""
    ours = ("dataset_info.json", "sgdx-*.arrow")
    return sorted({file.parents[2] for name in ours for file in cache.glob(f"sgdx/*/*/*/{name}")})


def _foreign_configs(release: Release, cache: Path) -> list[Path]:
    """Those of the cache's configs that were not made from this very copy of the release."""
    ours = f"{VERSION}/{release.fingerprint[:8]}*"
    return [folder for folder in _config_folders(cache) if not any(folder.glob(ours))]


# ---- filling the cache


def _fill(
    cache: Path,
    release: Release,
    configs: Iterable[str],
    staging: Path,
    splits: Collection[str] | None = None,
) -> None:
    """Prepare the configs that a cache lacks, and remove those of another source."""
    # All are built before the first is moved into place, so that a source at fault, or a process
    # that is killed, leaves the cache as it was.
    stale = [c for c in configs if not _is_prepared(_config_folder(release, c, cache))]
    with progress("Preparing", steps(release, stale, splits)):
        for config in stale:
            wanted = [s for s in release.splits(config) if splits is None or s in splits]
            _build(release, config, _config_folder(release, config, staging), wanted)
    for folder in _foreign_configs(release, cache):
        folder.replace(staging / f"foreign-{folder.name}")
    if remembered_source(cache) != release.source:
        (staging / NOTE).write_text(json.dumps({"source": release.source}) + "\n")
        (staging / NOTE).replace(cache / NOTE)
    for config in stale:
        folder = cache / "sgdx" / config
        folder.parent.mkdir(exist_ok=True)
        if folder.exists():  # which no rename replaces
            folder.replace(staging / f"old-{config}")
        (staging / "sgdx" / config).replace(folder)


@contextmanager
def _locked(cache: Path) -> Iterator[Path]:
    """Lock the cache, and give an empty folder in it, which is removed with all in it."""
    staging = cache / _STAGING
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with locked_file(cache / "sgdx.lock"):
            try:
                shutil.rmtree(staging, ignore_errors=True)  # what a killed run has left
                staging.mkdir()
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
                split_rows.cache_clear()
    except OSError as error:
        raise SgdxError(f"{cache}: cache cannot be written: {error}{home_remedy(error)}") from None


def dataset_info(config: str, release: Release | None = None) -> datasets.DatasetInfo:
    """What a config says of itself, and of the release that it is made of where that is known."""
    about = f", of {release.source}" if release else ""
    if gaps := release.gaps() if release else "":
        about += f" ({gaps})"
    return datasets.DatasetInfo(
        description=f"Schema-Guided Dialogue under the schemas of {config}{about}",
        features=datasets.Features.from_arrow_schema(DIALOGUE_COLUMNS),
        homepage="https://github.com/google-research-datasets/dstc8-schema-guided-dialogue",
        license="CC-BY-SA-4.0",
        citation=CITATION,
    )


def _build(release: Release, config: str, folder: Path, splits: Collection[str]) -> None:
    """Write a config as the Arrow files and the record that ``load_dataset`` looks for."""
    folder.mkdir(parents=True)
    infos, written = datasets.SplitDict(dataset_name="sgdx"), {}
    for split in splits:
        tables = (table for _, table in row_tables(release, split, config))
        lengths, size = list[int](), 0
        for shard in in_groups(tables, lambda table: table.nbytes, MAX_SHARD_BYTES):
            # How many files there are, which their names say, is known at the end.
            file = folder / f"{split}-{len(lengths)}"
            with pa.ipc.new_stream(file, DIALOGUE_COLUMNS, options=_COMPRESSED) as writer:
                writer.write_table(shard)
            lengths.append(len(shard))
            size += shard.nbytes
        shards = lengths if len(lengths) > 1 else None
        names = filenames_for_dataset_split(folder, "sgdx", split, "arrow", shards)
        files = [(folder / f"{split}-{number}").rename(name) for number, name in enumerate(names)]
        infos.add(
            datasets.SplitInfo(split, size, sum(lengths), shard_lengths=shards, dataset_name="sgdx")
        )
        # The release is what the metric states beside a score.
        on_disk, version = sum(file.stat().st_size for file in files), release.version(split)
        written[f"release of {split}"] = {"num_bytes": on_disk, "checksum": version}
    info = dataset_info(config, release)
    info.builder_name, info.dataset_name, info.config_name = "sgdx_dataset", "sgdx", config
    info.version, info.splits = VERSION, infos
    info.dataset_size = info.size_in_bytes = sum(split.num_bytes for split in infos.values())
    info.download_size, info.download_checksums = 0, written
    info.write_to_directory(str(folder))
    flush(folder)
