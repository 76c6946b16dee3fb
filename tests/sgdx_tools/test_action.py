"""The action: its own shell lines, run as the runner does, on a clone with a base branch."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
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
    """GitHub's comments of one pull request: who wrote each, and its text."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Comments)
        self.comments = [("you", "Looks good to me.")]
        self.fault = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def own(self) -> list[str]:
        """What the action has written."""
        return [text for author, text in self.comments if author == "github-actions[bot]"]


class _Comments(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        assert self.path.split("?")[0] == "/repos/you/api/issues/7/comments"
        url = f"{self.server.url}/repos/you/api/issues/comments"
        listed: list[Json] = [
            {"url": f"{url}/{i}", "body": text, "user": {"login": author, "type": "User"}}
            for i, (author, text) in enumerate(self.server.comments)
        ]
        gone: Json = {"url": f"{url}/99", "body": None, "user": None}  # of a deleted account
        match self.server.fault:
            case "dropped":
                self.close_connection = True
            case "half":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b'[{"a')
            case "html":
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>ok")
            case "no list":
                self._answer(200, {"message": "ok"})
            case _:
                self._answer(200, [gone, *listed])

    def do_POST(self) -> None:
        if self._may():
            self.server.comments.append(("github-actions[bot]", self._body()))
            self._answer(201, {})

    def do_PATCH(self) -> None:
        if self._may():
            place = int(self.path.rpartition("/")[2])
            assert self.server.comments[place][0] == "github-actions[bot]"
            self.server.comments[place] = ("github-actions[bot]", self._body())
            self._answer(200, {})

    def _may(self) -> bool:
        assert self.headers["Authorization"] == "Bearer t"
        if self.server.fault == "forbidden":
            self._answer(403, {"message": "Resource not accessible by integration"})
        return self.server.fault != "forbidden"

    def _body(self) -> str:
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert len(body["body"]) <= 65536  # GitHub answers 422 otherwise
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

    def __call__(
        self,
        checkout: Path,
        base: str,
        folder: str = "api",
        prepare: str = "echo prepared > prepared.txt",
        fork: bool = False,
    ) -> tuple[int, str]:
        """The status of the job, and what its steps printed."""
        values = {
            "inputs.folder": folder,
            "inputs.prepare": prepare,
            "inputs.keys": "OPENAI_API_KEY=sk-of-nobody\nOTHER=a=b=\n",
            "github.token": "t",
            "github.event.pull_request.base.sha": base,
            "github.event.pull_request.number": "7",
            "steps.python.outputs.python-path": sys.executable,
            # What the expression of the first step says.
            "github.event.pull_request && github.event.pull_request.head.repo.full_name != "
            "github.repository": str(fork).lower(),
        }
        environment = {
            **{key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")},
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_OUTPUT": str(self.temp / "output"),
            "GITHUB_REPOSITORY": "you/api",
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "OPENAI_BASE_URL": self.models.url,
            "PYTHONPATH": str(ROOT),
        }
        status, printed = 0, ""
        for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]:
            condition = step.get("if", "")
            skipped = "begin.outputs.fork" in condition and fork
            skipped |= "pull_request'" in condition and not base
            skipped |= bool(status) and "always()" not in condition
            if skipped or "run" not in step or step["name"] == "Install":
                continue
            own = {
                name: re.sub(r"\$\{\{ (.+?) \}\}", lambda match: values.get(match[1], ""), value)
                for name, value in step.get("env", {}).items()
            }
            output = self.temp / "output"
            output.write_text("")
            done = subprocess.run(
                [BASH, "-eo", "pipefail", "-c", step["run"]],
                cwd=checkout,
                env=environment | own,
                capture_output=True,
                text=True,
            )
            for line in output.read_text().splitlines():
                name, _, value = line.partition("=")
                values[f"steps.{step['id']}.outputs.{name}"] = value
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
    github.comments.append(("mallory", "<!-- sgdx tools test: api -->\nquoted by a person"))
    status, printed = run(checkout, base)
    assert status == 0, printed
    assert "your-model: passed" in printed
    assert (checkout / "api" / "prepared.txt").exists()
    (comment,) = github.own
    assert "passed" in comment and github.comments[1][1].endswith("quoted by a person")
    assert "<testsuites" in (checkout / "api" / "sgdx-run" / "junit.xml").read_text()
    asked = len(run.models.bodies)
    assert asked == 2 * 7

    checkout, base = pull_request(repository, tmp_path / "costly", COSTLY)
    own = checkout / "api" / "sgdx.yaml"  # whose gate is not asked
    own.write_text(own.read_text().replace("max_drop: 3", "max_drop: 100"))
    status, printed = run(checkout, base, "./api/")  # the same folder
    assert status == 1, printed
    assert "your-model: failed: other words cost 85.71 points" in printed
    (comment,) = github.own
    assert "failed" in comment
    assert "`book_table city`" in comment and "municipality" in comment
    assert comment.split("\n", 1)[1] in (tmp_path / "temp" / "summary.md").read_text()

    status, printed = run(checkout, base, prepare="exit 3")  # a later push that dies
    assert status == 2 and "prepare failed" in printed
    (comment,) = github.own
    assert "Cannot tell" in comment and "municipality" not in comment


