"""Every preset against a stand-in that behaves as the provider's documentation and threads say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_llm.answer_file import AnswerFile
from sgdx_llm.options import SendingOptions
from sgdx_llm.plan import Plan
from sgdx_llm.providers import OPENAI, PROVIDERS, ProviderName, base_url
from sgdx_llm.requests import RequestSettings

from .conftest import connect, plan_of, sent
from .server import Fault, Json, StandIn, completion, empty_state, serving

Refuses = Callable[[Json], Fault]


def refusal(status: int, error: Any) -> Fault:
    return status, {}, json.dumps(error).encode()


def openai_reasoning(body: Json) -> Fault:
    """As in https://github.com/decolua/9router/issues/560 and the other threads of the preset."""
    unsupported = {"type": "invalid_request_error", "code": "unsupported_parameter"}
    for name in ("max_tokens", "parallel_tool_calls"):
        if name in body:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return refusal(400, {"error": {"message": message, "param": name, **unsupported}})
    if body.get("temperature", 1) != 1:
        message = "Unsupported value: 'temperature' does not support 0 with this model."
        return refusal(400, {"error": {"message": message, "code": "unsupported_value"}})
    return None


def gemini(body: Json) -> Fault:
    """As in https://github.com/Vali-98/ChatterUI/issues/227: the error is in a list."""
    for name in ("seed", "parallel_tool_calls"):
        if name in body:
            message = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
            return refusal(400, [{"error": error}])
    return None


