"""Preparing configs in the Hugging Face cache, where ``load_dataset("sgdx", "v3")`` finds them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import datasets
from datasets.exceptions import DatasetGenerationError
from filelock import FileLock

from ..errors import SgdxError
from ..progress import progress
from ..release.open import Source, Variants, open_release
from ..release.release import Release
from ..release.schema import VARIANTS
from ..rows.dialogue_rows import read_split, steps
from ..sgdx_dataset import SGDX, VERSION, builder_class

# The cache has a folder per hash of the builder's code. This name is fixed, as VERSION already says
# when rows change.
_HASH = "sgdx"
_STAGING = ".sgdx-preparing"


def prepare(
    source: Source = None,
    configs: Iterable[str] | None = None,
    cache_dir: str | Path | None = None,
    variants: Variants | None = None,
) -> list[Path]:
    """Prepare configs in the Hugging Face cache, so that ``load_dataset("sgdx", "v3")`` works.

    Configs that are there already are kept, unless they were prepared from another source or from
    an older copy of it: then they are replaced.

    Args:
        source: See ``open_release``.
        configs: Any of ``CONFIGS`` and of ``variants``; None stands for all that the source has.
        cache_dir: The cache's folder, as ``cache_dir`` of ``load_dataset``; None stands for the
            user's Hugging Face cache.
        variants: The user's own schema variants, see ``open_release``.

    Returns:
        The folder of each config. A folder is complete whenever it exists.

    Raises:
        SgdxError: The source is at fault, or the cache cannot be written.
    """
    release = open_release(source, variants)
    return prepare_release(release, configs or release.configs(), cache_dir)


def prepare_release(
    release: Release, configs: Iterable[str], cache_dir: str | Path | None = None
) -> list[Path]:
    """Do what ``prepare`` does, with a release that is open already."""
    configs = list(dict.fromkeys(configs))
    for config in configs:
        release.check_config(config)
    cache = Path(cache_dir or datasets.config.HF_DATASETS_CACHE).expanduser()
    with _writing(cache):
        stale = [config for config in configs if not _is_prepared(release, config, cache)]
        with progress("Preparing", steps(release, stale)):
            for config in stale:
                _prepare_config(release, config, cache)
    return [_place(config, cache) for config in configs]


def load(
    config: str = "original",
    split: str | None = None,
    source: Source = None,
    variants: Variants | None = None,
) -> datasets.Dataset | datasets.DatasetDict:
    """Load a config from ``source``, and leave alone what ``load_dataset("sgdx")`` loads.

    The config is prepared once per source, in a folder of the Hugging Face cache for that source.
    The original and the five variants are prepared together, as parsing the dialogues is most of
    the work.

    Args:
        config: One of ``CONFIGS``, or of ``variants``.
        split: ``train``, ``validation`` or ``test``; None stands for all.
        source, variants: See ``open_release``.

    Returns:
        Dialogue rows: a ``Dataset`` for one split, or a ``DatasetDict`` of all splits.

    Raises:
        SgdxError: The source is at fault, the cache cannot be written, or the config or split is
            unknown or has no dialogues.
    """
    release = open_release(source, variants)
    release.check_config(config)
    if split is not None:
        release.check_dialogues(config, split)
    cache = Path(datasets.config.HF_DATASETS_CACHE) / "sgdx-sources" / release.fingerprint[:16]
    together = ["original", *VARIANTS]
    prepare_release(release, together if config in together else [config], cache)
    return _builder(config, cache, release).as_dataset(split)


@contextmanager
def _writing(cache: Path) -> Iterator[None]:
    """Lock the cache while it is written, and clean up afterwards.

    Errors of the file system become an ``SgdxError``, and nothing half-written is left.
    """
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


def _builder(config: str, cache: Path, release: Release) -> SGDX:
    make = builder_class(config)
    return make(
        release=release,
        config_name=config,
        dataset_name="sgdx",
        hash=_HASH,
        cache_dir=str(cache),
    )


def _place(config: str, cache: Path) -> Path:
    """Where ``load_dataset("sgdx", config)`` looks for a prepared config."""
    return cache / "sgdx" / config / VERSION / _HASH


def _is_prepared(release: Release, config: str, cache: Path) -> bool:
    """Whether a config is in the cache already, made from this very copy of the release."""
    place = _place(config, cache)
    if not (place / "dataset_info.json").exists():
        return False
    checksums = datasets.DatasetInfo.from_directory(str(place)).download_checksums or {}
    fingerprints = [entry["checksum"] for entry in checksums.values()]
    return fingerprints[:1] == [release.fingerprint_of(config)]


def _prepare_config(release: Release, config: str, cache: Path) -> None:
    """Build a config in a staging folder and move it into place.

    A process that is killed meanwhile leaves nothing where ``load_dataset`` looks.
    """
    place, fingerprint = _place(config, cache), release.fingerprint_of(config)
    staging = cache / _STAGING
    shutil.rmtree(staging, ignore_errors=True)
    for split in release.splits(config):
        read_split(release, split)  # here and not in the builder, which would wrap its errors
    builder = _builder(config, staging, release)
    builder.info.download_checksums = {release.name: {"num_bytes": None, "checksum": fingerprint}}
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        raise (error.__cause__ or error) from None
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        place.rename(staging / "replaced")
    Path(builder.cache_dir).rename(place)
