"""Filling the Hugging Face cache, so that an unmodified ``load_dataset("sgdx", "v3")`` works."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import datasets
from datasets.exceptions import DatasetGenerationError
from filelock import FileLock

from .corpus import read_split
from .errors import SgdxError
from .release import Release
from .schema import VARIANTS
from .sgdx_dataset import SGDX, builder_class
from .sources import Source, Variants, open_release

_HASH = "sgdx"  # the folder for the builder's code, fixed: VERSION says when rows change
_STAGING = ".sgdx-preparing"


def prepare(
    source: Source = None,
    configs: Iterable[str] | None = None,
    cache_dir: str | Path | None = None,
    variants: Variants | None = None,
) -> list[Path]:
    """Prepare configs in the Hugging Face cache; those that are there already are kept.

    A config that was prepared from another source, or an older copy of it, is replaced.

    Args:
        source: See ``open_release``.
        configs: Any of ``CONFIGS`` and the user's own; default: all that the source has.
        cache_dir: The cache, as ``load_dataset``'s ``cache_dir``; default: the user's own.
        variants: The user's own variants, see ``open_release``.

    Returns:
        A folder per config. Each is whole at every moment that it can be seen.

    Raises:
        SgdxError: The source is at fault, or the cache cannot be written.
    """
    release = open_release(source, variants)
    return prepare_release(release, configs or release.configs(), cache_dir)


def prepare_release(
    release: Release, configs: Iterable[str], cache_dir: str | Path | None = None
) -> list[Path]:
    """``prepare`` for a release that is open."""
    configs = list(dict.fromkeys(configs))
    for config in configs:
        release.check_config(config)
    cache = Path(cache_dir or datasets.config.HF_DATASETS_CACHE).expanduser()
    with _writing(cache):
        return [_prepare_config(release, config, cache) for config in configs]


def load(
    config: str = "original",
    split: str | None = None,
    source: Source = None,
    variants: Variants | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load a config from ``source`` without touching what ``load_dataset("sgdx")`` gives.

    It is prepared once per source, in a folder of its own of the Hugging Face cache; the original
    and the five variants together, as parsing the dialogues is most of the work.

    Args:
        config: One of ``CONFIGS``, or of ``variants``.
        split: ``train``, ``validation`` or ``test``; None for a ``DatasetDict`` of all.
        source, variants: See ``open_release``.

    Raises:
        SgdxError: As ``prepare``; or the split is unknown, or has no dialogues.
    """
    release = open_release(source, variants)
    release.check_config(config)
    if split is not None:
        release.check_dialogues(config, split)
    cache = Path(datasets.config.HF_DATASETS_CACHE) / "sgdx-sources" / release.fingerprint[:16]
    together = ["original", *VARIANTS]
    prepare_release(release, together if config in together else [config], cache)
    return _builder(config, cache).as_dataset(split)


@contextmanager
def _writing(cache: Path) -> Iterator[None]:
    """Have the cache to oneself; its faults are told in one line, and leave nothing half-made."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "sgdx.lock"):
            try:
                yield
            finally:
                shutil.rmtree(cache / _STAGING, ignore_errors=True)
    except OSError as error:
        raise SgdxError(f"{cache}: cache cannot be written: {error}") from None
    finally:
        read_split.cache_clear()


def _builder(config: str, cache: Path) -> SGDX:
    make = builder_class(config)
    return make(config_name=config, dataset_name="sgdx", hash=_HASH, cache_dir=str(cache))


def _prepare_config(release: Release, config: str, cache: Path) -> Path:
    """Build in a staging cache, then move into place: a killed run leaves no folder in sight."""
    place = Path(_builder(config, cache).cache_dir)
    fingerprint = release.fingerprint_of(config)
    if _fingerprint(place) == fingerprint:
        return place
    staging = cache / _STAGING
    shutil.rmtree(staging, ignore_errors=True)
    for split in release.splits(config):
        read_split(release, split)  # faults of the source show here, not wrapped by the builder
    builder = _builder(config, staging)
    builder.release = release
    builder.info.download_checksums = {release.name: {"num_bytes": None, "checksum": fingerprint}}
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        raise (error.__cause__ or error) from None
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(staging / "replaced")
    Path(builder.cache_dir).rename(place)
    return place


def _fingerprint(place: Path) -> str | None:
    """The fingerprint of the release that a prepared folder was made from."""
    if not (place / "dataset_info.json").exists():
        return None
    checksums = datasets.DatasetInfo.from_directory(str(place)).download_checksums or {}
    return next((entry["checksum"] for entry in checksums.values()), None)