def test_without_a_base_the_words_of_the_file_are_tested(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    checkout = tmp_path / "main"
    git("clone", "-q", "--depth", "1", f"file://{repository}", str(checkout))
    status, printed = run(checkout, "")
    assert status == 1 and "your-model: failed" in printed
    assert not github.own


def test_a_fork_is_skipped_with_a_note(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    checkout, base = pull_request(repository, tmp_path / "fork", HARMLESS)
    status, printed = run(checkout, base, fork=True)
    assert status == 0 and printed.startswith("::notice::") and printed.count("\n") == 1
    assert not run.models.bodies and not github.own


@pytest.mark.parametrize("fault", ["dropped", "half", "html", "no list", "forbidden"])
def test_whatever_the_api_answers_the_verdict_stands(
    fault: str, tmp_path: Path, github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sgdx.md").write_text("passed")
    environment = {"RUNNER_TEMP": str(tmp_path), "FOLDER": ".", "NUMBER": "7", "TOKEN": "t"}
    environment |= {"GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": "you/api"}
    github.fault = fault
    done = subprocess.run(
        [sys.executable, str(ROOT / ".github/action/comment.py")],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and not done.stderr and not github.own
    assert done.stdout.startswith("::warning::") and done.stdout.count("\n") == 1
    github.fault = ""
    (tmp_path / "sgdx.md").write_text("failed\n" + "| a case | `why` |\n" * 5000)
    subprocess.run([sys.executable, str(ROOT / ".github/action/comment.py")],
                   env=os.environ | environment, check=True)  # fmt: skip
    (comment,) = github.own
    assert "failed" in comment and len(comment) < 65536


def test_two_uses_in_a_job_have_a_comment_each(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    shutil.copytree(repository / "api", repository / "svc" / "other")
    git("add", ".")
    git("commit", "-q", "-m", "Another")
    checkout, base = pull_request(repository, tmp_path / "both", COSTLY)
    assert [run(checkout, base, folder)[0] for folder in ("api", "svc/other/")] == [1, 0]
    assert [text.splitlines()[0] for text in github.own] == [
        "<!-- sgdx tools test: api -->",
        "<!-- sgdx tools test: svc/other -->",
    ]


def test_another_order_of_the_tools_is_shown_to_the_model(
    tmp_path: Path, repository: Path, run: Runner
) -> None:
    server = (repository / "api" / "server.py").read_text()
    head, first, second = server.split("@server.tool()\n")
    second, end = second.split("server.run()")
    reordered = "@server.tool()\n".join([head, second, first]) + "server.run()" + end
    checkout, base = pull_request(repository, tmp_path / "order", (server, reordered))
    status, printed = run(checkout, base)
    assert len(run.models.bodies) == 2 * 7
    assert status == 1, printed  # this model calls by the place of a tool


def test_committed_answers_are_refused(tmp_path: Path, repository: Path, run: Runner) -> None:
    for made_by in ("repository", "prepare"):
        checkout, base = pull_request(repository, tmp_path / made_by, HARMLESS)
        if made_by == "repository":
            (checkout / "api" / "sgdx-run").mkdir()
            (checkout / "api" / "sgdx-run" / "answers.jsonl").write_text("{}")
            git("-C", str(checkout), "add", "-f", ".")
        prepare = "mkdir sgdx-run" if made_by == "prepare" else "true"
        status, printed = run(checkout, base, prepare=prepare)
        assert status == 2 and "sgdx-run" in printed and not run.models.bodies


def test_the_key_is_seen_by_the_test_alone(tmp_path: Path, repository: Path, run: Runner) -> None:
    """Neither what prepares the server nor the server itself has it."""
    leak = f"import os; open({str(tmp_path / 'seen')!r}, 'a').write(str(dict(os.environ)))\n"
    first = "from typing import Annotated"
    checkout, base = pull_request(repository, tmp_path / "spy", (first, f"{first}\n{leak}"))
    status, printed = run(checkout, base, prepare=f"env >> {tmp_path / 'seen'}")
    assert status == 0, printed
    seen = (tmp_path / "seen").read_text()
    assert "PATH" in seen and "sk-of-nobody" not in seen and "KEYS" not in seen
    assert run.models.headers["authorization"] == "Bearer sk-of-nobody"


def http_server(repository: Path, start: str) -> None:
    """Have the server of the repository listen at a port, and the file name its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server, file = repository / "api" / "server.py", repository / "api" / "sgdx.yaml"
    line = f'server.run("streamable-http", host="127.0.0.1", port={port})'
    server.write_text(server.read_text().replace("server.run()", line))
    asked = re.sub(
        r"tools: \{mcp: .*?\}",
        f'tools: {{mcp: "http://127.0.0.1:{port}/mcp"{start}}}',
        file.read_text(),
    )
    file.write_text(asked)
    git("commit", "-q", "-a", "-m", "Live")


def test_a_live_server_cannot_tell_two_versions_apart(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    http_server(repository, "")
    checkout, base = pull_request(repository, tmp_path / "live", COSTLY)
    live = subprocess.Popen([sys.executable, "server.py"], cwd=repository / "api")
    try:
        wait_for(repository)
        status, printed = run(checkout, base)
    finally:
        live.kill()
        live.wait()
    assert status == 2 and "cannot tell: both versions" in printed and not run.models.bodies
    assert "cannot tell" in github.own[0]


def test_the_file_says_how_the_server_of_each_version_starts(
    tmp_path: Path, repository: Path, run: Runner
) -> None:
    http_server(repository, f', start: "{sys.executable} server.py"')
    checkout, base = pull_request(repository, tmp_path / "live", COSTLY)
    status, printed = run(checkout, base)
    assert status == 1, printed
    assert "other words cost 85.71 points" in printed
    with pytest.raises(OSError):  # each is stopped
        socket.create_connection(address_of(repository), timeout=1)


def address_of(repository: Path) -> tuple[str, int]:
    found = re.search(r"127\.0\.0\.1:(\d+)/mcp", (repository / "api" / "sgdx.yaml").read_text())
    assert found
    return "127.0.0.1", int(found[1])


def wait_for(repository: Path) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError):
            socket.create_connection(address_of(repository), timeout=1).close()
            return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


def test_many_cases_that_are_left_out_are_counted_in_a_short_comment(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    cases = repository / "api" / "cases.jsonl"
    rows = [json.loads(line) for line in cases.read_text().splitlines()]
    weather = next(row for row in rows if row["id"] == "rain")
    rows += [weather | {"id": f"support-ticket-@everyone-2026-11-{i:05}"} for i in range(2000)]
    cases.write_text("\n".join(map(json.dumps, rows)))
    git("commit", "-q", "-a", "-m", "Cases")
    checkout, base = pull_request(
        repository, tmp_path / "gone", ("def get_weather(", "def get_tide("),
        ("city: Annotated[str, Field(description=\"City to get the forecast of\")]", "port: int"),
    )  # fmt: skip
    status, printed = run(checkout, base)
    assert status == 2, printed
    (comment,) = github.own
    assert "2002 of 2007 cases are left out" in comment and len(comment) < 10_000
    assert "`support-ticket-@everyone-2026-11-00000`" in comment  # as code, which mentions nobody


def test_the_workflow_of_the_page_uses_the_action() -> None:
    ((_, _, content),) = sections("A pull request")
    workflow = yaml.safe_load(content)
    (action,) = (step for step in workflow["jobs"]["tools"]["steps"] if "sgdx" in step["uses"])
    known = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(action["with"]) <= set(known)
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
