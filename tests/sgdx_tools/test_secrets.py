"""A key gets out nowhere: a table of where it is put; it is looked for in all that is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_table

from sgdx_dataset.io import secrets
from sgdx_tools.data import Json
from sgdx_tools.folder import write_project

from ..sgdx_llm.server import StandIn, completion, failing, serving
from .conftest import CASES, TOOLS, V1, Capture, command, mcp_server
from .test_testing import BOOK, versions_tested

KEY = 'sk-Wq7/xY2"zK9<b>&4'
ESCAPED = "".join(f"\\u{ord(character):04x}" for character in KEY)
PLAIN = "sk-Wq7xY2zK9b4mN8"  # for places where not every character may stand
ACTION = Path(__file__).parents[2] / ".github" / "action" / "test"


def said_back(key: str) -> list[Json]:
    """Answers with a key in their texts, names and arguments, which is escaped in some."""
    inner = json.dumps({"people": key, "more": {key: [key]}})
    twice = json.dumps({"people": inner})
    texts = (f"no {key}!", f"Bearer {key}", f'{{"key": "{ESCAPED if key == KEY else key}"}}', inner)
    calls = [
        {"id": key, "type": "function", "function": {"name": "book", "arguments": arguments}}
        for arguments in (inner, twice, inner.replace(PLAIN, "\\u0073" + PLAIN[1:]), f"{{{key}")
    ]
    messages: list[Json] = [{"role": "assistant", "content": text} for text in texts]
    messages += [{"role": "assistant", "content": None, "tool_calls": [call]} for call in calls]
    return [completion(message, "stop") | {"model": key} for message in messages]


def written(place: Path, capfd: Capture, beside: tuple[str, ...] = ()) -> str:
    """All that was written into a folder, but for the user's own files, and to the terminal."""
    texts = [
        str(read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name not in beside and "__pycache__" not in path.parts
    ]
    return "\n".join([*texts, *capfd.readouterr()])


def is_in(key: str, text: str) -> bool:
    """Whether a key is in a text, also where parts of it are escaped once or twice."""
    for _ in range(3):
        if key in text or key[3:] in text:
            return True
        text = text.replace("\\/", "/").replace('\\"', '"').replace("\\\\", "\\")
        text = re.sub(r"\\[ux]00([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
    return False


@pytest.mark.parametrize(
    ("put", "key"),
    [
        *(("environment", KEY), ("environment", PLAIN), ("header", KEY), ("named", KEY)),
        *(("user", PLAIN), ("password", PLAIN), ("path", PLAIN), ("query", PLAIN)),
    ],
)
def test_what_a_server_says_back(
    put: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """In answers, and in every kind of refusal; the place says what is asked with the key."""
    write_project(tmp_path / "api", TOOLS, CASES, variants=[V1])
    words: list[object] = ["run", tmp_path / "api", "--model", "m"]
    answers = said_back(key)
    with serving(StandIn(answer=lambda _: answers[len(server.bodies) % len(answers)])) as server:
        url = server.url
        if put == "environment":
            monkeypatch.setenv("OPENAI_API_KEY", key)
        elif put == "named":
            monkeypatch.setenv("GATEWAY", key)
            monkeypatch.setenv("SGDX_KEYS", "OTHER GATEWAY")
        elif put == "header":
            words += ["--header", f"X-Key=Bearer {key}"]
        else:
            parts = {"user": f"{key}:x@", "password": f"me:{key}@"}
            url = url.replace("http://", f"http://{parts.get(put, '')}")
            url = url.replace("/v1", f"/{key}/v1") if put == "path" else url
            url += f"?token={key}" if put == "query" else ""
        words += ["--base-url", url, "--output"]
        status = command(*words, tmp_path / "run")
        assert status == 0, capfd.readouterr().err
        score = ("score", tmp_path / "api", "--predictions", tmp_path / "run")
        assert command(*score, "--output", tmp_path / "scores.json") == 0
        assert command("report", *score[1:], "--output", tmp_path / "report.html") == 0
        assert command("explain", tmp_path / "api", "a", *score[2:]) == 0
        for status in (400, 401, 500):
            said = failing(status, key, message=f"bad Bearer {key}", detail=ESCAPED)
            server.faults += [said] * 20
            assert command(*words, tmp_path / f"run{status}") in (1, 2)
            server.faults.clear()
        server.faults += [(307, {"Location": f"http://127.0.0.1:9/{key}?k={key}"}, b"")] * 9
        assert command(*words, tmp_path / "moved") == 2
    found = written(tmp_path, capfd)
    assert found.count("[key]") > 10 and "http://127.0.0.1" in found
    assert not is_in(key, found)


PROGRAM = """
import json, sys
key = sys.argv[-1]
print("debug: " + key, file=sys.stderr)
print("debug: " + key, flush=True)
for i, line in enumerate(sys.stdin):
    request = json.loads(line)
    calls = [{"name": key, "arguments": {key: [key]}}]
    body = {"choices": [{"message": {"role": "assistant", "content": "no " + key}}]}
    part = [{"calls": calls}, {"response": {"body": body}}][i % 2]
    print(json.dumps({"custom_id": request["custom_id"], **part}), flush=True)
    if DIES and i == 2:
        sys.exit("RuntimeError: " + key)
"""


@pytest.mark.parametrize("dies", [True, False])
def test_what_a_program_says(dies: bool, tmp_path: Path, capfd: Capture) -> None:
    write_project(tmp_path / "api", TOOLS, CASES, variants=[V1])
    (tmp_path / "program.py").write_text(PROGRAM.replace("DIES", str(dies)))
    line = f"{sys.executable} {tmp_path / 'program.py'} --token {PLAIN}"
    words = ("run", tmp_path / "api", "--command", line, "--output", tmp_path / "run")
    assert command(*words) == (2 if dies else 0)
    found = written(tmp_path, capfd)
    assert "[key]" in found and not is_in(PLAIN, found)
    assert not dies or "RuntimeError" in found


@pytest.mark.parametrize("put", ["env", "word", "address"])
def test_what_an_mcp_server_says_of_itself(
    put: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    """In its version, in titles and descriptions of its tools, and as it dies."""
    monkeypatch.setenv("MINE", PLAIN)
    told = mcp_server().replace("1.2", PLAIN).replace("Book a table.", f"Book {PLAIN}.")
    told = told.replace("The time", PLAIN)
    given = {
        "env": (["--env", "TOKEN=${MINE}"], ""),
        "word": ([], f"--api-key {PLAIN}"),
        "address": ([], f"https://h.example/s/{PLAIN}/mcp?token={PLAIN}"),
    }
    (tmp_path / "server.py").write_text(told)
    (tmp_path / "dies.py").write_text(f"import sys\nsys.exit('Error: no {PLAIN}')")
    options, more = given[put]
    for name, status in (("server", 0), ("dies", 2)):
        line = f"{sys.executable} {tmp_path / name}.py {more}"
        words = ("import", line, *options, "--output", tmp_path / name)
        assert command(*words) == status
    sarif = ("--sarif", tmp_path / "check.sarif")
    line = f"{sys.executable} {tmp_path / 'server'}.py {more}"
    file = tmp_path / "sgdx.yaml"
    file.write_text(json.dumps({"tools": {"source": line, "env": {"TOKEN": "${MINE}"}}}))
    assert command("check", file if put == "env" else line, *sarif, "--json") == 0
    file.unlink()
    if put != "env":  # the key would stand in the file
        assert command("init", line, "--output", tmp_path / "new") == 2
        assert not (tmp_path / "new" / "sgdx.yaml").exists()
    found = written(tmp_path, capfd, ("server.py", "dies.py"))
    assert found.count("[key]") >= 4 and not is_in(PLAIN, found)


def test_where_both_versions_were_asked(tmp_path: Path, capfd: Capture) -> None:
    address = f"https://live.example:8443/s/{PLAIN}/mcp?token={PLAIN}"
    tools = f'source: "{sys.executable} tools {address}"'
    status, said = versions_tested(tmp_path, tools, mcp_server(BOOK), mcp_server(BOOK))
    assert status == 2 and "both versions were asked at https://live.example:8443," in said
    assert not is_in(PLAIN, written(tmp_path, capfd, ("sgdx.yaml",)))


def test_the_action_says_no_line_of_its_keys(tmp_path: Path) -> None:
    environment = {"KEYS": f"OPENAI_API_KEY=x\n{PLAIN}\n", "FOLDER": ".", "BASE": ""}
    environment |= {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        ["/usr/bin/env", "bash", ACTION],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "line 2" in done.stdout
    assert PLAIN not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a {KEY} b", "a [key] b"),
        (json.dumps({"a": f"{KEY}"}), '{"a": "[key]"}'),
        (json.dumps(json.dumps(KEY)), '"\\"[key]\\""'),
        (f"{ESCAPED}", "[key]"),
        (KEY.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"), "[key]"),
        ("sk-Wq7%2FxY2%22zK9%3cb%3E%264", "[key]"),
        ("none EMPTY ollama 12345 book", "none EMPTY ollama 12345 book"),
        ("pin4 pin44 a-pin4.", "[key] pin44 a-[key]."),
        ("sk-Wq7/xY2", "sk-Wq7/xY2"),
    ],
)
def test_a_key_is_known_in_any_writing(text: str, expected: str) -> None:
    """Short words that stand for no key, as local servers are given them, are none."""
    with secrets.keys_are_taken_out():
        for key in (KEY, "none", "EMPTY", "ollama", "12345", "pin4"):
            secrets.note_key(key)
        assert secrets.take_out(text) == expected
        parsed: Any = {text: [text, 1, None]}
        assert secrets.take_out_of(parsed) == {expected: [expected, 1, None]}
    assert secrets.take_out(text) == text
