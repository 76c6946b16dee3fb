"""References for the command line, asked of the dataset's own command."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .rows import REFERENCE, ScoreError


def write_references(source: str | None, split: str, variants: list[str], output: Path) -> int:
    """Have `python -m sgdx_dataset frames` write `output`/<variant>.parquet; its exit status.

    Its messages go to stderr.
    """
    configs = [word for variant in variants for word in ("--config", variant)]
    command = [sys.executable, "-m", "sgdx_dataset", "frames", "--split", split, *configs]
    command += ["--output", str(output), *(["--source", source] if source else [])]
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
