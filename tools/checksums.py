"""Write the SHA-256 of every file of a source, in the format of ``sha256sum``.

``python -m tools.checksums sample > sgdx_dataset/release/sample.sha256``
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sgdx_dataset.release.archives import digest
from sgdx_dataset.release.open import SAMPLE, open_files


def main() -> None:
    """Print one line per file of the source that is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.checksums", description=__doc__)
    text = "a copy of the release (a directory or an archive), or 'sample' for the sample corpus"
    parser.add_argument("source", metavar="SOURCE", help=text)
    source = parser.parse_args().source
    _, files, read = open_files(source, SAMPLE if source == "sample" else Path(source))
    for file in sorted(files):
        print(f"{digest(read(file))}  {file}")


if __name__ == "__main__":
    main()
