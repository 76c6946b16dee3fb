"""Where the data comes from: a directory, an archive, the sample, or the pinned download."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from . import sgd
from .archives import read_archive, read_directory
from .errors import SgdxError
from .release import Release
from .schema import BACKTRANS, CONFIGS, SPLITS

SAMPLE = Path(__file__).parent / "sample"
_OVERLAYS = Path(__file__).parent / BACKTRANS  # of SGD's train schemas

Source = str | os.PathLike[str] | None
Variants = Mapping[str, str | os.PathLike[str]]


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
    if release.is_sgd() and not release.variants(BACKTRANS):
        release = _with_overlays(release)
    return _with_variants(release, variants) if variants else release


def _with_overlays(release: Release) -> Release:
    """SGD with the back-translated schemas that come with this package."""
    overlays = {f"{BACKTRANS}/{path.name}": path for path in _OVERLAYS.glob("*.json")}

    def read(file: str) -> bytes:
        return overlays[file].read_bytes() if file in overlays else release.read(file)

    return replace(release, files=release.files.union(overlays), _read=read)


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

    return replace(
        release, files=release.files.union(own), _read=read, own_variants=tuple(variants)
    )
