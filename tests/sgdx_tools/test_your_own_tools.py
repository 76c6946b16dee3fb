"""The page about one's own tools: every file is written and every command run as it stands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from sgdx_cli import main as sgdx

from ..conftest import ROOT
from ..sgdx_llm.server import Json, StandIn, call_completion, completion, serving

PAGE = (ROOT / "docs" / "your-own-tools.md").read_text()
GIT, BASH = shutil.which("git") or "git", shutil.which("bash") or "bash"
SERVER = "http://localhost:8000/v1"


def sections(*titles: str) -> list[tuple[str, str, str]]:
    """The blocks of some sections, or of all: the file's name, the language and the content."""
    text = PAGE
    if titles:
        pattern = r"^## {}$(.*?)(?=^## |\Z)"
        text = "\n".join(re.findall(pattern.format(t), PAGE, re.S | re.M)[0] for t in titles)
    blocks = re.findall(r"(?:Write `([^`]+)`:\n\n)?```(\w+)\n(.*?)```", text, re.S)
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


WALKED = (
    *("The tools", "The cases", "Other words", "The calls", "The verdict"),
    "One file, one command",
)


def test_from_tools_to_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(StandIn(answer=model)) as server:
        for name, language, content in sections(*WALKED):
            if name:
                content = content.replace("python assistant", f"{sys.executable} assistant")
                Path(name).write_text(content.replace(SERVER, server.url))
            elif language == "bash":
                for line in content.splitlines():
                    assert run_line(line, server.url) == 0, line
    out = capsys.readouterr().out
    scores = json.loads(Path("runs/program/scores.json").read_text())
    assert scores["calls"]["call_accuracy"]["by_variant"]["original"] == 1.0
    assert scores["calls"]["call_accuracy"]["by_variant"]["ours"] == pytest.approx(1 / 3)
    assert "ours book_table: lost 4 of 4" in out
    assert "words of book_table: 'book_table' -> 'reserve'" in out
    assert "ours.book_table.date" in out
    assert "The words that did it" in Path("report/index.html").read_text()


def test_every_block_is_in_a_section_that_is_walked_here() -> None:
    walked = sections(*WALKED)
    rest = [block for block in sections() if block not in walked]
    assert [(name, language) for name, language, _ in rest] == [
        ("", "bash"),  # the demo, which test_commands.py runs
        (".github/workflows/tools.yml", "yaml"),
    ]


def workflow() -> Json:
    ((_, _, content),) = sections("A pull request that must not cost more than 3 points")
    # YAML 1.1 reads "on" as true.
    return {"on" if key is True else key: part for key, part in yaml.safe_load(content).items()}


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        pytest.param(
            lambda text: text.replace("City of the restaurant", "City where one eats").replace(
                '"properties": {', '"properties": {"note": {"type": "string"},', 1
            ),
            0,
            marks=pytest.mark.slow,
        ),
        (lambda text: text.replace('"city"', '"municipality"').replace("book_table", "reserve"), 1),
    ],
    ids=["harmless", "costly"],
)
def test_the_workflow_fails_a_pull_request_that_costs_too_much(
    folder: Path, edit: Callable[[str], str], status: int
) -> None:
    """Its own shell lines, run as the runner does, on a repository with a main branch."""

    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        subprocess.run([GIT, *identity, *words], check=True, capture_output=True)

    for name, _, content in sections("The tools", "The cases"):
        if name:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(content)
            if name == "openai_tools.json":
                assert sgdx(["tools", "import", "--openai", name, "--output", "my_api"]) == 0
    git("init", "-q", "-b", "main")
    git("add", "my_api")
    git("commit", "-q", "-m", "Tools")
    git("branch", "release")
    tools_file = Path("my_api/tools.json")
    tools_file.write_text(edit(tools_file.read_text()))
    steps = workflow()["jobs"]["rewording"]["steps"]
    (script,) = [step["run"] for step in steps if "BASE" in step.get("env", {})]
    script = script.replace("sgdx tools", f"{shlex.quote(sys.executable)} -m sgdx_cli tools")
    with serving(StandIn(answer=model)) as server:
        environment = {**os.environ, "BASE": "release", "OPENAI_BASE_URL": server.url}
        environment["PYTHONPATH"] = str(ROOT)
        done = subprocess.run(
            [BASH, "-e", "-c", script], env=environment, capture_output=True, text=True
        )
    assert done.returncode == status, done.stdout + done.stderr
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("FAILED" if status else "passed"), verdict


def test_the_workflow_is_one_that_github_reads() -> None:
    """Its shape: triggers, permissions, jobs with steps that use actions or run lines."""
    parsed = workflow()
    assert parsed["on"] == {"pull_request": {"paths": ["my_api/tools.json"]}}
    assert parsed["permissions"] == {"contents": "read"}
    for step in parsed["jobs"]["rewording"]["steps"]:
        assert ("uses" in step) != ("run" in step)
