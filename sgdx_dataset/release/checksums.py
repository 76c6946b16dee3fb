"""The SHA-256 of the published files, which show whether a copy's files are the published ones.

``sgd.sha256`` has those of SGD's commit ``download.COMMIT`` that are known: all schemas, and 137 of
the 181 dialogue files. ``sample.sha256`` and ``many.sha256`` have those of this package's corpora.
All are in the format of ``sha256sum``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_LISTS = {"sgd": "sgd.sha256", "sample": "sample.sha256", "many": "many.sha256"}


@cache
def checksums(corpus: str) -> Mapping[str, str]:
    """The SHA-256, in hexadecimal, of a corpus's files by path; ``corpus`` is a key of _LISTS."""
    text = Path(__file__).with_name(_LISTS[corpus]).read_text(encoding="utf-8")
    digests = (line.split("  ", 1) for line in text.splitlines())
    return {path: digest for digest, path in digests}


def is_released(digest: str) -> bool:
    """Whether a file of SGD or of a corpus of this package has this SHA-256, in hexadecimal."""
    return any(digest in checksums(corpus).values() for corpus in _LISTS)
