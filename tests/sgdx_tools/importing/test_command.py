"""``sgdx tools import``: what it prints, and what it leaves where it fails."""

from __future__ import annotations

import json
from pathlib import Path

from sgdx_tools.folder import read_tool_set

from ..conftest import Capture, command
from .test_openapi import LIBRARY


def test_an_import_says_what_was_left_out(tmp_path: Path, capsys: Capture) -> None:
    api = tmp_path / "api"
    assert command("import", "--openapi", LIBRARY, "--output", api) == 0
    out, err = capsys.readouterr()
    assert out == f"{api}: 5 tools\n"
    *lines, renamed, note, following = err.splitlines()
    assert "argument body" in note and f"sgdx tools reword {api}" in following
    assert len(lines) == 6 and renamed.startswith("sgdx: renamed: 4, ")
    source = read_tool_set(api).source
    assert [f"sgdx: left out: {line}" for line in source.left_out] == lines
    assert (source.form, list(source.files)) == ("openapi", ["library_3_0.yaml"])


def test_long_lists_are_cut_and_controls_are_escaped(tmp_path: Path, capsys: Capture) -> None:
    tools: list[dict[str, object]] = [{"name": "t", "defer_loading": True, "\x1b[31m": 1}]
    tools += [{"type": f"\x1b[31m{i}"} for i in range(30)]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    api = tmp_path / "api"
    assert command("import", "--openai", tmp_path / "tools.json", "--output", api) == 0
    *lines, kept, _ = capsys.readouterr().err.splitlines()
    assert lines[0] == r"sgdx: left out: tool 2: it is of type \x1b[31m0"
    assert kept.endswith(
        r"source.json keeps what no model is shown: defer_loading of 1, \x1b[31m of 1"
    )
    assert len(lines) == 21 and "10 more" in lines[-1] and "source.json" in lines[-1]
    assert len(read_tool_set(api).source.left_out) == 30
