"""All servers of a client's file: in each client's form, by real programs over stdio."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sgdx_tools.data import Source
from sgdx_tools.importing import kind_of
from sgdx_tools.importing.clients import client_servers, variables_in

from ..conftest import Capture, command, mcp_server
from .test_mcp_servers import BY_HAND

MINE = {"command": sys.executable, "args": ["${workspaceFolder}/kitchen.py"]}
LOCKED = {"command": sys.executable, "args": ["by_hand.py", "locked"]}
ENV = {**LOCKED, "env": {"TOKEN": "Bearer ${KEY}"}}
OFF = {"command": "none", "disabled": True}
CODEX = f"""
model = "any"
[mcp_servers.kitchen]
command = {json.dumps(sys.executable)}
args = ["kitchen.py"]
[mcp_servers.hand]
command = {json.dumps(sys.executable)}
args = ["by_hand.py", "locked"]
env_vars = ["TOKEN"]
[mcp_servers.off]
url = "https://example.com/mcp"
enabled = false
"""
COMMENTED = """{ // of the workspace
  "inputs": [{"type": "promptString", "id": "my-key", "password": true}], /* asked */
  "servers": {"kitchen": MINE, "hand": HAND, },
}"""
VSCODE = COMMENTED.replace("MINE", json.dumps({**MINE, "type": "stdio"})).replace(
    "HAND", json.dumps({**LOCKED, "env": {"TOKEN": "Bearer ${input:my-key}"}})
)
ZED = {"command": {"path": sys.executable, **{k: v for k, v in ENV.items() if k != "command"}}}
FILES = {
    ".mcp.json": {"mcpServers": {"kitchen": {**MINE, "type": "stdio"}, "hand": ENV, "off": OFF}},
    "claude_desktop_config.json": {"mcpServers": {"kitchen": MINE, "hand": ENV}},
    ".cursor/mcp.json": {
        "mcpServers": {"kitchen": MINE, "hand": {**LOCKED, "env": {"TOKEN": "Bearer ${env:KEY}"}}}
    },
    ".gemini/settings.json": {
        "theme": "x",
        "mcpServers": {"kitchen": MINE, "hand": {**LOCKED, "env": {"TOKEN": "$TOKEN"}}},
    },
    ".zed/settings.json": {"context_servers": {"kitchen": MINE, "hand": ZED, "ext": {"v": "x"}}},
    "settings.json": {"mcp": {"servers": {"kitchen": MINE, "hand": ENV}}},
    "config.toml": CODEX,
    ".vscode/mcp.json": VSCODE,
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kitchen.py").write_text(mcp_server())
    (tmp_path / "by_hand.py").write_text(BY_HAND)
    for name, value in (
        ("KEY", "sk-secret"),
        ("TOKEN", "Bearer sk-secret"),
        ("MY_KEY", "sk-secret"),
    ):
        monkeypatch.setenv(name, value)
    return tmp_path


def put(path: Path, content: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("name", FILES)
def test_all_servers_of_a_client(name: str, place: Path) -> None:
    """Each gets its own variables, in the folder of the workspace; others than it has are left."""
    path = put(place / name, FILES[name])
    assert kind_of(str(path)) == "client"
    servers = client_servers(path)
    assert [server.name for server in servers] == ["kitchen", "hand"]
    assert [server.access.cwd for server in servers] == [place, place]
    assert servers[0].access.env == {}
    assert servers[1].access.env == {"TOKEN": "Bearer sk-secret"}
    assert servers[0].line.endswith("kitchen.py") and "$" not in servers[0].line
    assert variables_in(path) <= {"KEY", "TOKEN", "my-key"} and variables_in(path)


def test_tools_of_two_servers_become_one_folder(place: Path, capsys: Capture) -> None:
    """A name that two have is said, and no key is written."""
    entries = {"a": MINE, "b": {**MINE, "cwd": "."}, "hand": ENV}
    path = put(place / ".mcp.json", {"mcpServers": entries})
    assert command("import", path, "--output", place / "api") == 0
    names = [tool["name"] for tool in json.loads((place / "api" / "tools.json").read_text())]
    assert names[:3] == ["a__book_table", "a__now", "b__book_table"] and names[-1] == "hand__tool2"
    assert "book_table: several servers have a tool of this name: a, b" in capsys.readouterr().err
    written = "".join(file.read_text() for file in (place / "api").iterdir())
    assert "sk-secret" not in written
    source = Source(servers=({"name": "a"}, {"name": "b"}))
    assert [source.server_of(i) for i in ("a__now", "b__now", "c", "")] == ["a", "b", "", ""]


def test_addresses_get_headers(place: Path) -> None:
    url, toml = "http://h:1/mcp", '[mcp_servers.s]\nurl = "http://h:1/mcp"\n'
    forms = (
        ({"mcpServers": {"s": {"serverUrl": url, "headers": {"A": "${KEY}"}}}}, "A"),
        ({"mcpServers": {"s": {"httpUrl": url, "headers": {"A": "${X:-sk-secret}"}}}}, "A"),
        ({"servers": {"s": {"type": "http", "url": url, "headers": {"A": "$KEY"}}}}, "A"),
        (f'{toml}env_http_headers = {{A = "KEY"}}\n', "A"),
        (f'{toml}bearer_token_env_var = "KEY"\n', "Authorization"),
    )
    for content, header in forms:
        path = put(place / f"x{'.toml' if isinstance(content, str) else '.json'}", content)
        (server,) = client_servers(path)
        value = "Bearer sk-secret" if header == "Authorization" else "sk-secret"
        assert (server.line, server.access.headers) == ("http://h:1/mcp", {header: value}), content


def test_a_document_that_has_servers_is_no_client_s_file(tmp_path: Path) -> None:
    openapi = {"openapi": "3.1.0", "servers": [{"url": "http://h"}]}
    assert kind_of(str(put(tmp_path / "o.json", openapi))) == "openapi"
