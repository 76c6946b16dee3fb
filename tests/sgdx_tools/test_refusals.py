"""What is refused, as one table: the files, the command, and what its one line of error says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sgdx_tools.data import Json

from .conftest import Capture, command, read_lines, write_files

TABLE = read_lines(Path(__file__).with_name("refusals.jsonl"))
# The files that several rows have in common, of which each changes one.
BASES = {row["base"]: row["files"] for row in TABLE if "command" not in row}
ROWS = [row for row in TABLE if "command" in row]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["facts"][-1][:40])
def test_what_is_refused_is_named_in_one_line(
    row: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """With the file, the record, what was found and what was expected; nothing is written."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, BASES[row["base"]] | row["files"])
    before = files(tmp_path)
    assert command(*row["command"].split()) == 2
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith("sgdx: error: ")
    assert all(fact in error for fact in row["facts"]), error
    kept = [p for p in files(tmp_path) if "sgdx-run" not in p and not p.endswith(os.sep + "x")]
    assert {path: files(tmp_path)[path] for path in kept} == before
