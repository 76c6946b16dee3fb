"""``sgdx tools init`` writes a file that ``sgdx tools test`` reads, from any source of tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import Capture, command
from .importing.test_mcp_servers import BY_SDK

OPENAI = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("openai", [OPENAI]),
        ("anthropic", {"tools": [{"name": "f", "input_schema": {"type": "object"}}]}),
        ("mcp", {"result": {"tools": [{"name": "f", "inputSchema": {"type": "object"}}]}}),
    ],
)
def test_a_file_is_known_by_its_content(form: str, content: object, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps(content))
    words = ("--output", tmp_path / "api", "--model", "m", "--base-url", "http://localhost:1/v1")
    assert command("init", tmp_path / "f.json", *words) == 0
    written = yaml.safe_load((tmp_path / "api" / "sgdx.yaml").read_text())
    server = {"model": "m", "base_url": "http://localhost:1/v1"}
    assert written == {
        "tools": {form: "../f.json"},
        "cases": "cases.jsonl",
        "models": [server],
        "variants": {**server, "count": 2},
        "gate": {"max_drop": 3},
    }
    # A test reads the file, and asks for the cases alone.
    assert command("test", tmp_path / "api" / "sgdx.yaml") == 2


def test_a_program_is_a_server_that_gets_variables_and_whose_keys_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Nothing is overwritten."""
    program, written = tmp_path / "kitchen", tmp_path / "sgdx.yaml"
    first = f"#!{sys.executable}\nimport os\nassert os.environ['TOKEN'] == 'k3y'"
    program.write_text(first + BY_SDK)
    program.chmod(0o755)
    words = ("init", program, "--output", tmp_path, "--env")
    assert command(*words, "TOKEN=k3y") == 2
    monkeypatch.setenv("KEY", "no")
    assert command(*words, "TOKEN=${KEY}") == 2
    assert "AssertionError" in capsys.readouterr().err and not written.exists()
    monkeypatch.setenv("KEY", "k3y")
    assert command(*words, "TOKEN=${KEY}") == 0
    assert "found: 2;" in capsys.readouterr().err
    tools = {"mcp": str(program), "env": {"TOKEN": "${KEY}"}}
    assert yaml.safe_load(written.read_text())["tools"] == tools
    before = written.read_bytes()
    assert command(*words, "TOKEN=${KEY}") == 2 and written.read_bytes() == before
    assert command("check", "--mcp-server", program, "--env", "TOKEN=${KEY}") == 0
    assert command("check", written, "--env", "TOKEN=${KEY}") == 2


def test_what_has_no_tools_leaves_no_file(tmp_path: Path) -> None:
    assert command("init", tmp_path / "nothing", "--output", tmp_path / "api") == 2
    assert not (tmp_path / "api").exists()
