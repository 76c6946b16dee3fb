"""Logs in the forms of programs and providers: the same case of each, or what was not read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgdx_llm.messages import conversation_of
from sgdx_tools.data import ExpectedCall
from sgdx_tools.folder import read_project
from sgdx_tools.logs import read_records
from sgdx_tools.predictions import MadeCall, read_calls

from .conftest import Capture, command, user, write_lines

Json = Any
# A conversation and its answer in OpenAI's form, from which each writer makes a log of its own.
Talk = tuple[list[Json], Json]


def calls_of(message: Json) -> list[tuple[str, str, Json]]:
    """The id, the name and the arguments of each call."""
    functions = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
    return [(i, function["name"], json.loads(function["arguments"])) for i, function in functions]


def pairs(messages: list[Json], answer: Json) -> Json:
    end = "tool_calls" if answer.get("tool_calls") else "stop"
    return {
        "request": {"model": "m", "messages": messages},
        "response": {"choices": [{"index": 0, "message": answer, "finish_reason": end}]},
    }


def gateway(messages: list[Json], answer: Json) -> Json:
    return {"model": "m", "messages": messages, "response": pairs([], answer)["response"]}


def texts(messages: list[Json], answer: Json) -> Json:
    return {key: json.dumps(value) for key, value in pairs(messages, answer).items()}


def responses(messages: list[Json], answer: Json) -> Json:
    def items(message: Json) -> list[Json]:
        if message["role"] == "tool":
            of = {"call_id": message["tool_call_id"], "output": message["content"]}
            return [{"type": "function_call_output", **of}]
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        text = message["content"]
        said = [{"type": kind, "text": text}] if text is not None else []
        listed: list[Json] = [{"role": message["role"], "content": said}] if said else []
        return listed + [
            {"type": "function_call", "call_id": i, "name": name, "arguments": json.dumps(values)}
            for i, name, values in calls_of(message)
        ]

    request = {"input": [item for message in messages for item in items(message)]}
    return {"request": request, "response": {"status": "completed", "output": items(answer)}}


def parts_of(message: Json, part: Callable[..., Json], result: Callable[..., Json]) -> Json:
    if message["role"] == "tool":
        return [result(message["tool_call_id"], message["content"])]
    said = [part("text", message["content"])] if message["content"] is not None else []
    return said + [part("call", call) for call in calls_of(message)]


def anthropic_parts(message: Json) -> Json:
    def part(kind: str, of: Any) -> Json:
        if kind == "text":
            return {"type": "text", "text": of}
        return {"type": "tool_use", "id": of[0], "name": of[1], "input": of[2]}

    def result(of: str, text: str) -> Json:
        inner = [{"type": "text", "text": text}]
        return {"type": "tool_result", "tool_use_id": of, "content": inner}

    return parts_of(message, part, result)


def bedrock_parts(message: Json) -> Json:
    def part(kind: str, of: Any) -> Json:
        if kind == "text":
            return {"text": of}
        return {"toolUse": {"toolUseId": of[0], "name": of[1], "input": of[2]}}

    def result(of: str, text: str) -> Json:
        return {"toolResult": {"toolUseId": of, "content": [{"text": text}], "status": "success"}}

    return parts_of(message, part, result)


def gemini_parts(message: Json) -> Json:
    def part(kind: str, of: Any) -> Json:
        if kind == "text":
            return {"text": of}
        return {"functionCall": {"id": of[0], "name": of[1], "args": of[2]}}

    def result(of: str, text: str) -> Json:
        return {"functionResponse": {"id": of, "name": "f", "response": text}}

    return parts_of(message, part, result)


def otel_parts(message: Json) -> Json:
    def part(kind: str, of: Any) -> Json:
        if kind == "text":
            return {"type": "text", "content": of}
        return {"type": "tool_call", "id": of[0], "name": of[1], "arguments": of[2]}

    def result(of: str, text: str) -> Json:
        return {"type": "tool_call_response", "id": of, "response": text}

    return parts_of(message, part, result)


def split(messages: list[Json]) -> tuple[list[Json], list[Json]]:
    """What systems say, and the others."""
    systems = [message for message in messages if message["role"] == "system"]
    return systems, messages[len(systems) :]


def anthropic(messages: list[Json], answer: Json) -> Json:
    systems, said = split(messages)
    role = {"tool": "user"}
    listed = [{"role": role.get(m["role"], m["role"]), "content": anthropic_parts(m)} for m in said]
    system = {"system": systems[0]["content"]} if systems else {}
    end = "tool_use" if answer.get("tool_calls") else "end_turn"
    response = {"type": "message", "role": "assistant", "content": anthropic_parts(answer)}
    return {"request": {**system, "messages": listed}, "response": response | {"stop_reason": end}}


def bedrock(messages: list[Json], answer: Json) -> Json:
    systems, said = split(messages)
    role = {"tool": "user"}
    listed = [{"role": role.get(m["role"], m["role"]), "content": bedrock_parts(m)} for m in said]
    system = {"system": [{"text": systems[0]["content"]}]} if systems else {}
    end = "tool_use" if answer.get("tool_calls") else "end_turn"
    response = {"output": {"message": {"role": "assistant", "content": bedrock_parts(answer)}}}
    return {
        "schemaType": "ModelInvocationLog",
        "operation": "Converse",
        "input": {"inputBodyJson": {**system, "messages": listed}},
        "output": {"outputBodyJson": response | {"stopReason": end}},
    }


def gemini(messages: list[Json], answer: Json) -> Json:
    systems, said = split(messages)
    role = {"tool": "user", "assistant": "model"}
    listed = [{"role": role.get(m["role"], m["role"]), "parts": gemini_parts(m)} for m in said]
    system = {"systemInstruction": {"parts": [{"text": systems[0]["content"]}]}} if systems else {}
    content = {"role": "model", "parts": gemini_parts(answer)}
    response = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    return {"request": {**system, "contents": listed}, "response": response}


def langchain_message(message: Json) -> Json:
    kind = {"user": "human", "assistant": "ai"}.get(message["role"], message["role"])
    data: Json = {"content": message["content"] or "", "additional_kwargs": {}, "id": None}
    if kind == "ai":
        data["tool_calls"] = [
            {"name": name, "args": values, "id": i, "type": "tool_call"}
            for i, name, values in calls_of(message)
        ]
        data["invalid_tool_calls"] = []
    if kind == "tool":
        data["tool_call_id"] = message["tool_call_id"]
    return {"type": kind, "data": data}


def langchain(messages: list[Json], answer: Json) -> Json:
    return {"messages": [langchain_message(message) for message in [*messages, answer]]}


def langchain_flat(messages: list[Json], answer: Json) -> Json:
    listed = [langchain_message(message) for message in [*messages, answer]]
    return [{"type": message["type"], **message["data"]} for message in listed]


def langsmith(messages: list[Json], answer: Json) -> Json:
    def constructed(message: Json) -> Json:
        found = langchain_message(message)
        name = {"human": "Human", "ai": "AI", "system": "System", "tool": "Tool"}[found["type"]]
        place = ["langchain", "schema", "messages", f"{name}Message"]
        return {"lc": 1, "type": "constructor", "id": place, "kwargs": found["data"]}

    generation = {"text": "", "message": constructed(answer), "generation_info": {}}
    return {
        "name": "ChatOpenAI",
        "run_type": "llm",
        "inputs": {"messages": [[constructed(message) for message in messages]]},
        "outputs": {"generations": [[generation]], "llm_output": None},
    }


def langsmith_plain(messages: list[Json], answer: Json) -> Json:
    outputs = pairs([], answer)["response"]
    return {"run_type": "llm", "inputs": {"messages": messages}, "outputs": outputs}


def langfuse(messages: list[Json], answer: Json) -> Json:
    of_span = {"type": "SPAN", "input": "x", "output": None}
    observation = {"type": "GENERATION", "input": json.dumps(messages), "output": answer}
    return {"id": "t", "observations": [of_span, observation]}


def stored(messages: list[Json], answer: Json) -> Json:
    response = pairs([], answer)["response"]
    return {
        "object": "list",
        "data": [{"object": "chat.completion", "messages": messages} | response],
    }


def fine_tuning(messages: list[Json], answer: Json) -> Json:
    return {"messages": [*messages, answer], "tools": [], "parallel_tool_calls": False}


def preference(messages: list[Json], answer: Json) -> Json:
    worse = [{"role": "assistant", "content": "No."}]
    return {"input": {"messages": messages, "tools": []}, "preferred_output": [answer],
            "non_preferred_output": worse}  # fmt: skip


def agents(messages: list[Json], answer: Json) -> Json:
    data = {"type": "generation", "input": messages, "output": [answer], "model": "m"}
    return {"object": "trace.span", "id": "s", "span_data": data}


def otel(messages: list[Json], answer: Json) -> Json:
    listed = [{"role": m["role"], "parts": otel_parts(m)} for m in messages]
    end = {"finish_reason": "tool_call" if answer.get("tool_calls") else "stop"}
    said = [{"role": "assistant", "parts": otel_parts(answer), **end}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(listed),
        "gen_ai.output.messages": json.dumps(said),
    }
    return {"name": "chat m", "attributes": attributes}


def tempo(messages: list[Json], answer: Json) -> Json:
    span = otel(messages, answer)
    written = [{"key": k, "value": {"stringValue": v}} for k, v in span["attributes"].items()]
    return {"batches": [{"resource": {}, "scopeSpans": [{"spans": [{"attributes": written}]}]}]}


def jaeger(messages: list[Json], answer: Json) -> Json:
    span = otel(messages, answer)
    tags = [{"key": k, "type": "string", "value": v} for k, v in span["attributes"].items()]
    return {"data": [{"traceID": "1", "spans": [{"operationName": "chat", "tags": tags}]}]}


def mlflow(messages: list[Json], answer: Json) -> Json:
    found = texts(messages, answer)
    spans = {"spanInputs": found["request"], "spanOutputs": found["response"]}
    attributes = {"spanType": '"CHAT_MODEL"', **spans}
    return {"name": "C", "attributes": {f"mlflow.{key}": v for key, v in attributes.items()}}


def vercel(messages: list[Json], answer: Json) -> Json:
    def said(message: Json) -> Json:
        if message["role"] == "tool":
            result = {"toolCallId": message["tool_call_id"], "toolName": "f"}
            result |= {"output": {"type": "text", "value": message["content"]}}
            return {"role": "tool", "content": [{"type": "tool-result", **result}]}
        parts: list[Json] = []
        if message["content"] is not None:
            parts.append({"type": "text", "text": message["content"]})
        for i, name, values in calls_of(message):
            parts.append({"type": "tool-call", "toolCallId": i, "toolName": name, "input": values})
        is_text = message["role"] == "system"
        return {"role": message["role"], "content": message["content"] if is_text else parts}

    calls = [
        {"toolCallId": i, "toolName": name, "input": json.dumps(values)}
        for i, name, values in calls_of(answer)
    ]
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": json.dumps([said(message) for message in messages]),
        "ai.response.text": answer["content"] or "",
        "ai.response.toolCalls": json.dumps(calls),
        "ai.response.finishReason": "tool-calls" if calls else "stop",
    }
    around = {"ai.operationId": "ai.generateText", "ai.prompt": "{}"}
    return [{"name": "ai", "attributes": around}, {"name": "do", "attributes": attributes}]


def openinference_message(message: Json) -> Json:
    said: Json = {"role": message["role"]}
    if message["content"] is not None:
        said["content"] = message["content"]
    if message["role"] == "tool":
        said["tool_call_id"] = message["tool_call_id"]
    if calls := calls_of(message):
        said["tool_calls"] = [
            {"tool_call": {"id": i, "function": {"name": name, "arguments": json.dumps(values)}}}
            for i, name, values in calls
        ]
    return {"message": said}


def phoenix(messages: list[Json], answer: Json) -> Json:
    model = {
        "input_messages": [openinference_message(message) for message in messages],
        "output_messages": [openinference_message(answer)],
        "model_name": "m",
    }
    attributes = {"openinference": {"span": {"kind": "LLM"}}, "llm": model}
    return {"name": "ChatCompletion", "span_kind": "LLM", "attributes": attributes}


def flat(value: Json, path: str = "") -> Json:
    """A tree as dotted paths."""
    if not isinstance(value, dict | list) or not value:
        return {path: value}
    items = enumerate(value) if isinstance(value, list) else value.items()
    found: Json = {}
    for key, inner in items:
        found |= flat(inner, f"{path}.{key}" if path else str(key))
    return found


def openinference(messages: list[Json], answer: Json) -> Json:
    return {"name": "a", "attributes": flat(phoenix(messages, answer)["attributes"])}


def phoenix_table(messages: list[Json], answer: Json) -> Json:
    model = phoenix(messages, answer)["attributes"]["llm"]
    found = {key: [flat(m) for m in model[key]] for key in ("input_messages", "output_messages")}
    return {"attributes": {"openinference.span.kind": "LLM", "llm": found}}


def events(messages: list[Json], answer: Json) -> Json:
    listed = []
    for message in messages:
        fields = {key: value for key, value in message.items() if value is not None}
        if message["role"] == "tool":
            fields["id"] = fields.pop("tool_call_id")
        listed.append({"event.name": f"gen_ai.{message['role']}.message", **fields})
    listed.append({"event.name": "gen_ai.choice", "index": 0, "message": answer})
    return {"attributes": {"gen_ai.operation.name": "chat", "events": json.dumps(listed)}}


FORMS: tuple[Callable[[list[Json], Json], Json], ...] = (
    *(pairs, gateway, texts, responses, anthropic, bedrock, gemini, langchain, langchain_flat),
    *(langsmith, langsmith_plain, langfuse, stored, fine_tuning, preference, agents, otel, tempo),
    *(jaeger, mlflow, vercel, openinference, phoenix, phoenix_table, events),
)
TEXTS = st.text("ab {\u00e9\n", min_size=1, max_size=8).filter(str.strip)
VALUES = st.dictionaries(
    st.sampled_from(["city", "n"]), st.integers(0, 9) | st.text("ab\u00e9", max_size=3), max_size=2
)


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """Turns of a user, with calls and their results between, and an answer."""
    messages: list[Json] = []
    number = 0

    def said(with_calls: int) -> Json:
        nonlocal number
        calls = []
        for _ in range(with_calls):
            number += 1
            name = draw(st.sampled_from(["f", "get_weather"]))
            function = {"name": name, "arguments": json.dumps(draw(VALUES), ensure_ascii=False)}
            calls.append({"id": f"c{number}", "type": "function", "function": function})
        text = draw(TEXTS) if not calls or draw(st.booleans()) else None
        return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}

    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(TEXTS)})
    for _ in range(draw(st.integers(1, 2))):
        messages.append(user(draw(TEXTS)))
        for _ in range(draw(st.integers(0, 2))):
            turn = said(draw(st.integers(1, 2)))
            messages.append(turn)
            for call in turn["tool_calls"]:
                result = {"role": "tool", "tool_call_id": call["id"], "content": draw(TEXTS)}
                messages.append(result)
        if draw(st.booleans()):
            messages.append(said(0))
    if messages[-1]["role"] == "assistant":
        messages.append(user(draw(TEXTS)))
    return messages, said(draw(st.integers(0, 2)))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_conversation_comes_back_the_same_of_each_form(form: Any, tmp_path: Path) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(talks())
    def check(talk: Talk) -> None:
        messages, answer = talk
        path = tmp_path / "log.json"
        path.write_text(json.dumps(form(messages, answer), indent=2))
        found = [asked for _, asked in read_records(path) if asked is not None]
        assert len(found) == 1 and not isinstance(found[0], str), found
        read = conversation_of(found[0].request)
        read = [{key: m[key] for key in m if (m["role"], key) != ("tool", "name")} for m in read]
        for got, expected in zip(read, messages, strict=True):
            if "langchain" in form.__name__ or form is langsmith:  # whose content is never none
                expected = expected | {"content": expected["content"] or got["content"]}
            calls = [m["tool_calls"] for m in (got, expected) if "tool_calls" in m]
            assert got | {"tool_calls": 0} == expected | {"tool_calls": 0}
            assert [calls_of(m) for m in (got, expected)] == [calls_of(expected)] * 2, calls
        made, counts = read_calls(found[0].answer)
        assert made == tuple(MadeCall(name, values) for _, name, values in calls_of(answer))
        assert not counts["unread"]

    check()


SAID = [user("Rain in Rome?")]
CALL = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": CALLED}
TEXT = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "rain"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
RAIN = {"type": "tool_use", "id": "c", "name": "weather", "input": {}}


def asked(response: Json, messages: Json = SAID, **more: Json) -> Json:
    return {"request": {"messages": messages, **more}, "response": response}


def chat(**choice: Json) -> Json:
    return {"choices": [{**TEXT, **choice}]}


def of_span(**attributes: Json) -> Json:
    return {"name": "chat m", "attributes": {"gen_ai.operation.name": "chat"} | attributes}


@pytest.mark.parametrize(
    ("record", "part"),
    [
        # An answer that has not ended, or is not known whole.
        (asked(chat(finish_reason=None)), "finish_reason"),
        (asked(chat(finish_reason="malformed_function_call", message=None)), "malformed_function"),
        (asked(chat(finish_reason="length")), "limit"),
        (asked([{"object": "chat.completion.chunk", "choices": []}]), "stream"),
        (asked({"choices": [{"index": 0, "delta": {"content": "Y"}}]}), "stream"),
        (asked('data: {"choices": []}\n\n'), "stream"),
        (asked({"content": [{"type": "text", "text": "H"}], "stop_reason": "pause_turn"}), "pause"),
        (asked({"status": "in_progress", "output": []}), "in_progress"),
        (asked({"status": "cancelled", "output": []}), "cancelled"),
        (asked({"output": [{"type": "web_search_call", "id": "w"}]}), "web_search_call"),
        (asked({"message": {"role": "assistant", "content": "Y"}, "done": False}), "done"),
        (asked({"candidates": [{"finishReason": "UNEXPECTED_TOOL_CALL"}]}), "UNEXPECTED_TOOL"),
        (asked({"candidates": [], "promptFeedback": {"blockReason": "OTHER"}}), "OTHER"),
        (asked({"error": {"message": "busy"}}), "busy"),
        (asked({"status_code": 429, "body": {}}), "429"),
        (asked(None), "response"),
        (asked(chat(message={"role": "assistant", "content": "<some_tool_call>"})), "like a call"),
        (asked(chat(message={"role": "assistant", "content": "", "toolCalls": [1]})), "toolCalls"),
        (asked({"choices": [{**CHOICE, "message": {**CALLED, "tool_calls": [
            {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "x"}}]}}]}), "calls"),
        # A conversation that no provider takes, or of which there is more elsewhere.
        (asked(chat(), [*SAID, CALLED, *SAID]), "no result"),
        (asked(chat(), [*SAID, CALLED, *SAID, RESULT]), "no result"),
        (asked(chat(), [*SAID, RESULT]), "no such call"),
        (asked(chat(), [*SAID, CALLED, RESULT, RESULT]), "no such call"),
        (asked(chat(), [*SAID, CALLED | {"tool_calls": [CALL, CALL]}, RESULT]), "two calls"),
        (asked(chat(), [{"role": "user", "content": None}]), "content"),
        (asked(chat(), [{"role": "robot", "content": "x"}]), "robot"),
        (asked(chat(), previous_response_id="r"), "previous_response_id"),
        (asked(chat(), []), "no messages"),
        # What is no text.
        (asked(chat(), [{"role": "user", "content": [PICTURE]}]), "image"),
        (asked(chat(), [*SAID, {"role": "assistant", "content": [RAIN]}, {
            "role": "user", "content": [{"type": "tool_result", "tool_use_id": "c",
                                         "content": [PICTURE]}]}]), "image"),
        (asked(chat(), [*SAID, CALLED, RESULT | {"content": "data:image/png;base64,iV"}]), "file"),
        (asked(chat(), [*SAID, {"role": "assistant", "content": None, "audio": {"id": 1}}]),
         "audio"),
        (asked(chat(), [{"role": "user", "content": "x", "images": ["iVBO"]}]), "images"),
        # Records of which a part lacks, and those of other forms.
        (of_span(), "without messages in gen_ai.operation.name"),
        (of_span(**{"gen_ai.input.messages": json.dumps(SAID)}), "without an answer"),
        ({"custom_id": "a", "response": {"body": chat()}}, "request"),
        ({"id": "x", "object": "chat.completion", **chat()}, "messages"),
        ({"run_type": "llm", "inputs": {"messages": SAID}, "error": "Timeout"}, "Timeout"),
        ({"type": "GENERATION", "input": SAID, "output": None}, "output"),
        ({"messages": SAID}, "user"),
        ({"schemaType": "ModelInvocationLog", "input": {"inputBodyS3Path": "s3://b"}, "output": {}},
         "inputBodyJson"),
        ({"level": "INFO", "text": "hello"}, "level, text"),
        (7, "7"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_named(folder: Path, record: Json, part: str, capsys: Capture) -> None:
    """The line, and the part that was not understood."""
    write_lines(folder.parent / "log.jsonl", [{"attributes": {"http.method": "GET"}}, record])
    assert command("cases", folder, "--from", folder.parent / "log.jsonl") == 2
    error = capsys.readouterr().err
    assert "left out 1" in error and "other records 1" in error and "log.jsonl:2" in error
    assert part in error.split("log.jsonl:2")[1], error


WEATHER = (ExpectedCall("weather", {}),)


@pytest.mark.parametrize(
    ("record", "expect"),
    [
        # Two messages are one answer, and two choices are two.
        (of_span(**{"gen_ai.input.messages": json.dumps(SAID), "gen_ai.output.messages": json.dumps(
            [TEXT["message"], CALLED])}), [WEATHER]),
        (asked({"choices": [TEXT, CHOICE]}, n=2), [None, WEATHER]),
        (asked({"choices": [{**CHOICE, "message": {"content": "", "function_call": {
            "name": "weather", "arguments": ""}}}]}), [WEATHER]),
        # A refusal is an answer, and calls nothing.
        (asked(chat(message={"role": "assistant", "content": None, "refusal": "No."})), [None]),
        # The later of two answers in a list has the call.
        (asked({"output": [{"type": "reasoning", "summary": []}, CALLED]}), [WEATHER]),
    ],
)  # fmt: skip
def test_what_an_answer_calls(folder: Path, record: Json, expect: Json, capsys: Capture) -> None:
    before = {case.id for case in read_project(folder).all_cases}
    write_lines(folder.parent / "log.jsonl", [record])
    assert command("cases", folder, "--from", folder.parent / "log.jsonl") == 0
    cases = [case for case in read_project(folder).all_cases if case.id not in before]
    assert [case.expect for case in cases] == expect
