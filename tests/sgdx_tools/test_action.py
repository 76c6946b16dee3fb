"""The action: its own shell lines, run as the runner does, on a clone with a base branch."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from ..conftest import ROOT
from ..sgdx_llm.server import Json, StandIn, serving
from .test_your_own_tools import MCP_SERVER, first_lines, model, sections

pytestmark = pytest.mark.posix
GIT, BASH = shutil.which("git") or "git", shutil.which("bash") or "bash"
HARMLESS = ("City of the restaurant", "City where one eats")
COSTLY = ("city: Annotated", "municipality: Annotated")


class GitHub(ThreadingHTTPServer):
    """GitHub's comments of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Comments)
        self.comments: list[str] = ["Looks good to me."]
        self.is_fork = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Comments(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        assert self.path.split("?")[0] == "/repos/you/api/issues/7/comments"
        url = f"{self.server.url}/repos/you/api/issues/comments"
        listed = [{"url": f"{url}/{i}", "body": b} for i, b in enumerate(self.server.comments)]
        self._answer(200, listed)

    def do_POST(self) -> None:
        if self._may():
            self.server.comments.append(self._body())
            self._answer(201, {})

    def do_PATCH(self) -> None:
        if self._may():
            self.server.comments[int(self.path.rpartition("/")[2])] = self._body()
            self._answer(200, {})

    def _may(self) -> bool:
        assert self.headers["Authorization"] == "Bearer t"
        if self.server.is_fork:
            self._answer(403, {"message": "Resource not accessible by integration"})
        return not self.server.is_fork

    def _body(self) -> str:
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return str(body["body"])

    def _answer(self, status: int, content: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def git(*words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    done = subprocess.run([GIT, *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as GitHub has it: tools of a server, its cases, and the file of the test."""
    origin = tmp_path / "origin"
    (origin / "api").mkdir(parents=True)
    monkeypatch.chdir(origin)
    file, _ = first_lines()
    files = {name: content for name, _, content in sections("The cases") if name}
    server = f"{shlex.quote(sys.executable)} server.py"
    files |= {"sgdx.yaml": file.replace("npx my-server", server), "server.py": MCP_SERVER}
    for name, content in files.items():
        (origin / "api" / name).write_text(content)
    git("init", "-q", "-b", "main")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    git("add", ".")
    git("commit", "-q", "-m", "Tools")
    return origin


class Runner:
    """Runs the action's steps in a checkout, as GitHub's runner does."""

    def __init__(self, temp: Path, github: GitHub, models: StandIn) -> None:
        self.temp, self.github, self.models = temp, github, models
        (temp / "sgdx" / "bin").mkdir(parents=True)
        for name, line in {"sgdx": "-m sgdx_cli", "python": ""}.items():
            program = temp / "sgdx" / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {line} "$@"\n')
            program.chmod(0o755)

    def __call__(self, checkout: Path, base: str) -> tuple[int, str]:
        """The status of the job, and what its steps printed."""
        values = {
            "inputs.folder": "api",
            "inputs.prepare": "echo prepared > prepared.txt",
            "inputs.token": "t",
            "github.event.pull_request.base.sha": base,
            "github.event.pull_request.number": "7",
        }
        environment = {
            **os.environ,
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_REPOSITORY": "you/api",
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "OPENAI_BASE_URL": self.models.url,
            "OPENAI_API_KEY": "sk-of-nobody",
            "PYTHONPATH": str(ROOT),
        }
        status, printed = 0, ""
        for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]:
            condition = step.get("if", "success()")
            if step.get("name") not in ("Test", "Comment") or (
                status and "always" not in condition
            ):
                continue
            if "pull_request" in condition and not base:
                continue
            own = {
                name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], value)
                for name, value in step["env"].items()
            }
            done = subprocess.run(
                [BASH, "-eo", "pipefail", "-c", step["run"]],
                cwd=checkout,
                env=environment | own,
                capture_output=True,
                text=True,
            )
            status, printed = status or done.returncode, printed + done.stdout + done.stderr
        return status, printed


@pytest.fixture
def run(tmp_path: Path, repository: Path, github: GitHub) -> Iterator[Runner]:
    with serving(StandIn(answer=model)) as server:
        yaml_file = repository / "api" / "sgdx.yaml"
        yaml_file.write_text(yaml_file.read_text().replace("http://localhost:8000/v1", server.url))
        git("commit", "-q", "-a", "-m", "Address")
        yield Runner(tmp_path / "temp", github, server)


def pull_request(origin: Path, place: Path, *edits: tuple[str, str]) -> tuple[Path, str]:
    """A checkout of a pull request that edits the server, and the commit that it is based on."""
    base = git("rev-parse", "main")
    git("checkout", "-q", "-b", place.name)
    server = origin / "api" / "server.py"
    for old, new in edits:
        assert old in server.read_text()
        server.write_text(server.read_text().replace(old, new))
    git("commit", "-q", "-a", "-m", "Other words")
    git("clone", "-q", "--depth", "1", "-b", place.name, f"file://{origin}", str(place))
    git("checkout", "-q", "main")
    return place, base


def test_pull_requests_are_judged_and_told_in_one_comment(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    checkout, base = pull_request(repository, tmp_path / "harmless", HARMLESS)
    status, printed = run(checkout, base)
    assert status == 0, printed
    assert "your-model: passed" in printed
    assert (checkout / "api" / "prepared.txt").exists()
    assert len(github.comments) == 2 and "passed" in github.comments[1]
    assert "<testsuites" in (checkout / "api" / "sgdx-run" / "junit.xml").read_text()
    git("-C", str(checkout), "worktree", "remove", "--force", str(tmp_path / "temp/sgdx-base"))
    asked = len(run.models.bodies)
    assert asked == 2 * 7

    checkout, base = pull_request(repository, tmp_path / "costly", COSTLY)
    kept = tmp_path / "harmless" / "api" / "sgdx-run"  # as the cache gives it back
    shutil.copytree(kept, checkout / "api" / "sgdx-run")
    status, printed = run(checkout, base)
    assert status == 1, printed
    assert "your-model: failed: other words cost 100.00 points" in printed
    assert len(run.models.bodies) == asked + 7
    first, comment = github.comments
    assert first == "Looks good to me." and "failed" in comment
    assert "book_table city" in comment and "municipality" in comment
    assert comment.split("\n", 1)[1] in (tmp_path / "temp" / "summary.md").read_text()


def test_without_a_base_the_words_of_the_file_are_tested(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    checkout = tmp_path / "main"
    git("clone", "-q", "--depth", "1", f"file://{repository}", str(checkout))
    status, printed = run(checkout, "")
    assert status == 1 and "your-model: failed" in printed
    assert github.comments == ["Looks good to me."]


def test_a_fork_may_not_comment_and_is_judged_all_the_same(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    github.is_fork = True
    checkout, base = pull_request(repository, tmp_path / "fork", HARMLESS)
    status, printed = run(checkout, base)
    assert status == 0 and "::warning::" in printed and "403" in printed


def test_the_workflow_of_the_page_uses_the_action() -> None:
    ((_, _, content),) = sections("A pull request")
    workflow = yaml.safe_load(content)
    (action,) = (step for step in workflow["jobs"]["tools"]["steps"] if "sgdx" in step["uses"])
    known = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(action["with"]) <= set(known)
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
