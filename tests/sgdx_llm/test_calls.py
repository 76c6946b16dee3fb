"""The forms in which calls are written, in answers and in their text; none vanishes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_llm.calls import (
    chat_completion,
    chat_messages,
    decode_arguments,
    listed_calls,
    read_answer_line,
    with_plain_calls,
)
from sgdx_llm.text_calls import Call, calls_in_text

ROME, DAVOS = Call("get_weather", {"city": "Rome"}), Call("get_weather", {"city": "Davos"})
NOW = Call("now", {})
JSON_ROME = '{"name": "get_weather", "arguments": {"city": "Rome"}}'
JSON_DAVOS = '{"name": "get_weather", "arguments": {"city": "Davos"}}'
CODER = "<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>"
MANY = Call("f", {"n": 3, "on": True, "text": "a\nb", "list": [1, "x"], "none": None})


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        # A JSON object, alone, in a fence, in other words, and several.
        (JSON_ROME, [ROME]),
        (f"```json\n{JSON_ROME}\n```", [ROME]),
        (f"Let me look. {JSON_ROME} One moment.", [ROME]),
        (f"{JSON_DAVOS}\n{JSON_ROME}", [DAVOS, ROME]),
        (f"[{JSON_DAVOS}, {JSON_ROME}]", [DAVOS, ROME]),
        (f'{{"tool_calls": [{JSON_ROME}]}}', [ROME]),
        (f'{{"type": "function", "function": {JSON_ROME}}}', [ROME]),
        ('{"name": "get_weather", "arguments": "{\\"city\\": \\"Rome\\"}"}', [ROME]),
        ('{"name": "now", "arguments": null}', [NOW]),
        # Hermes and Qwen.
        (f"<tool_call>\n{JSON_ROME}\n</tool_call>", [ROME]),
        (f"<tool_call>{JSON_DAVOS}</tool_call>\n<tool_call>\n{JSON_ROME}\n</tool_call>",
         [DAVOS, ROME]),
        (f"<tool_call>\n{JSON_ROME}", [ROME]),  # the closing tag was a stop word
        ('<tool_call>{"name": "now"}</tool_call>', [NOW]),
        (f"<tool_call>{JSON_ROME}</tool_call> Done.", [ROME]),
        # Qwen3-coder, and Llama's tag with JSON in it.
        (CODER, [ROME]),
        (f"Sure.\n<tool_call>\n{CODER}\n</tool_call>", [ROME]),
        (f"<tool_call>\n{CODER}\n</tool_call>\n<tool_call>{JSON_DAVOS}</tool_call>", [ROME, DAVOS]),
        ("<tool_call><function=now>\n</function></tool_call>", [NOW]),
        ("<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=on>\ntrue\n</parameter>\n"
         '<parameter=text>\na\nb\n</parameter>\n<parameter=list>\n[1, "x"]\n</parameter>\n'
         "<parameter=none>\nnull\n</parameter>\n</function>", [MANY]),
        ('<function=get_weather>{"city": "Rome"}</function>', [ROME]),
        # Mistral, old and new.
        (f"[TOOL_CALLS][{JSON_DAVOS}, {JSON_ROME}]", [DAVOS, ROME]),
        (f"[TOOL_CALLS] {JSON_ROME}", [ROME]),
        ('[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}', [ROME]),
        ('[TOOL_CALLS]get_weather{"city": "Davos"}[TOOL_CALLS]get_weather{"city": "Rome"}',
         [DAVOS, ROME]),
        # Llama's.
        ('<|python_tag|>{"name": "get_weather", "parameters": {"city": "Rome"}}', [ROME]),
        ('{"type": "function", "name": "get_weather", "parameters": {"city": "Rome"}}', [ROME]),
        ('<|python_tag|>{"name": "get_weather", "parameters": {"city": "Davos"}}; '
         '{"name": "get_weather", "parameters": {"city": "Rome"}}<|eom_id|>', [DAVOS, ROME]),
        # Granite's and Phi's.
        (f"<|tool_call|>[{JSON_ROME}]", [ROME]),
        (f"functools[{JSON_ROME}]", [ROME]),
        # As Python.
        ('[get_weather(city="Rome")]', [ROME]),
        ("[get_weather(city=\"Davos\"), get_weather(city='Rome')]", [DAVOS, ROME]),
        ('<|python_start|>[get_weather(city="Rome")]<|python_end|>', [ROME]),
        ("```python\n[now()]\n```", [NOW]),
        ('[f(n=3, on=True, text="a\\nb", list=[1, "x"], none=None)]', [MANY]),
        ('<|python_tag|>get_weather.call(city="Rome")', [ROME]),
        # What is no call.
        ("It is sunny in Rome.", []),
        ('I met {"name": "Bob", "age": 3}.', []),
        ('{"city": "Rome"}', []),
        ("[1, 2, 3]", []),
        ("Use f(x) with x [as said], or (both).", []),
        ('{"name": "f", "description": "A tool", "parameters": {"type": "object"}}', []),
        ("", []),
    ],
)  # fmt: skip
def test_forms_in_a_text(text: str, calls: list[Call]) -> None:
    assert calls_in_text(text) == (calls, False)


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"type": "string"}, "007", "007"),
        ({"type": "string"}, "1e3", "1e3"),
        ({"type": "string"}, "true", "true"),
        ({"type": "string"}, "null", "null"),
        ({"type": "string"}, '{"a": 1}', '{"a": 1}'),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "12", "12"),
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, "twelve", "twelve"),
        ({"type": "number"}, "1.50", 1.5),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "array", "items": {"type": "string"}}, '["1"]', ["1"]),
        ({"type": ["integer", "string"]}, "12", 12),
        ({"anyOf": [{"type": "string"}]}, "12", 12),
        ({}, "12", 12),
        (None, "12", 12),
    ],
)
def test_a_value_in_a_tag_has_the_type_of_the_tools_parameter(
    schema: Any, written: str, value: Any
) -> None:
    text = f"<function=f>\n<parameter=a>\n{written}\n</parameter>\n</function>"
    properties = {} if schema is None else {"a": schema}
    tools: list[Any] = [{"name": "other"}, {"name": "f", "parameters": {"properties": properties}}]
    assert calls_in_text(text, tools) == ([Call("f", {"a": value})], False)


@pytest.mark.parametrize(
    "text",
    [
        # With a key twice, cut off, without a name, and of forms that are not known.
        '{"name": "get_weather", "arguments": {"city": "Oslo", "city": "Rome"}}',
        '<tool_call>{"name": "get_weather", "arguments": {"ci',
        f"<tool_call>{JSON_ROME}</tool_call><tool_call>{{'name': 'now'}}</tool_call>",
        "<tool_call>get_weather\n<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>",
        "<function=get_weather>\n<parameter=city>\nRome",
        "<function=f><parameter=a>1</parameter> and <parameter=a>2</parameter></function>",
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Ro',
        '[get_weather("Rome")]',
        "[get_weather(city=x)]",
        "[f(a=1, a=2)]",
        'I will call [get_weather(city="Rome")] now.',
        '<function_calls><invoke name="now"></invoke></function_calls>',
        "<|channel|>commentary to=functions.now <|message|>{}",
        "<\uff5ctool\u2581calls\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>now",
        '{"name": "get_weather", "arguments": "Rome"}',
        " " * 100_001 + JSON_ROME,
    ],
)
def test_what_looks_like_a_call_and_is_not_read(text: str) -> None:
    assert calls_in_text(text)[1]


RESPONSES = [
    {"type": "reasoning", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "c", "name": "get_weather", "arguments": '{"city":"Rome"}'}
]  # fmt: skip
BLOCKS = [
    {"type": "thinking", "thinking": "?"},
    {"type": "text", "text": "Hm."},
    {"type": "tool_use", "id": "c", "name": "get_weather", "input": {"city": "Rome"}},
]


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ({"object": "response", "status": "completed", "output": RESPONSES}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
          "output": RESPONSES}, "length"),
        ({"type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": "tool_use"},
         "stop"),
        ({"content": BLOCKS, "stop_reason": "max_tokens"}, "length"),
    ],
)  # fmt: skip
def test_answers_of_other_interfaces(body: Any, end: str) -> None:
    (choice,) = chat_completion(body)["choices"]
    assert choice["finish_reason"] == end
    message = choice["message"]
    assert message["content"] == "Hm."
    assert [(name, json.loads(a)) for name, a in listed_calls(message)] == [ROME]
    if "output" in body:  # a part that is not known
        body = {"output": [*RESPONSES, {"type": "computer_call", "id": "x"}]}
        assert list(chat_completion(body)) == ["unread"]


@pytest.mark.parametrize(
    "line",
    [
        {"response": {"body": {"output": RESPONSES}}},
        {"response": {"status_code": 200, "body": {"type": "message", "content": BLOCKS}}},
        {"result": {"type": "succeeded", "message": {"type": "message", "content": BLOCKS}}},
        {"calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}]},
    ],
)
def test_lines_of_batches_and_programs(line: Any) -> None:
    name, body = read_answer_line(json.dumps({"custom_id": "x", **line}).encode())
    assert name == "x"
    (found,) = listed_calls(chat_completion(body)["choices"][0]["message"])
    assert (found[0], decode_arguments(found[1])) == ROME


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ({"tool_calls": [{"function": {"name": "now", "arguments": "{}"}}]}, [("now", "{}")]),
        ({"tool_calls": [{"function": {"name": "now"}}]}, [("now", None)]),
        ({"content": "Hm.", "function_call": {"name": "now", "arguments": ""}}, [("now", "")]),
        ({"content": BLOCKS}, [("get_weather", {"city": "Rome"})]),
        ({"tool_calls": [{"type": "custom", "custom": {"name": "x"}}]}, [(None, None)]),
        ({"tool_calls": {"name": "now"}}, [(None, None)]),
        ({"tool_calls": None, "function_call": None, "content": "Hm."}, []),
    ],
)
def test_calls_that_a_message_lists(message: Any, calls: list[Any]) -> None:
    assert listed_calls(message) == calls


@pytest.mark.parametrize("written", [None, "", " ", "null", "{}", "[]", [], {}])
def test_no_arguments(written: Any) -> None:
    assert decode_arguments(written) == {}
    message = with_plain_calls({"tool_calls": [{"function": {"name": "a", "arguments": written}}]})
    assert message["tool_calls"][0]["function"] == {"name": "a", "arguments": "{}"}


@pytest.mark.parametrize("written", [0, False, 5, "x", '"x"', "5", [1], "[1]", '{"a": 1, "a": 2}'])
def test_what_are_no_arguments(written: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode_arguments(written)


def test_conversations_of_other_interfaces() -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    call = {"type": "function", "function": function, "id": "c"}
    expected = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Rome?"},
        {"role": "assistant", "content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "rain"},
        {"role": "user", "content": "And Davos?"},
    ]
    rain, davos = ({"type": "text", "text": text} for text in ("rain", "And Davos?"))
    result = {"type": "tool_result", "tool_use_id": "c", "content": [rain]}
    rome, hm = {"role": "user", "content": "Rome?"}, {"role": "assistant", "content": BLOCKS}
    anthropic = {"messages": [rome, hm, {"role": "user", "content": [result, davos]}]}
    assert chat_messages({"system": "Be kind.", **anthropic}) == expected
    responses = [
        {"role": "user", "content": [{"type": "input_text", "text": "Rome?"}]},
        *RESPONSES,
        {"type": "function_call_output", "call_id": "c", "output": "rain"},
        {"role": "user", "content": "And Davos?"},
    ]
    found = chat_messages({"instructions": "Be kind.", "input": responses})
    said, called = found[2], found.pop(3)
    assert [*found[:2], said | called | {"content": said["content"]}, *found[3:]] == expected
    assert chat_messages({"input": "Rome?"}) == [{"role": "user", "content": "Rome?"}]
    old = [
        {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": ""}},
        {"role": "function", "name": "now", "content": "noon"},
    ]
    first, second = chat_messages(old)
    assert first["tool_calls"][0]["function"] == {"name": "now", "arguments": "{}"}
    assert second["role"] == "tool" and second["tool_call_id"] == first["tool_calls"][0]["id"]


TEXTS = st.lists(
    st.sampled_from(
        ["<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<function=a>", "</function>",
         "<parameter=b>", "</parameter>", '{"name": "a", "arguments": {}}', '{"name": "a"}', "{",
         "[", "]", "}", "a(b=1)", ", ", "\n", "x", "<|python_tag|>", "\\d", '"']
    )
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(TEXTS | st.text())
def test_any_text_is_read(text: str) -> None:
    calls, _ = calls_in_text(text)
    json.dumps(calls)


@pytest.mark.parametrize("end", ["", "</function>", "</parameter></function>"])
def test_long_texts_end_soon(end: str) -> None:
    for part in (
        *("{", "[", "<function=a>", "<parameter=a>", '"name":', "[TOOL_CALLS]a", "a(", "-"),
        *("<function=a><parameter=a>", "<tool_call>", '{"name": "a", "arguments": {}}'),
    ):
        begin = time.process_time()
        calls_in_text((part * (100_000 // len(part)))[: 100_000 - len(end)] + end)
        assert time.process_time() - begin < 2, part
