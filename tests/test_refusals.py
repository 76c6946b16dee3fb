"""What is refused, as two tables: the files, the command, and what its one line of error says."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from sgdx_cli import main

from .conftest import read_lines
from .sgdx_tools.conftest import write_files

# Of the tools alone, of scores, and of all other rooms.
TABLES = [
    read_lines(Path(__file__).parent / name)
    for name in ("sgdx_tools/refusals.jsonl", "sgdx_eval/refusals.jsonl", "refusals.jsonl")
]
# The files that several rows have in common, of which each changes one.
BASES = {row["base"]: row for table in TABLES for row in table if "command" not in row}
ROWS = [row for table in TABLES for row in table if "command" in row]


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, and the folders in it."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else b"" for name, path in paths.items()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["facts"][-1][:40])
def test_what_is_refused_is_named_in_one_line(
    row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the record, what was found and what was expected; nothing else is written."""
    monkeypatch.chdir(tmp_path)
    base = BASES[row["base"]]
    write_files(tmp_path, base["files"] | row["files"])
    before = contents(tmp_path)
    assert main([*base.get("begins", "").split(), *shlex.split(row["command"])]) == 2
    out, err = capsys.readouterr()
    error = err.splitlines()[-1].replace(os.sep, "/")
    assert error.startswith("sgdx: error: ") and not re.search("sk-x|:secret", error)
    assert all(fact in error for fact in row["facts"]), error
    after = contents(tmp_path)
    # What takes a while says that it begins, and a training may have made its first weights.
    out = re.sub(r"^(training \w+ on sample|loading \w+ from \w+)\n", "", out)
    if row["command"].startswith("train "):
        begun = {"run", *(path for path in after if path.startswith("run/initial"))}
        after = {path: of for path, of in after.items() if path not in begun}
    assert (out, after) == ("", before)
