"""What ``check`` finds out about servers that behave as the providers' do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baselines.llm.__main__ import main

from .server import Json, StandIn, completion, empty_state, serving
from .test_providers import Picky, llamacpp, openai_reasoning


def obedient(body: Json) -> Json:
    """A model that calls what it is told to, and else answers."""
    usage = {"prompt_tokens": len(str(body)) // 4, "completion_tokens": 5}
    if "tools" in body:
        return empty_state(body) | {"usage": usage}
    return completion({"role": "assistant", "content": "yes heron"}, "stop") | {"usage": usage}


def ask(url: str, *words: str) -> int:
    return main(["check", "--model", "m", "--base-url", url, *words])


def lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What was printed: the answers by the question, and what to try."""
    printed = capsys.readouterr().out.splitlines()
    split = (line.split("?", 1) if "?" in line else line.split(": ", 1) for line in printed)
    return {question: answer.strip() for question, answer in split}


def test_a_server_that_is_as_it_should_be(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answer = lambda body: (
        obedient(body) | {"usage": {"prompt_tokens": len(str(body)) // 4, "completion_tokens": 5}}
    )
    assert ask(stand_in.url) == 0
    found = lines(capsys)
    assert len(stand_in.bodies) == 5
    assert found["Are all fields taken"] == "yes"
    assert found["Is a demanded call made"] == "yes"
    assert found["Is one of several calls made"] == "yes"
    assert found["Does the model see functions"] == "yes"
    assert found["Are long prompts whole"].startswith("yes, ")
    assert found["Is a real request answered"] == "yes"
    assert found["Does the model think"] == "not that it shows"
    assert found["Are tokens counted"] == "yes"
    assert "try" not in found


def test_fields_that_a_server_refuses_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Picky(answer=obedient)) as server:
        assert isinstance(server, Picky)
        server.refuses = openai_reasoning
        assert ask(server.url) == 1
        found = lines(capsys)
        assert found["Is max_tokens taken"].startswith("no: Unsupported parameter")
        assert found["try"] == (
            "--omit max_tokens --set max_completion_tokens=8192 --omit temperature "
            "--omit parallel_tool_calls"
        )
        assert ask(server.url, "--provider", "openai-reasoning") == 0


def test_a_choice_that_is_not_obeyed(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in.answer = lambda body: llamacpp(body) if "tools" in body else obedient(body)
    assert ask(stand_in.url) == 1
    found = lines(capsys)
    assert found["Is a demanded call made"] == "no, the model may talk instead"
    assert found["Is one of several calls made"] == "yes"
    assert """--set 'tool_choice="required"'""" in found["try"]
    assert ask(stand_in.url, "--set", 'tool_choice="required"') == 0


def test_a_chat_template_without_functions(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """As llama.cpp renders the template of SmolLM2-135M-Instruct, which knows no tools."""

    def blind(body: Json) -> Json:
        usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": 5}
        return completion({"role": "assistant", "content": "Hello!"}, "stop") | {"usage": usage}

    stand_in.answer = blind
    assert ask(stand_in.url) == 1
    found = lines(capsys)
    assert found["Does the model see functions"] == "no, a chat has 14 tokens with and without them"
    assert found["try"].endswith(
        "give the server a chat template that shows tools, or use --answer json_schema"
    )
    assert ask(stand_in.url, "--answer", "json_schema") == 1
    assert "Does the model see functions" not in lines(capsys)


def test_a_prompt_that_is_cut(stand_in: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    """As Ollama cuts it: https://github.com/ollama/ollama/issues/2963."""

    def ollama(body: Json) -> Json:
        usage = {"prompt_tokens": min(4096, len(str(body)) // 4), "completion_tokens": 5}
        return obedient(body) | {"usage": usage}

    stand_in.answer = ollama
    assert ask(stand_in.url, "--provider", "ollama") == 1
    found = lines(capsys)
    assert found["Are long prompts whole"].startswith("no, cut at 4096 of about ")
    assert found["try"] == "start it with OLLAMA_CONTEXT_LENGTH=8192"


def test_thinking_that_fills_the_answer(
    stand_in: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """The thinking of 900 tokens leaves 124 of 1,024."""

    def thinker(body: Json) -> Json:
        usage: Json = {"prompt_tokens": len(str(body)) // 4, "completion_tokens": 1024}
        usage |= {"completion_tokens_details": {"reasoning_tokens": 900}}
        is_state = any("active_intent" in json.dumps(tool) for tool in body.get("tools", ()))
        if is_state and body["max_tokens"] < 4000:
            return completion({"role": "assistant", "content": ""}, "length") | {"usage": usage}
        return obedient(body) | {"usage": usage}

    stand_in.answer = thinker
    assert ask(stand_in.url) == 1
    found = lines(capsys)
    assert found["Is a real request answered"] == "no, cut off at 1024 tokens"
    assert found["Does the model think"] == "yes, 4500 tokens in all"
    assert found["try"] == "--set max_tokens=8192"
    assert ask(stand_in.url, "--set", "max_tokens=8192") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--provider", "groq"], "found no key in the environment variable GROQ_API_KEY"),
        (["--base-url", "http://127.0.0.1:9/v1"], "http://127.0.0.1:9/v1: does not answer: API"),
    ],
)
def test_a_server_that_cannot_be_asked(
    words: list[str], message: str, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert main(["check", "--model", "m", *words]) == 2
    said = capsys.readouterr().err
    assert f"baselines.llm: error: {message}" in said
    assert said.count("\n") == 1
