"""What the tests of tools share: a small folder of tools, and predictions for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.data import Case, ExpectedCall, Json, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import write_project

from ..conftest import read_lines as read_lines


def objects(required: list[str] | None = None, /, **names: Any) -> Json:
    """The schema of an object with these properties, of which some are required."""
    needed = {} if required is None else {"required": required}
    return {"type": "object", "properties": names, **needed}


BOOK = objects(
    ["people"],
    people={"type": "integer", "description": "How many come"},
    place=objects(city={"type": "string", "description": "City"}),
)
WEATHER = objects(city={"type": "string"})
TOOLS = (
    Tool("book", "Book a table", BOOK),
    Tool("weather", "Tell the weather", WEATHER),
    Tool("ping"),
)
V1 = Variant(
    "v1",
    {
        "book": ToolWords(
            "reserve",
            "Reserve a table",
            {"people": Words("guests", "How many guests"), "place.city": Words("town")},
        )
    },
    "model:m",
)
V2 = Variant("v2", {"weather": ToolWords(parameters={"city": Words("town")})})


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def call(name: str, **arguments: Any) -> list[Json]:
    return [{"name": name, "arguments": arguments}]


CASES = (
    Case(
        "a",
        (user("Four in Rome"),),
        (ExpectedCall("book", {"people": 4, "place": {"city": "Rome"}}),),
    ),
    Case("b", (user("Two"),), (ExpectedCall("book", {"people": 2}),)),
    Case("c", (user("Rain in Oslo?"),), (ExpectedCall("weather", {"city": "Oslo"}),), dialogue="d"),
    Case("d", (user("Thanks"),), None, dialogue="d"),
)
# The right calls by variant and case.
_BOOK = {"a": call("book", people=4, place={"city": "Rome"}), "b": call("book", people=2)}
_RESERVE = {"a": call("reserve", guests=4, place={"town": "Rome"}), "b": call("reserve", guests=2)}
RIGHT: dict[str, dict[str, list[Json]]] = {
    "original": {**_BOOK, "c": call("weather", city="Oslo"), "d": []},
    "v1": {**_RESERVE, "c": call("weather", city="Oslo"), "d": []},
    "v2": {**_BOOK, "c": call("weather", town="Oslo"), "d": []},
}

# A server of the Model Context Protocol, which starts in a tenth of the time of one by the SDK.
MCP_SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if request["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "kitchen", "version": "1.2"}}}
    elif request["method"] == "tools/list":
        answer = {"result": {"tools": TOOLS}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""
Rows = list[dict[str, Any]]
Capture = pytest.CaptureFixture[str]


def command(*words: object) -> int:
    """The status of ``sgdx tools`` with these words."""
    return main([str(word) for word in words])


def mcp_server(*tools: Json) -> str:
    """The text of a program that serves some tools, by default two."""
    city = objects(["city"], city={"type": "string"})
    book: Json = {"name": "book_table", "description": "Book a table.", "inputSchema": city}
    now: Json = {"name": "now", "title": "The time", "description": "Tell the time."}
    served = tools or (book, now | {"inputSchema": objects()})
    return MCP_SERVER.replace("TOOLS", repr([*served]))


def write_lines(path: Path, lines: Iterable[Any]) -> Path:
    """Write a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def write_files(folder: Path, files: Json) -> None:
    """Write files by their names, of texts or JSON; the text @NAME is a file beside the tests."""
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        if text[:1] == "@":
            text = (Path(__file__).parent / text[1:]).read_text()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def write_rows(run: Path, predictions: Rows) -> Path:
    """Write predictions as a folder of files."""
    for name in dict.fromkeys(row["variant"] for row in predictions):
        write_lines(run / f"{name}.jsonl", (row for row in predictions if row["variant"] == name))
    return run


def rows(changes: Iterable[tuple[str, str, list[Json]]] = ()) -> Rows:
    """Right predictions under all variants, but for some: variant, case and calls."""
    calls = {(name, case): made for name, cases in RIGHT.items() for case, made in cases.items()}
    calls |= {(name, case): made for name, case, made in changes}
    return [{"id": case, "variant": name, "calls": made} for (name, case), made in calls.items()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three tools, four cases and two variants."""
    write_project(tmp_path / "api", TOOLS, CASES, variants=[V1, V2])
    return tmp_path / "api"
