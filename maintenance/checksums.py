"""Write the SHA-256 of every file of a source, in the format of ``sha256sum``.

``python -m maintenance.checksums sample > sgdx_dataset/release/sample.sha256``

With ``--words``, write digests of the texts of its schemas instead, by which training tells the
words of SGD's v1..v5 wherever they come from:

``python -m maintenance.checksums --words SGD > sgdx_dataset/rewording/sgd_words.txt``
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from sgdx_dataset.release.archives import digest
from sgdx_dataset.release.open import SAMPLE, open_files, open_release
from sgdx_dataset.rewording.leaks import release_words


def main() -> None:
    """Print the lines of the source that is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m maintenance.checksums", description=__doc__)
    text = "a copy of the release (a directory or an archive), or 'sample' for the sample corpus"
    parser.add_argument("source", metavar="SOURCE", help=text)
    parser.add_argument("--words", action="store_true", help="digests of the schemas' texts")
    options = parser.parse_args()
    lines = word_lines if options.words else file_lines
    for line in lines(options.source):
        print(line)


def file_lines(source: str) -> Iterator[str]:
    """The SHA-256 and the path of each file."""
    _, files, read = open_files(source, SAMPLE if source == "sample" else Path(source))
    for file in sorted(files):
        yield f"{digest(read(file))}  {file}"


def word_lines(source: str) -> Iterator[str]:
    """The digest of each text of the schemas, and whether the original ones or v1..v5 have it."""
    for group, digests in release_words(open_release(source))._asdict().items():
        for text_digest in sorted(digests):
            yield f"{text_digest} {group}"


if __name__ == "__main__":
    main()
