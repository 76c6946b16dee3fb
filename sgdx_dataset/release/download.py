"""The published SGD release: its address, what a complete copy contains, and downloading it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from ..io.errors import SgdxError
from ..io.files import file_digest
from .remembered import datasets_cache

COMMIT = "e852981ae34990f4358979625854259302feaa78"  # 2023-08-07, the fixed converter's
URL = (
    f"https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/{COMMIT}.zip"
)
# The SHA-256 of the archive, to be recorded here by somebody who has a complete one. Until then a
# download is verified by its counts.
SHA256: str | None = None

DIALOGUES = {"train": 16_142, "validation": 2_482, "test": 4_201}  # Rastogi et al. 2020, Table 2
FILES = {"train": 127, "validation": 20, "test": 34}
_SERVICES = "20abcf4c8e5fbf18"  # SHA-256 of the sorted names of the 45 services, its first digits


def is_sgd(services: set[str]) -> bool:
    """Whether these original service names, of all splits, are SGD's."""
    return hashlib.sha256("\n".join(sorted(services)).encode()).hexdigest().startswith(_SERVICES)


def missing_from_sgd(counts: Mapping[str, int], whole: Mapping[str, int], what: str) -> str:
    """Say in words what a copy of SGD lacks."""
    return ", ".join(
        f"{split} {counts.get(split, 0):,} of {number:,} {what}"
        for split, number in whole.items()
        if counts.get(split, 0) != number
    )


def download(check: Callable[[Path], None], url: str = URL, checksum: str | None = SHA256) -> Path:
    """Download the pinned archive to the Hugging Face cache, unless it is there already."""
    from filelock import FileLock  # It takes a while to import, and most commands download nothing.

    archive = datasets_cache() / "downloads" / f"sgdx-{Path(url).name}"
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(archive.with_suffix(".lock")):
            if not archive.exists():
                partial = _fetch(url, archive)
                _check_whole(partial, check, checksum)
                partial.replace(archive)
    except OSError as error:
        raise SgdxError(f"{archive}: cannot be downloaded to or read from: {error}") from None
    return archive


def _check_whole(archive: Path, check: Callable[[Path], None], checksum: str | None) -> None:
    """Check what was downloaded; what fails the check is deleted."""
    try:
        check(archive)
        if checksum and (digest := file_digest(archive)) != checksum:
            raise SgdxError(f"{archive}: SHA-256 is {digest}, expected {checksum}")
    except SgdxError as error:
        archive.unlink()
        raise SgdxError(f"{error} (it is deleted)") from None


def _fetch(url: str, archive: Path) -> Path:
    """Download to a file beside ``archive``, continuing what an earlier attempt has left there."""
    from huggingface_hub.file_download import http_get

    partial = archive.with_suffix(".incomplete")
    try:
        with partial.open("ab") as file:
            # GitHub answers a request for the rest with the whole file: http_get starts anew then.
            http_get(url, file, resume_size=file.tell(), displayed_filename=archive.name)
    except Exception as error:  # the HTTP library's own error types, which differ by version
        reason = " ".join(str(error).split())
        advice = f"{partial.stat().st_size} bytes are kept; try again, or give a copy's path"
        raise SgdxError(f"{url}: cannot be downloaded: {reason} ({advice})") from None
    return partial
