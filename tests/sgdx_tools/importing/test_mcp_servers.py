"""Live MCP servers in processes: one by the SDK, one by hand that pages, and bad ones."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.data import Json
from sgdx_tools.folder import read_project
from sgdx_tools.importing import mcp_servers
from sgdx_tools.importing.mcp_servers import Access, Server, import_servers, started

from ...sgdx_llm.server import StandIn, failing, serving
from ..conftest import Capture, command

PYTHON = shlex.quote(sys.executable)
BY_SDK = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("kitchen", version="1.2")

@server.tool()
def book_table(city: str, guests: int = 2) -> str:
    "Book a table."
    return city

@server.tool(title="The time")
def now() -> str:
    "Tell the time."
    return ""

server.run()
"""
# Speaks the older protocol, gives a tool a page, and does as its argument says.
BY_HAND = """
import json, os, sys, time

mode = sys.argv[1]
if mode == "silent":
    sys.exit(3)
print("debug: starting", os.environ.get("TOKEN"), file=sys.stderr)
if mode == "locked" and os.environ.get("TOKEN") != "Bearer sk-secret":
    sys.exit(3)
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    params, answer = request.get("params") or {}, {}
    if request["method"] == "initialize":
        if mode == "noisy":
            print("listening", flush=True)
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                            "serverInfo": {"name": "by hand", "version": "0.1"}}
    elif request["method"] == "tools/list":
        page = int(params.get("cursor") or 0)
        tool = {"name": f"tool{page}", "description": f"Page {page}",
                "annotations": {"title": str(page)},
                "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
        answer["result"] = {"tools": [tool]}
        if mode == "endless":
            answer["result"]["nextCursor"] = "0"
        elif page < 2:
            answer["result"]["nextCursor"] = str(page + 1)
        if mode == "broken":
            answer["result"] = {"tools": [{"name": 5}]}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    said = json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer})
    if mode == "twice":
        said = said.replace('"a": {', '"a": {"type": "integer"}, "a": {')
    print(said, flush=True)
"""
TODAY = datetime.now(UTC).date().isoformat()


@pytest.fixture
def by_hand(tmp_path: Path) -> str:
    (tmp_path / "by_hand.py").write_text(BY_HAND)
    return f"{PYTHON} {tmp_path / 'by_hand.py'}"


def test_a_server_by_the_sdk_over_stdio_makes_a_folder(tmp_path: Path) -> None:
    (tmp_path / "by_sdk.py").write_text(BY_SDK)
    output = tmp_path / "api"
    server = f"{PYTHON} {tmp_path / 'by_sdk.py'}"
    assert command("import", server, "--output", output) == 0
    project = read_project(output)
    book, source = project.tools["book_table"], project.source
    assert (list(project.tools), book.description) == (["book_table", "now"], "Book a table.")
    assert list(book.parameters["properties"]) == ["city", "guests"]
    facts = {"name": "kitchen", "version": "1.2", "protocol": "2026-07-28", "date": TODAY}
    assert (source.form, source.servers) == ("mcp", (facts,))
    assert source.beside["tool now"]["title"] == "The time"
    assert str(tmp_path) not in (output / "source.json").read_text()


def test_all_pages_of_a_server_of_the_older_protocol_are_read(by_hand: str) -> None:
    collection = import_servers([Server(f"{by_hand} older")])
    descriptions = {name: tool.description for name, tool in collection.tools.items()}
    assert descriptions == {"tool0": "Page 0", "tool1": "Page 1", "tool2": "Page 2"}
    assert collection.beside["tool tool2"] == {"annotations": {"title": "2"}}
    facts = {"name": "by hand", "version": "0.1", "protocol": "2025-06-18", "date": TODAY}
    assert collection.servers == [facts]


@pytest.mark.parametrize(
    "server",
    [
        *("BY_HAND silent", "BY_HAND endless", "BY_HAND broken", "cat"),
        "BY_HAND twice",
    ],
)
def test_a_bad_server_is_one_line(server: str, by_hand: str, tmp_path: Path) -> None:
    line = server.replace("BY_HAND", by_hand)
    with pytest.raises(SgdxError) as error:
        import_servers([Server(f"{line} --key=sk-secret")])
    assert server.split()[0].replace("BY_HAND", PYTHON) in str(error.value) and "\n" not in str(
        error.value
    )
    assert "sk-secret" not in str(error.value)
    assert "broken" not in server or "tools.0.inputSchema: " in str(error.value)
    assert "twice" not in server or "twice: a, a" in str(error.value)


def test_what_a_server_prints_beside_messages_is_one_line(by_hand: str, capfd: Capture) -> None:
    """Neither the SDK's traceback nor what the server says on standard error is shown."""
    assert len(import_servers([Server(f"{by_hand} noisy")]).tools) == 3
    asking, noise = capfd.readouterr().err.splitlines()
    assert "asking" in asking and "1 times" in noise


def test_what_a_started_server_says_as_it_dies_is_told_without_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_TOKEN", "sk-secret")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    command = f"{PYTHON} -c 'import os, sys; sys.exit(os.environ[\"TOKEN\"])'"
    access = Access.of({"TOKEN": "${MY_TOKEN}"}, {}, [address, command])
    with pytest.raises(SgdxError) as error, started(command, [address], access):
        pass
    assert "[key]" in str(error.value) and "secret" not in str(error.value)


