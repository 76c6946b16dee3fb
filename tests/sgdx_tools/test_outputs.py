"""What is written never costs a file: what a test replaces in its folder, and what it leaves."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgdx_tools.folder import write_project

from .conftest import CASES, TOOLS, V1, command
from .test_testing import PINGS

YAML = """
tools: tools.json
cases: cases.jsonl
models: [{command: "PYTHON program.py"}]
variants: {file: v1.json}
gate: {max_drop: 3}
"""
RUN = "sgdx-run/runs/program"


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was tested, and files of its owner's."""
    place = tmp_path_factory.mktemp("tested") / "project"
    write_project(place / "api", TOOLS, CASES, variants=[V1])
    tools = [{"name": t.name, "parameters": t.parameters, "description": "x"} for t in TOOLS]
    (place / "tools.json").write_text(json.dumps(tools))
    shutil.copy(place / "api" / "cases.jsonl", place)
    (place / "v1.json").write_text('{"book": {"name": "reserve"}}')
    (place / "program.py").write_text(PINGS)
    (place / "sgdx.yaml").write_text(YAML.replace("PYTHON", sys.executable))
    for name in ("notes.md", "site/index.html", "empty/report.md"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("my own work")
    with contextlib.chdir(place):
        assert command("test") in (0, 2)
    return place


@pytest.fixture
def project(tested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which commands run."""
    shutil.copytree(tested, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def files(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("option", ["--junit", "--summary"])
@pytest.mark.parametrize("name", ["linked", f"{RUN}/v1.jsonl", "sgdx-run/report.html"])
def test_a_file_of_another_kind_is_not_written_over(project: Path, option: str, name: str) -> None:
    """Directly, and by a link; what else is refused stands in the table of refusals."""
    (project / "linked").symlink_to("notes.md")
    before = files(project)
    assert command("test", option, name) == 2
    assert files(project) == before


@pytest.fixture
def changed(project: Path) -> Iterator[dict[str, bytes]]:
    """Files of the owner's in the run folder; the words, and with them all else, are made anew."""
    owned = {"notes.txt": "x", "runs/program/mine.jsonl": "{}", "notes": "x"}
    for name, text in owned.items():
        (project / "sgdx-run" / name).write_text(text)
    (project / "v1.json").write_text('{"book": {"name": "keep"}}')
    before = {name: content for name, content in files(project).items() if "notes" in name}
    yield before | {f"sgdx-run/{name}": text.encode() for name, text in owned.items()}


def test_a_new_test_leaves_what_others_put_into_the_run_folder(
    project: Path, changed: dict[str, bytes]
) -> None:
    assert command("test", "--junit", "junit.xml") in (0, 2)
    after = files(project)
    assert {name: after.get(name) for name in changed} == changed
    assert b"keep" in after["sgdx-run/report.html"]


@pytest.mark.parametrize("name", ["report.html", f"{RUN[9:]}/v1.jsonl"])
def test_what_was_changed_in_the_run_folder_is_not_replaced(
    project: Path, changed: dict[str, bytes], name: str
) -> None:
    mine = project / "sgdx-run" / name
    mine.write_text(mine.read_text() + "\n")
    before = mine.read_bytes()
    assert command("test") == 2
    assert mine.read_bytes() == before


@pytest.mark.posix
def test_a_run_folder_is_no_link(project: Path, tmp_path: Path) -> None:
    (project / "sgdx-run").rename(tmp_path / "elsewhere")
    (project / "sgdx-run").symlink_to(tmp_path / "elsewhere")
    before = files(tmp_path / "elsewhere")
    assert command("test") == command("search") == 2
    assert files(tmp_path / "elsewhere") == before
    (project / "sgdx-run").unlink()
    (project / "sgdx-run").mkdir()
    (project / "sgdx-run" / ".sgdx-written").touch()
    (project / "sgdx-run" / "runs").symlink_to(tmp_path / "elsewhere" / "runs")
    assert command("test") == 2
    assert files(tmp_path / "elsewhere") == before


def test_a_test_that_dies_says_so_where_an_older_one_passed(project: Path) -> None:
    """Also while it runs, in case it is killed; what is not ours stays."""
    outputs = ("--junit", "junit.xml", "--summary", "summary.md")
    seen = 'import pathlib; pathlib.Path("seen").write_text(pathlib.Path("summary.md").read_text())'
    (project / "program.py").write_text(f"{seen}\n{PINGS}")
    (project / "v1.json").write_text('{"book": {"name": "keep"}}')
    assert command("test", *outputs) in (0, 2)
    assert "killed" in (project / "seen").read_text()
    assert "killed" not in (project / "summary.md").read_text()
    (project / "cases.jsonl").write_text("no case")
    assert command("test", *outputs) == 2
    for name in ("junit.xml", "summary.md"):
        assert "cases.jsonl:1" in (project / name).read_text()
    assert not (project / "sgdx-run" / "report.html").exists()
