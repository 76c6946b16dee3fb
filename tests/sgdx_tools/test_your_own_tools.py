"""The page about one's own tools: every file is written and every command run as it stands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from sgdx_cli import main as sgdx
from sgdx_eval.result import read_result

from ..conftest import ROOT
from ..sgdx_llm.server import Json, StandIn, call_completion, completion, serving
from .conftest import Capture, mcp_server, objects

PAGE = (ROOT / "docs" / "your-own-tools.md").read_text()
SERVER = "http://localhost:8000/v1"


def sections(*titles: str) -> list[tuple[str, str, str]]:
    """The blocks of some sections, or of all: the file's name, the language and the content."""
    text = PAGE
    if titles:
        pattern = r"^## {}$(.*?)(?=^## |\Z)"
        text = "\n".join(re.findall(pattern.format(t), PAGE, re.S | re.M)[0] for t in titles)
    blocks = re.findall(r"(?:Write `([^`]+)`:\n\n)?```(\w*)\n(.*?)```", text, re.S)
    assert blocks
    return blocks


def run_line(line: str, url: str) -> int:
    line = line.replace("python assistant", f"{sys.executable} assistant").replace(SERVER, url)
    name, *words = shlex.split(line)
    assert name == "sgdx", line
    return sgdx(words)


def model(body: Json) -> Json:
    """A model that rewords by adding letters, and calls the first tool for a table."""
    if body["tools"][0]["function"]["name"] == "reword":
        seed, elements = body["seed"], json.loads(body["messages"][1]["content"])
        words = [
            {**e, "name": f"{e.get('name')}_{seed}", "description": f"{e.get('description')}!"}
            for e in elements
        ]
        return call_completion("reword", json.dumps({"elements": words}))
    text = body["messages"][-1]["content"]
    values = {"city": re.search(r" in (\w+)", text), "date": re.search(r" on ([\d-]+)", text)}
    for word, tool in zip(("table", "weather"), body["tools"]):
        if word in text:
            properties = tool["function"]["parameters"]["properties"]
            found = {name: values[name] for name in values if name in properties}
            arguments = {name: match[1] for name, match in found.items() if match}
            return call_completion(tool["function"]["name"], json.dumps(arguments))
    return completion({"role": "assistant", "content": "You are welcome."}, "stop")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    return tmp_path


WALKED = ("The cases", "The words", "The models", "Step by step")
# The server of the page's first lines.
NPX = "npx my-server"
CITY, DATE = {"type": "string", "description": "City of the restaurant"}, {"type": "string"}
OF_WEATHER = CITY | {"description": "City to get the forecast of"}
MCP_SERVER = mcp_server(
    {
        "name": "book_table",
        "description": "Book a table at a restaurant",
        "inputSchema": objects(
            ["city"], city=CITY, date=DATE | {"description": "Date of the meal"}
        ),
    },
    {
        "name": "get_weather",
        "description": "Get the weather forecast of a city",
        "inputSchema": objects(["city"], city=OF_WEATHER),
    },
)


def write(name: str, content: str, url: str) -> None:
    content = content.replace("python assistant", f"{sys.executable} assistant")
    content = content.replace(NPX, f"{sys.executable} server.py").replace(SERVER, url)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content)


def first_lines() -> tuple[str, str]:
    """The file and the command that the page begins with."""
    (name, _, file), (_, _, command) = sections()[:2]
    assert name == "sgdx.yaml" and PAGE.index(command) < 500
    return file, command.strip()


def test_from_the_server_to_a_verdict(folder: Path, capfd: Capture) -> None:
    file, command = first_lines()
    with serving(StandIn(answer=model)) as server:
        write("server.py", MCP_SERVER, server.url)
        write("sgdx.yaml", file, server.url)
        for name, _, content in sections("The cases"):
            write(name, content, server.url)
        assert run_line(command, server.url) == 1
        failed, line = capfd.readouterr().out.splitlines()[-2:]
        assert failed.startswith("your-model: failed: other words cost 85.71 points")
        assert line.startswith("sgdx: your-model: 100.00 ") and "all 14.29" in line
        Path("ours.json").write_text('{"book_table": {"description": "Reserve a table"}}')
        file = file.replace("{model: your-model, count: 2}", "{file: ours.json}")
        write("sgdx.yaml", file, server.url)
        assert run_line(command, server.url) == 0
    assert Path("sgdx-run/report.html").stat().st_size > 10_000


def test_the_verdict_of_the_page(folder: Path, capsys: Capture) -> None:
    """It ends as the page says it ends, letter for letter."""
    for name, _, content in sections("The cases", "The words", "The models", "Step by step"):
        if name:
            write(name, content, SERVER)
    (_, _, file), (_, _, said) = sections("The verdict")
    write("program.yaml", file, SERVER)
    assert sgdx(["tools", "test", "program.yaml"]) == 0
    assert capsys.readouterr().out.endswith(said)


def test_parts_steps_and_crowds_of_the_page(folder: Path, capsys: Capture) -> None:
    titles = ("What each part earns", "Several steps", "A noise floor and a crowd")
    for name, _, content in sections("The cases", "The models", "Step by step", *titles):
        if name:
            write(name, content.replace("python asks", f"{sys.executable} asks"), SERVER)
    (said,) = [content for name, language, content in sections(*titles) if not name + language]
    for file, shown in [("parts", "0 of 5"), ("steps", said), ("crowd", "book_table takes")]:
        assert sgdx(["tools", "test", f"{file}.yaml"]) == 0
        assert sgdx(["tools", "score", f"{file}.yaml"]) == 0
        assert shown in capsys.readouterr().out


def test_step_by_step(folder: Path, capsys: Capture) -> None:
    with serving(StandIn(answer=model)) as server:
        for name, language, content in sections(*WALKED):
            if name:
                write(name, content, server.url)
            elif language == "bash":
                for line in content.splitlines():
                    if line.startswith("cp "):
                        shutil.copyfile(*line.split()[1:])
                    else:
                        assert run_line(line, server.url) == 0, line
    out = capsys.readouterr().out
    scores = read_result(Path("runs/program")).result
    assert scores["call_orig"] == 1.0 and scores["call_ours"] == pytest.approx(1 / 3)
    assert "ours book_table: lost 4 of 4" in out
    assert "words of book_table: 'book_table' -> 'reserve'" in out
    assert "ours.book_table.date" in out
    assert Path("report.html").exists()


def test_every_block_is_in_a_section_that_is_walked_here() -> None:
    walked = sections(*WALKED)
    rest = [block[:2] for block in sections() if block not in walked]
    assert rest == [
        ("sgdx.yaml", "yaml"),
        ("", "bash"),
        ("", ""),  # what a model of 100 cases may give
        ("program.yaml", "yaml"),
        ("", ""),  # what it says
        ("", "bash"),  # search, whose tests run it
        ("parts.yaml", "yaml"),
        ("dry.jsonl", "json"),
        ("asks.py", "python"),
        ("steps.yaml", "yaml"),
        ("", ""),  # what it says
        ("crowd.yaml", "yaml"),
        ("", "bash"),  # improve, whose tests run it
        (".github/workflows/tools.yml", "yaml"),
    ]