def mistral(body: Json) -> Fault:
    """As in https://github.com/mistralai/platform-docs-public/issues/7."""
    known = {"model", "messages", "temperature", "max_tokens", "random_seed", "tools"}
    known |= {"tool_choice", "parallel_tool_calls", "response_format"}
    if unknown := [name for name in body if name not in known]:
        detail = [{"type": "extra_forbidden", "loc": ["body", unknown[0]]}]
        error = {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
        return refusal(422, error)
    return None


def llamacpp(body: Json) -> Json:
    """A named choice is taken for auto, as in https://github.com/ggml-org/llama.cpp/issues/26535:
    the model then talks."""
    if body["tool_choice"] == "required":
        return empty_state(body)
    return completion({"role": "assistant", "content": "Hello! How can I help?"}, "stop")


class Picky(StandIn):
    """A stand-in that refuses some requests for what is in them."""

    def __init__(self, refuses: Refuses) -> None:
        super().__init__()
        self.refuses = refuses

    def reply(self, body: Json, key: str) -> Fault:
        fault = self.refuses(body)
        if fault is None:
            return super().reply(body, key)
        with self.lock:
            self.bodies.append(body)
        return fault


def plan_for(three: Path, provider: ProviderName, **settings: Any) -> Plan:
    chosen = RequestSettings(model="m", provider=PROVIDERS[provider], **settings)
    return plan_of(three, configs=("original",), settings=chosen)


def unread_share(plan: Plan, path: Path) -> tuple[int, int]:
    with AnswerFile(path) as answers:
        lines = [(request, answers.get(request.key)) for request in plan.requests()]
    unread = [plan.is_unread(request, line["body"]) for request, line in lines if line]
    return sum(unread), len(unread)


@pytest.mark.parametrize(
    ("provider", "refuses"),
    [("openai-reasoning", openai_reasoning), ("gemini", gemini), ("mistral", mistral)],
)
def test_a_preset_sends_what_the_server_takes(
    provider: ProviderName, refuses: Refuses, three: Path, tmp_path: Path
) -> None:
    """Without the preset, every request is refused, which ends the run and is no answer."""
    plan = plan_for(three, provider)
    with serving(Picky(refuses)) as picky:
        with pytest.raises(SgdxError):
            sent(plan_for(three, "openai"), tmp_path / "before.jsonl", connect(picky.url))
        assert not (tmp_path / "before.jsonl").exists()
        assert len(picky.bodies) < 30
        report = sent(plan, tmp_path / "after.jsonl", connect(picky.url))
    assert report.counts["refused"] == 0
    assert unread_share(plan, tmp_path / "after.jsonl") == (0, 26)


def test_one_tool_is_demanded_where_a_name_is_not_obeyed(
    stand_in: StandIn, three: Path, tmp_path: Path
) -> None:
    stand_in.answer = llamacpp
    cases: list[tuple[ProviderName, int]] = [("openai", 26), ("llamacpp", 0)]
    for provider, unread in cases:
        plan = plan_for(three, provider)
        sent(plan, tmp_path / f"{provider}.jsonl", connect(stand_in.url))
        assert unread_share(plan, tmp_path / f"{provider}.jsonl") == (unread, 26)


def test_a_call_of_a_wrong_form_is_one_unread_answer(
    stand_in: StandIn, three: Path, tmp_path: Path
) -> None:
    """As in https://github.com/groq/groq-typescript/issues/28, where it ended the run."""
    wrong = {"code": "tool_use_failed", "failed_generation": "<function=x{}"}
    stand_in.faults += [refusal(400, {"error": wrong})] * 2
    stand_in.faults.append(refusal(400, {"error": {"message": "this prompt is too odd"}}))
    stand_in.faults.append(refusal(400, {"error": {"code": "content_filter"}}))  # an answer
    plan = plan_for(three, "groq")
    path = tmp_path / "a.jsonl"
    report = sent(plan, path, connect(stand_in.url))
    assert report.counts["refused"] == 3
    assert unread_share(plan, path) == (4, 26)
    kept = [json.loads(line)["body"].get("error") for line in path.read_text().splitlines()]
    (error, *_) = [error for error in kept if error]
    assert (error["code"], error["refused_with"]) == ("tool_use_failed", 400)
    assert +sent(plan, path, connect(stand_in.url)).counts == {"cached": 26}


def test_too_many_unread_answers_stop_the_run(
    stand_in: StandIn, three: Path, tmp_path: Path
) -> None:
    cut = completion({"role": "assistant", "content": ""}, "length")
    stand_in.answer = lambda body: cut if len(stand_in.bodies) % 2 else empty_state(body)
    plan = plan_for(three, "openai")
    limits = SendingOptions(concurrency=1, stop_unread="0.5/10")
    report = sent(plan, tmp_path / "a.jsonl", connect(stand_in.url), limits)
    assert report.stopped
    assert len(stand_in.bodies) == 10
    assert not sent(plan, tmp_path / "b.jsonl", connect(stand_in.url)).stopped


def test_what_a_server_ignores_is_refused_with_the_reason() -> None:
    """https://docs.anthropic.com/en/api/openai-sdk: seed, strict and response_format."""
    anthropic = PROVIDERS["anthropic"]
    assert "seed" not in RequestSettings(model="m", provider=anthropic).fields({})
    with pytest.raises(SgdxError, match="^--answer json_schema: "):
        RequestSettings(model="m", provider=anthropic, answer="json_schema")
    with pytest.raises(SgdxError, match="^--strict: "):
        RequestSettings(model="m", provider=anthropic, strict=True)


def test_a_key_goes_to_its_own_provider_alone(
    stand_in: StandIn, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-alone")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(SgdxError, match="OPENAI_API_KEY"):
        connect("https://api.openai.com/v1")
    assert base_url(None, OPENAI) == "http://127.0.0.1:9/v1"
    assert base_url(None, PROVIDERS["groq"]) == "https://api.groq.com/openai/v1"
    with pytest.raises(SgdxError, match="GROQ_API_KEY"):
        connect(base_url(None, PROVIDERS["groq"]), PROVIDERS["groq"])
    body = {"model": "m", "tools": [{"type": "function", "function": {"name": "f"}}]}
    asyncio.run(connect(stand_in.url, PROVIDERS["vllm"])(body, 0))
    assert stand_in.keys == {"Bearer none"}
