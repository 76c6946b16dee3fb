"""Imports as pairs: the files that there are and the command, and the tools and cases they give."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sgdx_tools.data import Case, Json, Tool
from sgdx_tools.folder import read_project

from ..conftest import command, read_lines, write_files

ROWS = read_lines(Path(__file__).with_name("imports.jsonl"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["of"])
def test_what_an_import_gives(row: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is left out or renamed, the place stands in the row; a file @NAME is one here."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, row["files"])
    assert command("import", *row["words"].split(), "--output", "api") == 0
    project = read_project(Path("api"))
    assert list(project.tools.values()) == [msgspec.convert(tool, Tool) for tool in row["tools"]]
    assert project.cases == msgspec.convert(row.get("cases", ()), tuple[Case, ...])
    for key in ("left_out", "renamed"):
        lines = getattr(project.source, key)
        assert len(lines) == len(row.get(key, ()))
        assert all(line.startswith(place) for line, place in zip(lines, row.get(key, ())))
    assert project.source.beside == row.get("beside", {})
