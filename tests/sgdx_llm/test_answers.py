"""What is read from answers, and that nothing that a model or a server writes raises."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_dataset.schema import read_service
from sgdx_llm.answers import COUNTS, read_answer, read_state, why_unread
from sgdx_llm.calls import read_body, why_no_answer
from sgdx_llm.requests import AnswerForm, RequestSettings

from ..conftest import intent, read_lines, slot
from .server import call_completion, completion, gold_answer

SCHEMA = {
    "service_name": "Media_9",
    "description": "Films to watch",
    "slots": [
        slot("title", ""),
        slot("subtitles", "", "None", "English"),
        slot("seats", "", "1", "2"),
        slot("3-D?", "", "True", "False"),
        slot("director", ""),
    ],
    "intents": [intent("PlayFilm", "", ["title"], ["subtitles", "seats", "3-D?"])],
}
SERVICE = read_service(SCHEMA)
STATE = '{"active_intent": "PlayFilm", "requested_slots": ["director"], "slot_values": {}}'


def text(content: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    return completion({"role": "assistant", "content": content, **more}, finish)


@pytest.mark.parametrize("row", read_lines(Path(__file__).with_name("answers.jsonl")))
def test_what_is_read_of_an_answer(row: Any) -> None:
    """The state is found where it is; what is none, or no part of one, is counted."""
    found = read_answer(row["body"], SERVICE, in_call=True)
    state = [found.active_intent, [*found.requested_slots], found.slot_values]
    assert (state, found.counts) == (row["state"], row["counts"])


def test_a_draft_is_no_answer() -> None:
    draft = STATE.replace("director", "title")
    for cut in (f"<think>{draft}", f"The user {draft}", f"{draft}</think>"):
        found = read_answer(text(cut, "length"), SERVICE, in_call=False)
        assert found.counts["unread"] == 1
        assert why_unread(found.counts) == "truncated"
    found = read_answer(text(f"<think>{draft}</think>{STATE}"), SERVICE, in_call=False)
    assert (found.requested_slots, found.counts) == (("director",), {})
    assert read_answer(text(STATE, "length"), SERVICE, False).requested_slots == ("director",)
    value = json.dumps({"slot_values": {"title": "</think>"}})
    assert read_answer(text(value), SERVICE, False).slot_values == {"title": "</think>"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=5)
            | st.sampled_from(
                "choices message content tool_calls function name arguments finish_reason refusal "
                "error code state active_intent requested_slots slot_values title seats".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def _check(found: Any) -> None:
    assert found.active_intent in ("PlayFilm", "NONE")
    assert set(found.requested_slots) <= {one["name"] for one in SCHEMA["slots"]}  # type: ignore[index]
    assert set(found.counts) <= set(COUNTS)
    assert "director" not in found.slot_values
    assert found.slot_values.get("seats", "1") in ("1", "2", "dontcare")
    msgspec.json.encode(found.slot_values)


@settings(max_examples=80, deadline=None)
@given(JSON | JSON.map(lambda x: f"so: {json.dumps(x)} {STATE[:60]}"))
def test_any_answer_is_read(body: Any) -> None:
    """A body as such, as the arguments of a call, as text, and as bytes that a server sends."""
    written = body if isinstance(body, str) else json.dumps(body)
    names = "Media_9", "Media_9__PlayFilm"
    bodies = [body, text(written), *(call_completion(name, written) for name in names)]
    with contextlib.suppress(ValueError, RecursionError):
        bodies.append(read_body(written.encode(errors="surrogatepass")))
    for one in bodies:
        assert isinstance(why_no_answer(one), str)
        for in_call in (True, False):
            _check(read_answer(one, SERVICE, in_call))
        _check(read_state(one, SERVICE, Counter()))


@pytest.mark.parametrize(
    "written", ["{" * 200_000, '{"a":' * 100_000, "[" * 200_000, '{"slot_values": ' + "9" * 5000]
)
def test_a_long_attack_ends_at_once(written: str) -> None:
    assert read_answer(call_completion("Media_9", written), SERVICE, True).counts["unread"] == 1
    assert read_answer(text(written), SERVICE, True).counts["unread"] == 1
    twice = b'{"choices": [{"message": {"content": "{}"}, "message": {"content": "Hello"}}]}'
    body = read_body(twice)  # a key stands twice
    assert why_no_answer(body) == ""
    assert read_answer(body, SERVICE, in_call=False).counts["unread"] == 1


@pytest.mark.parametrize("answer", ["tool", "json_schema", "text"])
def test_the_gold_state_is_read_back(sample: dict[str, pa.Table], answer: AnswerForm) -> None:
    for variant, strict in (("original", False), ("v4", True), ("v5", False)):
        settings = RequestSettings(model="m", answer=answer, strict=strict)
        for row in sample[variant].to_pylist():
            service = read_service(row["schema"])
            found = read_answer(gold_answer(row, service, settings), service, answer == "tool")
            assert not found.counts
            assert found.active_intent == row["active_intent"]
            assert sorted(found.requested_slots) == sorted(row["requested_slots"])
            gold = {one["slot"]: one["values"] for one in row["slot_values"]}
            assert found.slot_values.keys() == gold.keys()
            assert all(value in gold[slot] for slot, value in found.slot_values.items())


@pytest.mark.parametrize("row", read_lines(Path(__file__).with_name("finished.jsonl")))
def test_a_finished_answer_is_not_asked_again(row: Any) -> None:
    """What has ended and cannot be read would be said again; what tells of an error would not."""
    assert (why_no_answer(row["body"]) == "") == row["is_answer"]
