"""``sgdx tools import``: what it prints, and what it leaves where it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.folder import read_tool_set
from tests.conftest import Run

from .test_openapi import LIBRARY


def test_a_process_imports_and_says_what_was_left_out(run: Run, tmp_path: Path) -> None:
    finished = run("sgdx_tools", "import", "--openapi", LIBRARY, "--output", "api")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "api: 5 tools\n"
    *lines, note, following = finished.stderr.splitlines()
    assert "argument body" in note and "sgdx tools reword api" in following
    renamed = lines.pop()
    assert len(lines) == 6 and all(line.startswith("sgdx: left out: ") for line in lines)
    assert renamed.startswith("sgdx: renamed: 4, ") and "api/source.json" in renamed
    tool_set = read_tool_set(tmp_path / "api")
    assert tool_set.source.form == "openapi"
    assert [f"sgdx: left out: {line}" for line in tool_set.source.left_out] == lines
    assert list(tool_set.source.files) == ["library_3_0.yaml"]


def test_long_lists_are_cut_and_controls_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools: list[dict[str, object]] = [{"name": "t", "defer_loading": True, "\x1b[31m": 1}]
    tools += [{"type": f"\x1b[31m{i}"} for i in range(30)]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    api = tmp_path / "api"
    assert main(["import", "--openai", str(tmp_path / "tools.json"), "--output", str(api)]) == 0
    *lines, kept, _ = capsys.readouterr().err.splitlines()
    assert lines[0] == r"sgdx: left out: tool 2: it is of type \x1b[31m0"
    assert kept.endswith(
        r"source.json keeps what no model is shown: defer_loading of 1, \x1b[31m of 1"
    )
    assert len(lines) == 21 and "10 more" in lines[-1] and "source.json" in lines[-1]
    assert len(read_tool_set(api).source.left_out) == 30
