"""The action: its own shell lines, run as the runner does, on a clone with a base branch."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from ..conftest import ROOT
from ..sgdx_llm.server import Fault, Json, StandIn, serving
from .test_your_own_tools import MCP_SERVER, first_lines, model, sections

pytestmark = pytest.mark.posix
GIT, BASH = shutil.which("git") or "git", shutil.which("bash") or "bash"
HARMLESS = ("City of the restaurant", "City where one eats")
COSTLY = ("'city'", "'municipality'")


# What the API may answer in place of a list of comments.
FAULTS = {"half": b'[{"a', "html": b"<html>ok", "no list": b'{"message": "ok"}'}


@dataclass
class GitHub(StandIn):
    """GitHub's comments of one pull request: who wrote each, and its text."""

    comments: list[tuple[str, str]] = field(default_factory=lambda: [("you", "Looks good to me.")])
    fault: str = ""

    @property
    def own(self) -> list[str]:
        """What the action has written."""
        return [text for author, text in self.comments if author == "github-actions[bot]"]

    def reply(self, body: Json, key: str) -> Fault:
        path = self.asked[-1][0].partition("?")[0]
        if self.method == "GET":
            assert path == "/v1/repos/you/api/issues/7/comments"
            if self.fault == "dropped":
                return None
            # The first is of an account that is gone.
            listed: list[Json] = [{"url": f"{self.url}/99", "body": None, "user": None}]
            for i, (author, text) in enumerate(self.comments):
                listed.append({"url": f"{self.url}/{i}", "body": text, "user": {"login": author}})
            return 200, {}, FAULTS.get(self.fault, json.dumps(listed).encode())
        assert key == "Bearer t"
        if self.fault == "forbidden":
            return 403, {}, b'{"message": "Resource not accessible by integration"}'
        assert len(body["body"]) <= 65536  # GitHub answers 422 otherwise
        place = int(path.rpartition("/")[2]) if self.method == "PATCH" else len(self.comments)
        assert all(
            author == "github-actions[bot]" for author, _ in self.comments[place : place + 1]
        )
        self.comments[place : place + 1] = [("github-actions[bot]", body["body"])]
        return 200, {}, b"{}"


