"""Filling the Hugging Face cache, so that an unmodified ``load_dataset("sgdx", "v3")`` works."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import datasets
from datasets.exceptions import DatasetGenerationError
from filelock import FileLock

from .corpus import check_config, check_split, read_split
from .errors import SgdxError
from .release import Release, open_release
from .schema import CONFIGS, SPLITS
from .sgdx_dataset import SGDX

_HASH = "sgdx"  # the cache's folder for the builder's code; fixed, as VERSION says when rows change


def prepare(
    source: str | os.PathLike[str] | None = None,
    configs: Iterable[str] = CONFIGS,
    cache_dir: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Prepare configs in the Hugging Face cache; those that are there already are kept.

    A config that was prepared from another source, or an older copy of it, is replaced.

    Args:
        source: See ``open_release``.
        configs: Any of ``CONFIGS``.
        cache_dir: The cache, as ``load_dataset``'s ``cache_dir``; default: the user's own.

    Returns:
        A folder per config. Each is whole at every moment that it can be seen.

    Raises:
        SgdxError: The source is at fault, or the cache cannot be written.
    """
    configs = list(dict.fromkeys(configs))
    for config in configs:
        check_config(config)
    release = open_release(source)
    cache = Path(cache_dir or datasets.config.HF_DATASETS_CACHE).expanduser()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "sgdx.lock"):
            return [_prepare_config(release, config, cache) for config in configs]
    except OSError as error:
        raise SgdxError(f"{cache}: cache cannot be written: {error}") from None
    finally:
        read_split.cache_clear()


def load(
    config: str = "original",
    split: str | None = None,
    source: str | os.PathLike[str] | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load a config from ``source`` without touching what ``load_dataset("sgdx")`` gives.

    It is prepared once per source, in a folder of its own of the Hugging Face cache.

    Args:
        config: One of ``CONFIGS``.
        split: ``train``, ``validation`` or ``test``; None for a ``DatasetDict`` of all.
        source: See ``open_release``.

    Raises:
        SgdxError: As ``prepare``, or the split is unknown.
    """
    if split is not None:
        check_split(split)
    release = open_release(source)
    if split is not None and not release.dialogue_files(split):
        raise SgdxError(f"{release.name}: has no dialogues in {split}, expected some")
    cache = Path(datasets.config.HF_DATASETS_CACHE) / "sgdx-sources" / release.fingerprint[:16]
    prepare(source, CONFIGS, cache)
    return _builder(config, cache).as_dataset(split)


def _builder(config: str, cache: Path) -> SGDX:
    return SGDX(config_name=config, dataset_name="sgdx", hash=_HASH, cache_dir=str(cache))


def _prepare_config(release: Release, config: str, cache: Path) -> Path:
    """Build in a staging cache, then move into place: a killed run leaves no folder in sight."""
    place = Path(_builder(config, cache).cache_dir)
    if _fingerprint(place) == release.fingerprint:
        return place
    staging = cache / ".sgdx-preparing"
    shutil.rmtree(staging, ignore_errors=True)
    for split in SPLITS:
        read_split(release, split)  # faults of the source show here, not wrapped by the builder
    builder = _builder(config, staging)
    builder.release = release
    builder.info.download_checksums = {
        release.name: {"num_bytes": None, "checksum": release.fingerprint}
    }
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        raise (error.__cause__ or error) from None
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(staging / "replaced")
    Path(builder.cache_dir).rename(place)
    shutil.rmtree(staging)
    return place


def _fingerprint(place: Path) -> str | None:
    """The fingerprint of the release that a prepared folder was made from."""
    if not (place / "dataset_info.json").exists():
        return None
    checksums = datasets.DatasetInfo.from_directory(str(place)).download_checksums or {}
    return next((entry["checksum"] for entry in checksums.values()), None)
