"""The forms in which calls are written, in answers and in their text; none vanishes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_llm.calls import chat_completion, listed_calls, read_answer_line
from sgdx_llm.messages import checked, conversation_of, decode_arguments
from sgdx_llm.text_calls import Call, calls_in_text

from ..conftest import read_lines

ROME = Call("get_weather", {"city": "Rome"})
ROWS = read_lines(Path(__file__).with_name("text_calls.jsonl"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["of"])
def test_calls_in_a_text(row: Any) -> None:
    """Each form of them; what is none; and what looks like one more and is not read."""
    calls = [Call(*call) for call in row["calls"]]
    assert calls_in_text(row["text"], row.get("tools", ())) == (calls, row.get("more", False))


# Messages with the calls that they list; answers of other interfaces, of which each says "Hm." and
# asks for the weather, with how they end; and lines of batches and of programs that ask for it.
LISTED = read_lines(Path(__file__).with_name("listed_calls.jsonl"))


@pytest.mark.parametrize("row", [row for row in LISTED if "message" in row])
def test_calls_that_a_message_lists(row: Any) -> None:
    assert [[*call] for call in listed_calls(row["message"])] == row["calls"]


@pytest.mark.parametrize("row", [row for row in LISTED if "body" in row])
def test_answers_of_other_interfaces(row: Any) -> None:
    (choice,) = chat_completion(row["body"])["choices"]
    message = choice["message"]
    assert (choice["finish_reason"], message["content"]) == (row["end"], "Hm.")
    assert [(name, json.loads(a)) for name, a in listed_calls(message)] == [ROME]


def test_a_part_of_an_answer_that_is_not_known_makes_it_unread() -> None:
    part = {"type": "computer_call", "id": "x"}
    assert list(chat_completion({"output": [{"type": "reasoning", "summary": []}, part]})) == [
        "unread"
    ]


@pytest.mark.parametrize("row", [row for row in LISTED if "line" in row])
def test_lines_of_batches_and_programs(row: Any) -> None:
    name, body = read_answer_line(json.dumps({"custom_id": "x", **row["line"]}).encode())
    assert name == "x"
    (found,) = listed_calls(chat_completion(body)["choices"][0]["message"])
    assert (found[0], decode_arguments(found[1])) == ROME


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


def test_gemini_s_calls_get_ids_and_its_thoughts_are_no_text() -> None:
    """The other forms stand in the logs of the tools' tests."""
    call = {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}}
    result = {"functionResponse": {"name": "get_weather", "response": {"sky": "rain"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Rome?"}]},
        {"role": "model", "parts": [{"text": "so", "thought": True}, {"text": "Hm."}, call]},
        {"role": "user", "parts": [result]},
    ]
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    _, called, told = conversation_of({"contents": contents})
    assert called["content"] == "Hm."
    assert called["tool_calls"] == [{"type": "function", "function": function, "id": "call_1"}]
    assert (told["tool_call_id"], told["content"]) == ("call_1", '{"sky": "rain"}')
    assert conversation_of({"input": "Rome?"}) == [{"role": "user", "content": "Rome?"}]


TEXTS = st.lists(
    st.sampled_from(
        ["<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<function=a>", "</function>",
         "<parameter=b>", "</parameter>", '{"name": "a", "arguments": {}}', '{"name": "a"}', "{",
         "[", "]", "}", "a(b=1)", ", ", "\n", "x", "<|python_tag|>", "\\d", '"']
    )
).map("".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(TEXTS | st.text())
def test_any_text_is_read(text: str) -> None:
    calls, _ = calls_in_text(text)
    json.dumps(calls)


@pytest.mark.parametrize("end", ["", "</parameter></function>"])
def test_long_texts_end_soon(end: str) -> None:
    assert calls_in_text(" " * 100_001 + '{"name": "a", "arguments": {}}') == ([], True)
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
