"""Programs that behave badly: nothing hangs, fills the memory or loses an answer."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.program import public_name, run_program
from sgdx_llm.requests import Request

REQUESTS = [
    Request(custom_id=f"r{i}", body={"text": "x" * 10_000}, key=f"k{i}", shown={"case": {"id": i}})
    for i in range(50)
]
ANSWER = """
def answer(line):
    print(json.dumps({"custom_id": json.loads(line)["custom_id"], "state": {}}), flush=True)
"""


def asked(code: str, tmp_path: Path) -> Counter[str]:
    """What is counted while a program of this code is asked."""
    script = tmp_path / "program.py"
    script.write_text(f"import json, os, subprocess, sys, time\n{ANSWER}\n{code}")
    counts: Counter[str] = Counter()
    with AnswerFile(tmp_path / "answers.jsonl") as answers:
        run_program(shlex.join([sys.executable, str(script)]), iter(REQUESTS), answers, counts)
        assert len(answers) == counts["answered"]
    return counts


@pytest.mark.parametrize(
    ("code", "answered"),
    [
        ("for line in sys.stdin: answer(line)", 50),
        ("for line in sys.stdin.readlines(): answer(line)", 50),
        ("for line in sys.stdin: answer(line); print(line[:99] * 9, file=sys.stderr)", 50),
        ("for line in sys.stdin: answer(line); answer(line)", 50),  # the first answer counts
        ("answer(sys.stdin.readline())", 1),  # it ends before it has read all
        ("answer(sys.stdin.readline()); sys.stdin.close(); time.sleep(0.3)", 1),
        ("answer(sys.stdin.readline()); print('{\"custom_id\": \"r1\"', end='')", 1),
    ],
)
def test_what_is_answered_is_kept(code: str, answered: int, tmp_path: Path) -> None:
    assert asked(code, tmp_path)["answered"] == answered


def test_a_child_that_lives_on_is_not_waited_for(tmp_path: Path) -> None:
    """It holds the program's output open, so that this never ends."""
    child = "subprocess.Popen(['sleep', '60'], start_new_session=True)"
    start = time.monotonic()
    assert asked(f"for line in sys.stdin: answer(line)\n{child}", tmp_path)["answered"] == 50
    assert time.monotonic() - start < 30


def test_a_line_without_an_end_fills_no_memory(tmp_path: Path) -> None:
    code = "[sys.stdout.write('x' * 1_000_000) for _ in range(60)]; print(); sys.stdin.readlines()"
    with pytest.raises(SgdxError, match="found the line 'xxx"):
        asked(code, tmp_path)


def test_a_fault_of_the_requests_is_told(tmp_path: Path) -> None:
    def requests() -> Iterator[Request]:
        yield REQUESTS[0]
        raise SgdxError("the dialogues are gone")

    command = f"{sys.executable} -c 'import sys; print(len(sys.stdin.read()))'"
    kept = AnswerFile(tmp_path / "answers.jsonl")
    with kept as answers, pytest.raises(SgdxError, match="the dialogues are gone"):
        run_program(command, requests(), answers, Counter())


def test_a_command_is_named_without_its_secrets(tmp_path: Path) -> None:
    script = tmp_path / "my_system.py"
    script.touch()
    name = public_name(f"/opt/python {script} --key sk-secret")
    assert name.startswith("python my_system.py@")
    assert "secret" not in name and str(tmp_path) not in name
    assert public_name(f"/opt/python {script} --key sk-other") != name
