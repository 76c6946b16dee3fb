"""The forms in which calls are written, in answers and in their text; none vanishes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_llm.calls import chat_completion, listed_calls, read_answer_line
from sgdx_llm.messages import checked, conversation_of, decode_arguments
from sgdx_llm.text_calls import Call, calls_in_text

ROME, DAVOS = Call("get_weather", {"city": "Rome"}), Call("get_weather", {"city": "Davos"})
NOW = Call("now", {})
JSON_ROME = '{"name": "get_weather", "arguments": {"city": "Rome"}}'
JSON_DAVOS = '{"name": "get_weather", "arguments": {"city": "Davos"}}'
CODER = "<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>"
KIMI, ROME_ARGUMENTS = "get_weather:0<|tool_call_argument_begin|>", '{"city": "Rome"}'
OF_DEEPSEEK = "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>"
INVOKED = """<{0}{2}>
<{0}invoke name="get_weather">
<{0}parameter name="city"{1}>Rome</{0}parameter>
</{0}invoke>
</{0}{2}>"""
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
        # Kimi K2, also with its marks lost; DeepSeek; GLM; MiniMax; Step; Seed.
        (f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{KIMI}{ROME_ARGUMENTS}"
         f"<|tool_call_end|><|tool_call_begin|>functions.{KIMI}{ROME_ARGUMENTS}<|tool_call_end|>"
         "<|tool_calls_section_end|>", [ROME, ROME]),
        (f"{KIMI}{ROME_ARGUMENTS}<|tool_calls_section_end|>", [ROME]),
        (f"{OF_DEEPSEEK}get_weather<\uff5ctool\u2581sep\uff5c>{ROME_ARGUMENTS}"
         "<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>", [ROME]),
        (f"{OF_DEEPSEEK}function<\uff5ctool\u2581sep\uff5c>get_weather\n```json\n{ROME_ARGUMENTS}\n"
         "```<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>", [ROME]),
        (INVOKED.format("\uff5cDSML\uff5c", ' string="true"', "function_calls"), [ROME]),
        (INVOKED.format("", "", "function_calls"), [ROME]),
        ("<\uff5ctool_calls_begin\uff5c><\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c>"
         '<steptml:invoke name="get_weather"><steptml:parameter name="city">Rome'
         "</steptml:parameter></steptml:invoke><\uff5ctool_call_end\uff5c>"
         "<\uff5ctool_calls_end\uff5c>", [ROME]),
        (INVOKED.format("", "", "x").replace("x>", "minimax:tool_call>"), [ROME]),
        ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n"
         "</tool_call>", [ROME]),
        (f"<seed:tool_call>{CODER}</seed:tool_call>", [ROME]),
        # Gemma, Gemini, Cohere, OpenAI's open models, LFM, Olmo, InternLM, Qwen's first, ReAct.
        ('<|tool_call>call:f{n:3,on:true,text:<|"|>a\nb<|"|>,list:[1,<|"|>x<|"|>],none:null}'
         "<tool_call|>", [MANY]),
        ("<start_function_call>call:get_weather{city:<escape>Rome<escape>}<end_function_call>",
         [ROME]),
        ('```tool_code\nprint(default_api.get_weather(city="Rome"))\n```', [ROME]),
        ('<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
         f"{ROME_ARGUMENTS}}}]<|END_ACTION|>", [ROME]),
        ("<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>commentary "
         f"to=functions.get_weather <|constrain|>json<|message|>{ROME_ARGUMENTS}<|call|>", [ROME]),
        (f"<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>"
         f"{ROME_ARGUMENTS}<|call|>", [ROME]),
        (f"assistantcommentary to=get_weather json{ROME_ARGUMENTS}", [ROME]),
        ('<|tool_call_start|>[get_weather(city="Rome")]<|tool_call_end|>', [ROME]),
        ('<function_calls>get_weather(city="Davos")\nget_weather(city="Rome")</function_calls>',
         [DAVOS, ROME]),
        (f"<|action_start|><|plugin|>\n{JSON_ROME}<|action_end|>", [ROME]),
        (f"\u273fFUNCTION\u273f: get_weather\n\u273fARGS\u273f: {ROME_ARGUMENTS}", [ROME]),
        (f"Thought: so\nAction: get_weather\nAction Input: {ROME_ARGUMENTS}", [ROME]),
        # Marks that were lost, and other keys.
        (f"get_weather[ARGS]{ROME_ARGUMENTS}", [ROME]),
        *((f'{{"{name}": "get_weather", "{key}": {ROME_ARGUMENTS}}}', [ROME])
          for name, key in (("function", "parameters"), ("tool", "arguments"),
                            ("action", "action_input"), ("tool_name", "parameters"))),
        # What is no call.
        ("It is sunny in Rome.", []),
        ("Action: sing\nIt is fun.", []),
        ("<b>Rome</b> has <a href='x'>rain</a>.", []),
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
        "<function=get_weather>\n<parameter=city>\nRome",
        "<function=f><parameter=a>1</parameter> and <parameter=a>2</parameter></function>",
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Ro',
        '[get_weather("Rome")]',
        "[get_weather(city=x)]",
        "[f(a=1, a=2)]",
        'I will call [get_weather(city="Rome")] now.',
        "<\uff5ctool\u2581calls\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>now",
        '{"name": "get_weather", "arguments": "Rome"}',
        # Kimi K3, Apertus, and whatever says that it is a call.
        '<|open|>tools<|sep|><|open|>call name="now"<|sep|><|close|>call<|sep|>',
        '<|tools_prefix|>[{"now": {}}]<|tools_suffix|>',
        "<use_mcp_tool><tool_name>now</tool_name></use_mcp_tool>",
        "<some_tool_call>now</some_tool_call>",
        # By the name of a function that is offered.
        *(
            'now {"day": 1}',
            "I call now(day=1).",
            '{"now": {"day": 1}}',
            "<now><day>1</day></now>",
            '{"tool_to_use": "now", "input": {}}',
            'Action: now("x")',
            "now()",
        ),
        " " * 100_001 + JSON_ROME,
    ],
)
def test_what_looks_like_a_call_and_is_not_read(text: str) -> None:
    calls, has_more = calls_in_text(text, [{"name": "now"}, {"name": "get_weather"}])
    assert has_more or calls == [NOW]


@pytest.mark.parametrize("text", ["The weather is nice now (or later).", "now", "Use now, then: {"])
def test_an_offered_name_alone_is_no_call(text: str) -> None:
    assert calls_in_text(text, [{"name": "now"}]) == ([], False)


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
        ({"content": BLOCKS}, [("get_weather", '{"city": "Rome"}')]),
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
    said, result = {"role": "user", "content": "?"}, {"role": "tool", "content": ""}
    calls = [{"id": "c", "function": {"name": "a", "arguments": written}}]
    messages = checked([said, {"role": "assistant", "tool_calls": calls}, result])
    assert messages[1]["tool_calls"][0]["function"] == {"name": "a", "arguments": "{}"}


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
    assert conversation_of({"system": "Be kind.", **anthropic}) == expected
    responses = [
        {"role": "user", "content": [{"type": "input_text", "text": "Rome?"}]},
        *RESPONSES,
        {"type": "function_call_output", "call_id": "c", "output": "rain"},
        {"role": "user", "content": "And Davos?"},
    ]
    assert conversation_of({"instructions": "Be kind.", "input": responses}) == expected
    assert conversation_of({"input": "Rome?"}) == [{"role": "user", "content": "Rome?"}]
    said: list[Any] = [{"text": "Rome?"}]
    called = {"toolUse": {"toolUseId": "c", "name": "get_weather", "input": {"city": "Rome"}}}
    came = {"toolResult": {"toolUseId": "c", "content": [{"text": "rain"}]}}
    bedrock = [
        {"role": "user", "content": said},
        {"role": "assistant", "content": [{"text": "Hm."}, called]},
        {"role": "user", "content": [came, {"text": "And Davos?"}]},
    ]
    assert conversation_of({"system": [{"text": "Be kind."}], "messages": bedrock}) == expected
    # Gemini has no ids, so that some are made.
    contents = [
        {"role": "user", "parts": said},
        {"role": "model", "parts": [{"text": "so", "thought": True}, {"text": "Hm."},
                                    {"functionCall": {"name": "get_weather",
                                                      "args": {"city": "Rome"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "get_weather",
                                                         "response": {"sky": "rain"}}}]},
        {"role": "user", "parts": [{"text": "And Davos?"}]},
    ]  # fmt: skip
    found = conversation_of({"systemInstruction": {"parts": [{"text": "Be kind."}]},
                             "contents": contents})  # fmt: skip
    assert found[2]["tool_calls"] == [call | {"id": "call_1"}]
    assert found[3] == {"role": "tool", "tool_call_id": "call_1", "name": "get_weather",
                        "content": '{"sky": "rain"}'}  # fmt: skip
    assert [*found[:2], found[4]] == [*expected[:2], expected[4]]


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


def test_parallel_calls_without_ids_stand_in_one_message_each_with_its_result() -> None:
    """Also where each call is a message of its own, as in spans."""

    def called(city: str) -> Any:
        part = {"type": "tool_call", "name": "f", "arguments": {"city": city}}
        return {"role": "assistant", "parts": [part]}

    results = [{"type": "tool_call_response", "response": text} for text in ("rain", "sun")]
    said = {"role": "user", "content": "?"}
    listed = [said, called("Rome"), called("Oslo"), {"role": "tool", "parts": results}]
    _, message, *found = conversation_of({"messages": listed})
    calls = [(call["id"], call["function"]["arguments"]) for call in message["tool_calls"]]
    assert calls == [("call_1", '{"city": "Rome"}'), ("call_2", '{"city": "Oslo"}')]
    assert [(m["tool_call_id"], m["content"]) for m in found] == [
        ("call_1", "rain"),
        ("call_2", "sun"),
    ]
    with pytest.raises(ValueError, match="no result"):
        conversation_of({"messages": [*listed[:3], {"role": "tool", "parts": results[:1]}, said]})
