"""``sgdx tools init`` writes a file that ``sgdx tools test`` reads, from any source of tools."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import Capture, command

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("kitchen")

@server.tool()
def book_table(city: str) -> str:
    "Book a table."
    return city

server.run()
"""
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
    words = ["init", str(tmp_path / "f.json"), "--output", str(tmp_path / "api"), "--model", "m"]
    assert command(*words, "--base-url", "http://localhost:1/v1") == 0
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


def test_a_server_is_asked_and_nothing_is_overwritten(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    command = shlex.join([sys.executable, str(tmp_path / "server.py")])
    assert command("init", command, "--output", tmp_path) == 0
    written = (tmp_path / "sgdx.yaml").read_text()
    assert yaml.safe_load(written)["tools"] == {"mcp": command}
    assert "found: 1;" in capsys.readouterr().err
    assert command("init", command, "--output", tmp_path) == 2
    assert (tmp_path / "sgdx.yaml").read_text() == written


def test_a_program_is_a_server_that_gets_variables_and_whose_keys_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    program, written = tmp_path / "kitchen", tmp_path / "sgdx.yaml"
    first = f"#!{sys.executable}\nimport os\nassert os.environ['TOKEN'] == 'k3y'"
    program.write_text(first + SERVER)
    program.chmod(0o755)
    monkeypatch.setenv("KEY", "k3y")
    words = ["init", str(program), "--output", str(tmp_path), "--env"]
    assert command(*words, "TOKEN=k3y") == 2
    monkeypatch.setenv("KEY", "no")
    assert command(*words, "TOKEN=${KEY}") == 2
    assert "AssertionError" in capsys.readouterr().err and not written.exists()
    monkeypatch.setenv("KEY", "k3y")
    assert command(*words, "TOKEN=${KEY}") == 0
    tools = {"mcp": str(program), "env": {"TOKEN": "${KEY}"}}
    assert yaml.safe_load(written.read_text())["tools"] == tools
    assert command("check", "--mcp-server", program, "--env", "TOKEN=${KEY}") == 0
    assert command("check", written, "--env", "TOKEN=${KEY}") == 2


def test_what_has_no_tools_leaves_no_file(tmp_path: Path) -> None:
    assert command("init", tmp_path / "nothing", "--output", tmp_path / "api") == 2
    assert not (tmp_path / "api").exists()
