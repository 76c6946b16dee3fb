"""What is refused, as two tables: the files, the command, and what its one line of error says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sgdx_cli import main

from .conftest import read_lines
from .sgdx_tools.conftest import write_files

# Of the tools alone, and of all other rooms.
TABLES = [
    read_lines(Path(__file__).parent / name)
    for name in ("sgdx_tools/refusals.jsonl", "refusals.jsonl")
]
# The files that several rows have in common, of which each changes one.
BASES = {row["base"]: row for table in TABLES for row in table if "command" not in row}
ROWS = [row for table in TABLES for row in table if "command" in row]


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["facts"][-1][:40])
def test_what_is_refused_is_named_in_one_line(
    row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the record, what was found and what was expected; nothing is written."""
    monkeypatch.chdir(tmp_path)
    base = BASES[row["base"]]
    write_files(tmp_path, base["files"] | row["files"])
    before = files(tmp_path)
    assert main([*base.get("begins", "").split(), *shlex.split(row["command"])]) == 2
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith("sgdx: error: ") and not re.search("sk-x|:secret", error)
    assert all(fact in error for fact in row["facts"]), error
    # What a program was asked, and the weights that a training would begin from, may be there.
    begun = ("sgdx-run", "run/initial", "x")
    assert {p: of for p, of in files(tmp_path).items() if not p.startswith(begun)} == before
