"""What ``check`` finds out about servers that behave as the providers' do."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest

from baselines.llm.__main__ import main

from .server import Json, StandIn, completion, empty_state, serving
from .test_providers import Picky, llamacpp, openai_reasoning


def used(sent: int, answered: int = 5) -> Json:
    return {"usage": {"prompt_tokens": sent, "completion_tokens": answered}}


def obedient(body: Json) -> Json:
    """A model that calls what it is told to, and else answers."""
    usage = used(len(str(body)) // 4)
    if "tools" in body:
        return empty_state(body) | usage
    return completion({"role": "assistant", "content": "yes heron"}, "stop") | usage


def talkative(body: Json) -> Json:
    return llamacpp(body) if "tools" in body else obedient(body)


def blind(body: Json) -> Json:
    """As llama.cpp renders the template of SmolLM2-135M-Instruct, which knows no tools."""
    usage = used(len(str(body["messages"])) // 4)
    return completion({"role": "assistant", "content": "Hello!"}, "stop") | usage


def ollama(body: Json) -> Json:
    """As Ollama cuts long prompts: https://github.com/ollama/ollama/issues/2963."""
    return obedient(body) | used(min(4096, len(str(body)) // 4))


def thinker(body: Json) -> Json:
    """The thinking of 900 tokens leaves 124 of 1,024."""
    usage = used(len(str(body)) // 4, 1024)
    usage["usage"]["completion_tokens_details"] = {"reasoning_tokens": 900}
    is_state = any("active_intent" in json.dumps(tool) for tool in body.get("tools", ()))
    if is_state and body["max_tokens"] < 4000:
        return completion({"role": "assistant", "content": ""}, "length") | usage
    return obedient(body) | usage


def ask(url: str, *words: str) -> int:
    return main(["check", "--model", "m", "--base-url", url, *words])


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What was printed: the first word of each answer by its question, and what to try."""
    split = {}
    for line in capsys.readouterr().out.splitlines():
        question, _, answer = line.partition("?" if "?" in line else ": ")
        split[question] = answer.strip() if question == "try" else answer.split()[0].rstrip(",:")
    return split


def test_a_server_that_is_as_it_should_be(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answer = obedient
    assert ask(stand_in.url) == 0
    assert len(stand_in.bodies) == 5
    assert found(capsys) == {
        "Are all fields taken": "yes",
        "Is a demanded call made": "yes",
        "Is one of several calls made": "yes",
        "Does the model see functions": "yes",
        "Are long prompts whole": "yes",
        "Is a real request answered": "yes",
        "Does the model think": "not",
        "Are tokens counted": "yes",
    }


@pytest.mark.parametrize(
    ("answer", "provider", "question", "helps"),
    [
        (talkative, "openai", "Is a demanded call made", """--set 'tool_choice="required"'"""),
        (thinker, "openai", "Is a real request answered", "--set max_tokens=8192"),
        (ollama, "ollama", "Are long prompts whole", "OLLAMA_CONTEXT_LENGTH=8192"),
        (blind, "openai", "Does the model see functions", "--answer json_schema"),
    ],
)
def test_a_fault_is_found_with_what_helps(
    answer: Callable[[Json], Json], provider: str, question: str, helps: str,
    stand_in: StandIn, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stand_in.answer = answer
    assert ask(stand_in.url, "--provider", provider) == 1
    faults = found(capsys)
    assert faults[question] == "no"
    assert helps in faults["try"]
    if helps.startswith("--set"):
        assert ask(stand_in.url, *shlex.split(helps)) == 0


def test_fields_that_a_server_refuses_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Picky(answer=obedient)) as server:
        assert isinstance(server, Picky)
        server.refuses = openai_reasoning
        assert ask(server.url) == 1
        faults = found(capsys)
        assert faults["Is max_tokens taken"] == "no"
        assert faults["try"] == (
            "--omit max_tokens --set max_completion_tokens=8192 --omit temperature "
            "--omit parallel_tool_calls"
        )
        assert ask(server.url, "--provider", "openai-reasoning") == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [(["--provider", "groq"], "GROQ_API_KEY"), (["--base-url", "http://127.0.0.1:9/v1"], ":9/v1")],
)
def test_a_server_that_cannot_be_asked(
    words: list[str], named: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert main(["check", "--model", "m", *words]) == 2
    said = capsys.readouterr().err
    assert named in said and said.count("\n") == 1