@pytest.fixture
def github() -> Iterator[GitHub]:
    with serving(GitHub()) as server:
        assert isinstance(server, GitHub)
        yield server


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
        **inputs: str,
    ) -> tuple[int, str]:
        """The status of the job, and what its steps printed."""
        values = {
            "inputs.folder": folder,
            "inputs.prepare": prepare,
            "inputs.from": "base",
            **{f"inputs.{n.strip('_').replace('_', '-')}": value for n, value in inputs.items()},
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
        status, printed, self.values = 0, "", values
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


def test_a_pull_request_is_judged_and_told_in_one_comment(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    """Neither what prepares the server nor the server itself has the key."""
    seen = tmp_path / "seen"
    leak = f"import os; open({str(seen)!r}, 'a').write(str(dict(os.environ)))\n"
    checkout, base = pull_request(
        repository, tmp_path / "costly", COSTLY, ("import", f"{leak}import")
    )
    own = checkout / "api" / "sgdx.yaml"  # whose gate is not asked
    own.write_text(own.read_text().replace("max_drop: 3", "max_drop: 100"))
    quoted = ("mallory", "<!-- sgdx tools test: api -->\nquoted by a person")
    of_another_use = ("github-actions[bot]", "<!-- sgdx tools test: svc/other -->")
    github.comments += [quoted, of_another_use]
    status, printed = run(checkout, base, "./api/", prepare=f"env | tee prepared.txt >> {seen}")
    assert status == 1, printed
    assert "::error::sgdx: your-model: failed: other words cost 85.71 points" in printed
    outputs = {name: run.values[f"steps.test.outputs.{name}"] for name in ("verdict", "loss")}
    assert outputs == {"verdict": "failed", "loss": "85.71"}
    assert (checkout / "api" / "prepared.txt").exists()
    environments = seen.read_text()
    assert environments.count("GITHUB_REPOSITORY") > 1
    assert "sk-of-nobody" not in environments and "KEYS" not in environments
    assert run.models.headers["authorization"] == "Bearer sk-of-nobody"
    assert len(run.models.bodies) == 2 * 7
    assert (checkout / "api" / "sgdx-run" / "report.html").exists()
    assert "<testsuites" in (checkout / "api" / "sgdx-run" / "junit.xml").read_text()
    comment = github.comments[-1][1]
    assert comment.startswith("<!-- sgdx tools test: api -->") and "failed" in comment
    assert "`book_table city`" in comment and "municipality" in comment
    assert comment.split("\n", 1)[1] in (tmp_path / "temp" / "summary.md").read_text()

    status, printed = run(checkout, base, prepare="exit 3")  # a later push that dies
    assert status == 2 and "prepare failed" in printed
    comment = github.comments[-1][1]
    assert "Cannot tell" in comment and "municipality" not in comment
    assert github.comments[1:3] == [quoted, of_another_use] and len(github.comments) == 4


def test_the_pull_request_s_own_cases_and_programs_are_used_where_asked_for(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    checkout, base = pull_request(repository, tmp_path / "own", HARMLESS)
    cases = checkout / "api" / "cases.jsonl"
    cases.write_text("".join(cases.read_text().splitlines(keepends=True)[:6]))
    own = checkout / "api" / "sgdx.yaml"
    program = f"models: [{{command: {sys.executable} own.py}}, "
    own.write_text(own.read_text().replace("models: [", program, 1))
    (checkout / "api" / "own.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n"
        "    print(json.dumps({'custom_id': json.loads(line)['custom_id'], 'calls': []}))\n"
    )
    status, printed = run(checkout, base, _from="pull-request")
    assert status == 2 and len(run.models.bodies) == 2 * 6, printed
    assert "::notice::sgdx: your-model: unclear" in printed
    assert "::warning::sgdx: own: cannot tell" in printed
    assert "those of the pull request" in github.own[-1]
    assert run(checkout, base, prepare="rm -rf sgdx-run", _from="elsewhere")[0] == 2


def test_forks_and_committed_answers_are_refused_and_a_cap_stops_what_has_no_base(
    tmp_path: Path, repository: Path, github: GitHub, run: Runner
) -> None:
    checkout, base = pull_request(repository, tmp_path / "fork", HARMLESS)
    status, printed = run(checkout, base, fork=True)
    assert status == 0 and printed.startswith("::notice::") and printed.count("\n") == 1
    status, printed = run(checkout, base, prepare="mkdir sgdx-run")
    assert status == 2 and "sgdx-run" in printed
    (checkout / "api" / "sgdx-run" / "answers.jsonl").write_text("{}")
    git("-C", str(checkout), "add", "-f", ".")
    status, printed = run(checkout, base, prepare="true")
    assert status == 2 and "sgdx-run" in printed and not run.models.bodies
    git("-C", str(checkout), "rm", "-q", "-r", "-f", "api/sgdx-run")
    github.comments.clear()
    file = checkout / "api" / "sgdx.yaml"
    text = file.read_text().replace("{max_drop: 3}", "{max_drop: 3, search: {recall@1: 3}}")
    text = text.replace("{model: your-model, count: 2}", "{file: ours.json}")
    file.write_text(text.replace("{model: your-model, ", '{model: your-model, price: "1,1,1", ', 1))
    (checkout / "api" / "ours.json").write_text('{"book_table": {"description": "Reserve"}}')
    status, printed = run(checkout, "", max_cost="0.0000001")
    assert status == 2 and not run.models.bodies and not github.own, printed
    assert run.values["steps.test.outputs.verdict"] == "cannot tell"
    assert "search recall@1: " in printed


@pytest.mark.parametrize("fault", [*FAULTS, "dropped", "forbidden"])
def test_whatever_the_api_answers_the_verdict_stands(
    fault: str, tmp_path: Path, github: GitHub
) -> None:
    def comment(text: str) -> str:
        (tmp_path / "sgdx.md").write_text(text)
        environment = {"RUNNER_TEMP": str(tmp_path), "FOLDER": ".", "NUMBER": "7", "TOKEN": "t"}
        environment |= {"GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": "you/api"}
        words = [sys.executable, str(ROOT / ".github/action/comment.py")]
        environment = os.environ | environment
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        assert not done.stderr
        return done.stdout

    github.fault = fault
    said = comment("passed")
    assert said.startswith("::warning::") and said.count("\n") == 1 and not github.own
    github.fault = ""
    assert not comment("failed\n" + "| a case | `why` |\n" * 5000)
    (written,) = github.own
    assert "failed" in written and len(written) < 65536


def test_the_workflow_of_the_page_uses_the_action() -> None:
    ((_, _, content),) = sections("A pull request")
    workflow = yaml.safe_load(content)
    (action,) = (step for step in workflow["jobs"]["tools"]["steps"] if "sgdx" in step["uses"])
    known = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(action["with"]) <= set(known)
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
