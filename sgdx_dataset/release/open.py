"""Opening a release: a directory, an archive, the sample corpus, or the pinned download."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec.json import encode

from ..configs import BACKTRANS, CONFIGS, SPLITS
from ..io.errors import SgdxError
from ..io.files import read_file
from .archives import Read, read_archive, read_directory
from .download import download
from .new_words import apply_words, read_words
from .release import Release
from .remembered import NAMED, resolve_source

# The corpora of this package: a small one for demos and tests, and one of many services.
SAMPLE = Path(__file__).parents[1] / "sample"
PACKAGED = {
    "sample": SAMPLE,
    "many": Path(__file__).parents[1] / "many.zip",
}
_OVERLAYS = Path(__file__).parents[1] / BACKTRANS  # of SGD's train schemas

DOWNLOAD = "download"  # the source that is the pinned archive

Source = str | os.PathLike[str] | None
Variants = Mapping[str, str | os.PathLike[str]]
Added = dict[str, tuple[Path, Callable[[], bytes]]]  # where each file is, and what reads it


def open_release(source: Source = None, variants: Variants | None = None) -> Release:
    """Open a copy of the release for reading.

    Args:
        source: A directory, an archive (.zip, .tar.*), ``"sample"`` or ``"many"`` for a corpus that
            comes with this package, or ``"download"`` for the pinned archive, which is downloaded
            once. None stands for the environment variable ``SGDX_SOURCE`` and, where that is not
            set, for the source that ``prepare`` was given last.
        variants: The user's own schema variants, as paths by name. A path is a directory with
            ``{train,dev,test}/schema.json``, of which some may be missing, or a ``.json`` file:
            a rewording file (``new_words``), which makes a variant of every split, or an
            overlay, as ``backtranslate`` writes it, which makes a variant of train alone.

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
        path = download(_check_whole)
    name = str(path) if source == DOWNLOAD else source
    digest, files, read = open_files(name, path)
    origin = source if source in NAMED else str(path.absolute())
    release = Release(name, digest, frozenset(files), read, origin)
    splits = release.schema_splits("original")
    for split in SPLITS:
        # A copy may lack splits, but not the schema alone; one without any is told what is usual.
        if not splits or (release.dialogue_files(split) and split not in splits):
            release.read(release.schema_file(split, "original"))
    if release.is_sgd() and not release.variants(BACKTRANS):
        overlays = {f"{BACKTRANS}/{path.name}": path for path in _OVERLAYS.glob("*.json")}
        files_read: Added = {
            file: (path, partial(read_file, path)) for file, path in overlays.items()
        }
        release = _with_files(release, files_read)
    return _with_variants(release, variants) if variants else release


def _check_whole(path: Path) -> None:
    """Raise ``SgdxError`` unless an archive is the whole of SGD."""
    release = open_release(path)
    if lacks := release.missing() if release.is_sgd() else "SGD's services":
        raise SgdxError(f"{path}: was downloaded, but lacks {lacks}")


def open_files(name: str, path: Path) -> tuple[str, set[str], Read]:
    """List a copy of the release, a directory or an archive."""
    try:
        if path.is_dir():
            return read_directory(path)
        if path.is_file():
            return read_archive(name, path)
    except OSError as error:  # such as a name that is too long
        raise SgdxError(f"{name}: cannot be opened: {error}") from None
    expected = f"expected a directory, an archive, or one of {', '.join(NAMED)}"
    raise SgdxError(f"{name}: no such source, {expected}")


def find_variants(folder: Path) -> dict[str, Path]:
    """Find the user's own variants of the train schemas in a folder.

    A variant is a sub-folder with ``train/schema.json``, as ``compose`` and ``corrupt`` write them,
    or an overlay: a ``.json`` file. A folder that has ``train/schema.json`` itself is one variant.

    Returns:
        Paths by variant name, sorted by name, for ``open_release``. Variants are named after their
        folder or file; where a config has that name already (``v1``), the parent folder's name
        comes before it (``mine-v1``).

    Raises:
        SgdxError: The folder has no variant, or two variants of the same name.
    """
    if (folder / "train" / "schema.json").is_file():
        paths = [folder]
    else:
        schemas = folder.glob("*/train/schema.json")
        paths = sorted([*(path.parents[1] for path in schemas), *folder.glob("*.json")])
    path_of: dict[str, Path] = {}
    for path in paths:
        name = path.absolute().name.removesuffix(".json")
        if _is_taken(name):
            name = f"{path.absolute().parent.name}-{name}"
        if name in path_of:
            raise SgdxError(
                f"{path}: is variant {name} as {path_of[name]} is, expected one of them"
            )
        path_of[name] = path
    if not path_of:
        raise SgdxError(f"{folder}: has no variant, expected */train/schema.json or overlays")
    return dict(sorted(path_of.items()))


def _is_taken(name: str) -> bool:
    """Whether a config of the release itself has this name, or one such as ``V1``."""
    return name.casefold() in CONFIGS or name.casefold().startswith(BACKTRANS)


def _with_variants(release: Release, variants: Variants) -> Release:
    """Add the schemas of the user's own variants to a release, as further files of it."""
    added: Added = {}
    for name, path in variants.items():
        if _is_taken(name) or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise SgdxError(
                f"variant {name!r}: expected a name of letters from a to z and digits, not taken"
            )
        for split, file in _schemas(release, Path(path)).items():
            added[f"sgd_x/data/{name}/{SPLITS[split]}/schema.json"] = file
    return replace(_with_files(release, added), own_variants=tuple(variants))


def _with_files(release: Release, added: Added) -> Release:
    def read(file: str) -> bytes:
        return added[file][1]() if file in added else release.read(file)

    paths = {file: str(path) for file, (path, _) in added.items()}
    return replace(
        release,
        files=release.files.union(added),
        _read=read,
        added_paths={**release.added_paths, **paths},
    )


def _schemas(release: Release, path: Path) -> Added:
    """The files of a variant, and functions that read them as ``schema.json``, by split."""
    if path.suffix == ".json" and not path.is_dir():
        words = read_words(read_file(path), str(path))
        splits = ["train"] if words.is_overlay else release.schema_splits("original")
        made = apply_words(words, {split: release.schema(split, "original") for split in splits})
        return {s: (path, partial(encode, schema.services)) for s, schema in made.items()}
    files = {split: path / folder / "schema.json" for split, folder in SPLITS.items()}
    if not any(file.is_file() for file in files.values()):
        raise SgdxError(f"{path}: has no schema.json in train, dev or test, expected one")
    return {s: (file, partial(read_file, file)) for s, file in files.items() if file.is_file()}
