"""References for the command line, asked of the dataset's own command."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..rows import REFERENCE, ScoreError


def write_references(
    source: str | None, split: str, variants: list[str], output: Path, own: Sequence[str] = ()
) -> int:
    """Have `python -m sgdx_dataset frames` write `output`/<variant>.parquet; its exit status.

    Its messages go to stderr. `own`: what its `--variant NAME=DIR` takes, variants of one's own.
    """
    configs = [word for variant in variants for word in ("--config", variant)]
    command = [sys.executable, "-m", "sgdx_dataset", "frames", "--split", split, *configs]
    command += ["--output", str(output), *(["--source", source] if source else [])]
    command += [word for variant in own for word in ("--variant", variant)]
    return subprocess.run(command, stdout=sys.stderr, check=False).returncode


def read_references(path: Path) -> pa.Table:
    """The columns of frame rows that scoring reads.

    Raises:
        ScoreError: the file lacks one.
    """
    present = set(pq.read_schema(path).names)
    if lacking := [name for name in REFERENCE.names if name not in present]:
        raise ScoreError(f"{path.name}: found no column {', '.join(lacking)} among the frame rows")
    return pq.read_table(path, columns=REFERENCE.names)


def read_release(path: Path, source: str | None) -> str | None:
    """What data a file of frame rows is of: its schema's metadata `release`, a commit or a name.

    Args:
        source: what `write_references` was given; the sample corpus goes by "sample".

    Returns:
        None where neither says.
    """
    said = (pq.read_schema(path).metadata or {}).get(b"release")
    if said:
        return str(said.decode())
    return "sample" if (source or os.environ.get("SGDX_SOURCE")) == "sample" else None
