"""The servers in the files of clients, with what each gets to let us in."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import say
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.secrets import check_address, note_headers, note_variables, note_words

from .mcp_servers import Access, Server

# Under which keys the servers stand: of Claude, Cursor, Windsurf and Gemini CLI, of VS Code, also
# inside `mcp`, of Zed, and of Codex.
_KEYS = ("mcpServers", "servers", "context_servers", "mcp_servers")
# Folders of a workspace that have a client's file. Its servers are started in the workspace.
_BESIDE = (".cursor", ".vscode", ".gemini", ".zed", ".codex")
_URLS = ("url", "httpUrl", "serverUrl")
# JSON as people write it: texts, which stay, and comments and last commas, which go.
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
# ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, {env:NAME}, and of Gemini CLI $NAME.
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([\w.-]+)(?::-([^}]*))?\}|\$([A-Za-z_]\w*)")
_PLACES = re.compile(r"\$\{(workspaceFolder|userHome)\}")


class _Entry(msgspec.Struct, frozen=True):
    """A server as any of the clients has it, in Codex's words too."""

    command: Any = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    http_headers: dict[str, str] = {}
    # Variables that are handed on, and whose values are headers, or the token of one.
    env_vars: list[str] = []
    env_http_headers: dict[str, str] = {}
    bearer_token_env_var: str = ""
    disabled: bool = False
    enabled: bool = True


def servers_in(document: Any) -> dict[str, Any] | None:
    """The entries of servers in a client's document, by name; None where it is of another kind."""
    if not isinstance(document, dict):
        return None
    inner = document.get("mcp")
    for of in (document, inner if isinstance(inner, dict) else {}):
        for key in _KEYS:
            found = of.get(key)
            # A list of tools or an OpenAPI document may have `servers` too, but as a list.
            if isinstance(found, dict) and "openapi" not in document:
                return found
    return None


def read_client(path: Path) -> Any:
    """The document of a client's file: TOML, or JSON that may have comments."""
    text = read_input(path).decode(errors="replace")
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text)
        return msgspec.json.decode(_COMMENTS.sub(lambda found: found[1] or "", text))
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise SgdxError(f"{path}: cannot be read as a client's file: {error}") from None


def client_servers(path: Path) -> list[Server]:
    """All servers of a client's file that it has not switched off; these are said."""
    entries = servers_in(read_client(path))
    if entries is None:
        raise SgdxError(f"{path}: found no servers, expected one of {', '.join(_KEYS)}")
    servers = []
    for name, entry in entries.items():
        where = f"{path}: server {name}"
        of = _entry(entry, where)
        if of.disabled or not of.enabled:
            say("sgdx", f"left out: {where}: it is switched off")
        elif not (of.command or of.url):
            say(
                "sgdx",
                f"left out: {where}: found no command and no url, which only its client knows",
            )
        else:
            servers.append(_server(path, name, of, where))
    if not servers:
        raise SgdxError(f"{path}: found no server that is switched on, expected one at least")
    return servers


def variables_in(path: Path) -> set[str]:
    """The variables of the environment that a client's file asks for."""
    text = read_input(path).decode(errors="replace")
    found = {name or plain for _, name, _, plain in _VARIABLE.findall(text)}
    for entry in (servers_in(read_client(path)) or {}).values():
        of = _entry(entry, f"{path}")
        found |= {*of.env_vars, *of.env_http_headers.values(), of.bearer_token_env_var}
    return found - {"", "workspaceFolder", "userHome"}


def _entry(entry: Any, where: str) -> _Entry:
    try:
        of = msgspec.convert(entry, dict[str, Any])
        address = next((of[key] for key in _URLS if of.get(key)), "")
        return msgspec.convert({**of, "url": address}, _Entry)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{where}: {error}") from None


def _server(path: Path, name: str, of: _Entry, where: str) -> Server:
    parent = path.absolute().parent
    workspace = parent.parent if parent.name in _BESIDE else parent

    def filled(texts: Mapping[str, str], key: str) -> dict[str, str]:
        return {
            name: _filled(text, workspace, f"{where}: {key}: {name}")
            for name, text in texts.items()
        }

    command, args, env = of.command, of.args, of.env
    if isinstance(command, dict):  # of Zed, in its earlier form
        inner = _entry({**command, "command": command.get("path")}, where)
        command, args, env = inner.command, inner.args, inner.env
    if command is None:
        headers = filled({**of.headers, **of.http_headers}, "headers")
        tokens = {header: f"${{{name}}}" for header, name in of.env_http_headers.items()}
        if of.bearer_token_env_var:
            tokens["Authorization"] = f"Bearer ${{{of.bearer_token_env_var}}}"
        headers |= filled(tokens, "headers")
        note_headers(headers)
        address = _filled(of.url, workspace, f"{where}: url")
        check_address(address, f"{where}: url")
        return Server(address, Access(headers=headers), name)
    if not isinstance(command, str):
        raise SgdxError(f"{where}: command: found {type(command).__name__}, expected text")
    variables = filled({**{name: f"${{{name}}}" for name in of.env_vars}, **env}, "env")
    note_variables(variables)
    words = [_filled(word, workspace, f"{where}: args") for word in (command, *args)]
    folder = workspace / _filled(of.cwd, workspace, f"{where}: cwd")
    return Server(shlex.join(words), Access(variables, cwd=folder), name)


def _filled(text: str, workspace: Path, where: str) -> str:
    """A text with the environment's values in place of variables, which are noted as keys.

    What a client asks its user for, as ``${input:api-key}``, is the variable ``API_KEY``.
    """

    def value(found: re.Match[str]) -> str:
        kind, name, default, plain = found.groups()
        name = name or plain
        if kind == "input":
            name = re.sub(r"\W", "_", name).upper()
        known = os.environ.get(name) or default
        if known is None:
            raise SgdxError(f"{where}: found no {name} in the environment")
        if known != default:
            note_words(known)
        return known

    places = {"workspaceFolder": str(workspace), "userHome": str(Path.home())}
    return _VARIABLE.sub(value, _PLACES.sub(lambda found: places[found[1]], text))
