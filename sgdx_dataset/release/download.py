"""The published SGD release: its address, what a complete copy contains, and downloading it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from ..io.errors import SgdxError
from ..io.files import write_bytes
from .archives import sha256
from .remembered import datasets_cache

COMMIT = "e852981ae34990f4358979625854259302feaa78"  # 2023-08-07, the fixed converter's
URL = (
    f"https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/{COMMIT}.zip"
)
# The SHA-256 of the archive, to be recorded here by somebody who has a complete one. Until then a
# download is verified by its counts, and every later use of it by the checksum noted beside it.
SHA256: str | None = None

DIALOGUES = {"train": 16_142, "validation": 2_482, "test": 4_201}  # Rastogi et al. 2020, Table 2
FILES = {"train": 127, "validation": 20, "test": 34}
_SERVICES = "20abcf4c8e5fbf18"  # SHA-256 of the sorted names of the 45 services, its first digits


def is_sgd(services: set[str]) -> bool:
    """Whether these original service names, of all splits, are SGD's."""
    return hashlib.sha256("\n".join(sorted(services)).encode()).hexdigest().startswith(_SERVICES)


def missing_from_sgd(counts: Mapping[str, int], whole: Mapping[str, int], what: str) -> str:
    """Say in words what a copy of SGD lacks.

    Args:
        counts: How many dialogues or dialogue files the copy has, by split.
        whole: How many a complete copy has, by split.
        what: What was counted, for example ``dialogue files``.

    Returns:
        For example ``test 24 of 34 dialogue files``; empty where nothing is missing.
    """
    return ", ".join(
        f"{split} {counts.get(split, 0):,} of {number:,} {what}"
        for split, number in whole.items()
        if counts.get(split, 0) != number
    )


def download(check: Callable[[Path], None], url: str = URL, checksum: str | None = SHA256) -> Path:
    """Download the pinned archive to the Hugging Face cache, unless it is there already.

    A download that broke off is continued. What was downloaded is kept only where ``check`` raises
    no ``SgdxError``. Then the archive's checksum is noted beside it, and compared at every later
    use.

    Returns:
        The archive's path.

    Raises:
        SgdxError: It cannot be downloaded or kept, or its checksum is not the expected one.
    """
    from filelock import FileLock  # It takes a while to import, and most commands download nothing.

    archive = datasets_cache() / "downloads" / f"sgdx-{Path(url).name}"
    note = archive.with_suffix(".sha256")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(archive.with_suffix(".lock")):
            if not archive.exists():
                partial = _fetch(url, archive, checksum)
                _check_and_note(partial, check, note)
                partial.replace(archive)
            if not note.exists():
                _check_and_note(archive, check, note)
        expected = checksum or note.read_text(encoding="ascii").strip()
        _check(str(archive), sha256(archive), expected, "delete it to download it anew")
    except (OSError, UnicodeDecodeError) as error:
        raise SgdxError(f"{archive}: cannot be downloaded to or read from: {error}") from None
    return archive


def _check_and_note(archive: Path, check: Callable[[Path], None], note: Path) -> None:
    """Check what was downloaded, and note its checksum; what fails the check is deleted."""
    try:
        check(archive)
    except SgdxError as error:
        archive.unlink()
        raise SgdxError(f"{error} (it is deleted)") from None
    write_bytes(note, sha256(archive).encode())


def _fetch(url: str, archive: Path, checksum: str | None) -> Path:
    """Download to a file beside ``archive``, continuing what an earlier attempt has left there."""
    from huggingface_hub.file_download import http_get

    from ..io.bar import Bar

    partial = archive.with_suffix(".incomplete")
    try:
        with partial.open("ab") as file:
            # GitHub answers a request for the rest with the whole file: http_get starts anew then.
            http_get(
                url,
                file,
                resume_size=file.tell(),
                displayed_filename=archive.name,
                tqdm_class=Bar,
            )
    except Exception as error:  # the HTTP library's own error types, which differ by version
        reason = " ".join(str(error).split())
        advice = f"{partial.stat().st_size} bytes are kept; try again, or give a copy's path"
        raise SgdxError(f"{url}: cannot be downloaded: {reason} ({advice})") from None
    if checksum and sha256(partial) != checksum:
        digest = sha256(partial)
        partial.unlink()
        _check(url, digest, checksum, "what was downloaded is deleted")
    return partial


def _check(name: str, digest: str, expected: str, advice: str) -> None:
    if digest != expected:
        raise SgdxError(f"{name}: SHA-256 is {digest}, expected {expected}; {advice}")