def test_an_address_gets_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "sk-secret\n")
    with serving(StandIn(faults=[failing(401)] * 9)) as server:
        address = f"{server.url}/sse"
        access = Access.of({}, {"Authorization": "Bearer ${MY_TOKEN}"}, [address])
        with pytest.raises(SgdxError, match="401"):
            import_servers([Server(address, access)])
    assert server.keys == {"Bearer sk-secret"}


@dataclass
class OverHttp(StandIn):
    """A server of the older protocol that answers in JSON, and gives a tool a page."""

    text: str = "x"  # in each tool
    pages: int = 3
    moves_to: str = ""  # another address, to which it redirects
    events: bool = False  # whether its answers are events

    def reply(self, body: Json, key: str) -> tuple[int, dict[str, str], bytes]:
        self.bodies.append(body)
        if self.moves_to:
            return 307, {"Location": self.moves_to}, b""
        page = int((body.get("params") or {}).get("cursor") or 0)
        result: Json = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        result |= {"serverInfo": {"name": "over http", "version": "1"}}
        if body["method"] == "tools/list":
            time.sleep(self.delay)
            tool = {"name": f"tool{page}", "description": self.text, "inputSchema": {}}
            result = {"tools": [tool | {"inputSchema": {"type": "object"}}]}
            result |= {"nextCursor": str(page + 1)} if page + 1 < self.pages else {}
        elif body["method"] != "initialize":
            error = {"code": -32601, "message": "Method not found"}
            return (
                200,
                {},
                json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "error": error}).encode(),
            )
        said = json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "result": result})
        said = said.replace('"TWICE"', '"a", "description": "b"')
        if self.events:
            return 200, {"Content-Type": "text/event-stream"}, f"data: {said}\n\n".encode()
        return 200, {}, said.encode()


def test_a_list_over_http_has_an_end_and_so_many_bytes_and_seconds(
    monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """Of all pages together; each alone is small and fast."""
    with serving(OverHttp()) as server:
        assert list(import_servers([Server(f"{server.url}/mcp")]).tools) == [
            "tool0",
            "tool1",
            "tool2",
        ]
    monkeypatch.setattr(mcp_servers, "_MOST_BYTES", 20_000)
    with serving(OverHttp(text="x" * 5000, pages=9)) as server, pytest.raises(SgdxError) as error:
        import_servers([Server(f"{server.url}/mcp")])
    assert "20000 bytes" in str(error.value) and len(server.bodies) < 9
    monkeypatch.setattr(mcp_servers, "_MOST_PAGES", 5)
    with serving(OverHttp(pages=9)) as server, pytest.raises(SgdxError) as error:
        import_servers([Server(f"{server.url}/mcp")])
    assert "5 pages" in str(error.value)
    monkeypatch.setattr(mcp_servers, "_MOST_PAGES", 1000)
    monkeypatch.setattr(mcp_servers, "_MOST_SECONDS", 1.5)
    monkeypatch.setattr("sgdx_dataset.io.progress.PROGRESS_SECONDS", 0.2)
    slow = OverHttp(pages=1000, delay=0.1)
    with serving(slow) as server, pytest.raises(SgdxError) as error:
        import_servers([Server(f"{server.url}/mcp")])
    assert "1.5 seconds" in str(error.value) and "tools on" in capfd.readouterr().err


@pytest.mark.parametrize("events", [False, True])
def test_a_key_twice_in_a_list_over_http_is_refused(events: bool) -> None:
    with serving(OverHttp(events=events)) as server:
        assert len(import_servers([Server(f"{server.url}/mcp")]).tools) == 3
    with serving(OverHttp(text="TWICE", events=events)) as server, pytest.raises(SgdxError) as no:
        import_servers([Server(f"{server.url}/mcp")])
    assert "'description' twice" in str(no.value)


def test_a_list_is_asked_of_no_other_server() -> None:
    with serving(OverHttp()) as other, serving(OverHttp(moves_to=f"{other.url}/mcp")) as server:
        assert command("check", f"{server.url}/mcp") == 2
    assert other.bodies == []


@pytest.mark.posix
def test_a_program_may_print_so_many_bytes(
    by_hand: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line without an end too."""
    monkeypatch.setattr(mcp_servers, "_MOST_BYTES", 100_000)
    assert len(import_servers([Server(f"{by_hand} older")]).tools) == 3
    (tmp_path / "endless.py").write_text("import sys\nwhile True: sys.stdout.write('x' * 65536)")
    with pytest.raises(SgdxError) as error:
        import_servers([Server(f"{PYTHON} {tmp_path / 'endless.py'}")])
    assert "100000 bytes" in str(error.value)


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "--header"), (403, "--header"), (404, "/mcp"), (500, "error")]
)
def test_the_status_of_a_refusal_is_said(status: int, hint: str) -> None:
    failed = pytest.raises(SgdxError, match=f"status {status}.*{hint}")
    with serving(StandIn(faults=[failing(status)] * 9)) as server, failed:
        import_servers([Server(f"{server.url}/sse")])


def test_only_takes_tools_by_their_shown_names(by_hand: str) -> None:
    older = f"{by_hand} older"
    assert list(import_servers([Server(older)], ["tool[12]"]).tools) == ["tool1", "tool2"]
    collection = import_servers([Server(older), Server(older)], ["by_hand_2__*0"])
    assert list(collection.tools) == ["by_hand_2__tool0"]
    assert list(collection.beside) == ["tool by_hand_2__tool0"]
    with pytest.raises(SgdxError, match="'other'"):
        import_servers([Server(older)], ["tool1", "other"])
