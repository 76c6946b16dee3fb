"""Skills: what is read of SKILL.md, the one tool that shows them, and whose calls count."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.__main__ import main
from sgdx_tools.asking import ToolPlan
from sgdx_tools.folder import read_project
from sgdx_tools.importing.skills import import_skills
from sgdx_tools.options import AskOptions
from sgdx_tools.project import load_tools
from sgdx_tools.scoring import score

from ...conftest import ROOT
from ..conftest import Capture, call, command, read_lines, user, write_lines

FORMS = "---\nname: pdf-forms\ndescription: Fills in forms\nlicense: MIT\n---\n# Forms\n"
TABLES = "\ufeff---\r\nname: tables\r\ndescription: >\r\n  Reads\r\n  tables\r\n---\r\n---\r\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in (("one", FORMS), ("two", TABLES)):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_bytes(text.encode())
    return tmp_path


def test_front_matter_is_read_and_the_rest_is_kept(place: Path) -> None:
    found = import_skills([f"{place}/skills/*/SKILL.md"])
    assert {name: tool.description for name, tool in found.tools.items()} == {
        "pdf-forms": "Fills in forms",
        "tables": "Reads tables",
    }
    assert found.beside == {"skill pdf-forms": {"license": "MIT"}}
    assert [*found.files] == ["one/SKILL.md", "two/SKILL.md"]
    assert [*import_skills([f"{place}/skills/*/SKILL.md"], only=["pdf*"]).tools] == ["pdf-forms"]


@pytest.mark.parametrize("row", read_lines(Path(__file__).with_name("no_skills.jsonl")))
def test_what_is_no_skill_is_left_out_by_name(place: Path, row: Any, capsys: Capture) -> None:
    """One faulty file of a repository keeps nobody from the others."""
    content = row["text"].encode("utf-8", "surrogateescape")
    (place / "skills" / "two" / "SKILL.md").write_bytes(content)
    pattern, api = f"{place}/skills/**/SKILL.md", place / "api"
    assert command("import", pattern, "--output", api) == 0
    assert [*read_project(api).tools] == ["pdf-forms"]
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "left out" in line)
    assert "two/SKILL.md" in line and row["said"] in line
    assert command("check", place / "skills") == 0
    for name in ("one", "two"):
        (place / "skills" / name / "SKILL.md").write_bytes(b"")
    for bad in (pattern, f"{place}/none/*"):
        with pytest.raises(SgdxError):
            import_skills([bad])


def test_what_programs_alone_read_of_front_matter_may_be_anything(place: Path) -> None:
    text = FORMS.replace("license: MIT", "date: 2026-11-27\nversion: 1.10\non: yes")
    (place / "skills" / "one" / "SKILL.md").write_text(text)
    found = import_skills([f"{place}/skills/one/SKILL.md"]).beside["skill pdf-forms"]
    assert found == {"date": "2026-11-27", "version": "1.1", "on": "yes"}


def test_what_clients_do_with_other_front_matter(place: Path) -> None:
    """The folder's name, the first paragraph, and when a skill is to be used."""
    front = "---\nwhen_to_use: When it rains\n---\n# Boats\n\nRows\na boat.\n\nMore.\n"
    (place / "skills" / "two" / "SKILL.md").write_text(front)
    found = import_skills([f"{place}/skills/two/SKILL.md"])
    assert {name: tool.description for name, tool in found.tools.items()} == {
        "two": "Rows a boat. - When it rains"
    }


def test_a_log_of_skills_has_their_calls(place: Path) -> None:
    api = place / "api"
    assert command("import", f"{place}/skills/*/SKILL.md", "--output", api) == 0
    records = []
    for i, values in enumerate(({"skill": "tables"}, {"command": "tables", "args": "x"})):
        part = {"type": "tool_use", "id": "s", "name": "Skill", "input": values}
        result = {"type": "tool_result", "tool_use_id": "s", "content": "Read."}
        said = {"role": "assistant", "content": [part]}
        messages = [user(f"Sum {i}"), said, {"role": "user", "content": [result]}, user("Again")]
        records.append({"request": {"messages": messages}, "response": said})
    assert command("cases", api, "--from", write_lines(place / "log.jsonl", records)) == 0
    for case in read_project(api).cases:
        assert [call.name for call in case.expect or ()] == ["tables"]
        assert case.messages[1]["tool_calls"][0]["function"] == {
            "name": "tables", "arguments": "{}"
        }  # fmt: skip
    (request, _) = ToolPlan(read_project(api), AskOptions(command="x")).requests()
    (shown,) = request.body["messages"][1]["tool_calls"]
    assert shown["function"] == {"name": "Skill", "arguments": '{"skill": "tables"}'}


def test_a_client_is_shown_one_tool_of_all_skills(place: Path) -> None:
    """And calls of a skill count however they are written."""
    folder, patterns = place / "api", (f"{place}/skills/*/SKILL.md",)
    cases = [
        {"id": "a", "messages": [user("Sign")], "expect": call("pdf-forms")},
        {"id": "b", "messages": [user("Sum up")], "expect": call("tables")},
        {"id": "c", "messages": [user("A joke")], "expect": None},
    ]
    for words in ((), ("--as-tools",)):
        assert command("import", *patterns, *words, "--output", folder / str(len(words))) == 0
        write_lines(folder / str(len(words)) / "cases.jsonl", cases)
    project = read_project(folder / "0")
    request = next(iter(ToolPlan(project, AskOptions(command="x")).requests()))
    (tool,) = request.shown["case"]["tools"]
    assert request.body["tools"][0]["function"] == tool and tool["name"] == "Skill"
    assert tool["parameters"]["properties"]["skill"]["enum"] == ["pdf-forms", "tables"]
    assert tool["description"].splitlines()[1:] == [
        "- pdf-forms: Fills in forms",
        "- tables: Reads tables",
    ]
    project = read_project(folder / "1")
    for calls, right in (
        ([call("Skill", skill="pdf-forms", args="sign"), call("tables", file="x"), []], 1),
        ([call("Skill", skill="tables"), [{"name": "Skill", "arguments": "tables"}], []], 1 / 3),
    ):
        rows = [{"id": i, "variant": "original", "calls": made} for i, made in zip("abc", calls)]
        assert score(project, rows)["right_orig"] == pytest.approx(right)


def test_the_page_begins_with_commands_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The sample says what the page says, letter for letter."""
    page = (ROOT / "docs" / "skills.md").read_text()
    commands, said, *_ = re.findall(r"```[a-z]*\n(.*?)```", page, re.S)
    monkeypatch.chdir(tmp_path)
    for line in commands.splitlines():
        if line.startswith("cd "):
            monkeypatch.chdir(line.removeprefix("cd "))
        else:
            words = line.removeprefix("sgdx tools ").split()
            assert main(words) == (1 if words == ["test"] else 0)  # as its search fails
    assert capsys.readouterr().out.endswith(said)
    assert command("search", "--json") == 1
    (verdict,) = json.loads(capsys.readouterr().out)
    assert (verdict["of"], verdict["verdict"]) == ("recall@1", "failed")
    project = load_tools(Path("sgdx.yaml"))
    assert len(project.tools) == 5 and len(project.cases) == 18
