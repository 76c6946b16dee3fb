"""What is sent, to the byte, as what function, and that gold never reaches it."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import read_service
from sgdx_llm.functions import call_function, call_functions, safe_names, state_function
from sgdx_llm.plan import Plan
from sgdx_llm.requests import (
    AnswerForm,
    RequestSettings,
    ToolChoice,
    call_body,
    request_key,
    state_body,
    with_seed,
)

from .conftest import plan_of
from .test_answers import SCHEMA

SERVICE = read_service(SCHEMA)
ROW = {
    "history": [
        {"speaker": "USER", "utterance": "I want to see Up."},
        {"speaker": "SYSTEM", "utterance": "For how many, and in 3-D?"},
    ],
    "utterance": "Just me. Who made it?",
}


# Of the body in JSON. A change of it makes answers that were paid for unusable, and calls for a
# new number of ``functions.MAPPING``.
GOLDEN = {"tool": "20a26e4ac4b89094", "json_schema": "ccbfecb2e1b6bf60", "text": "b144707d42bb2792"}


@pytest.mark.parametrize("answer", GOLDEN)
def test_every_byte_of_a_request(answer: AnswerForm) -> None:
    body = state_body(
        ROW, SERVICE, RequestSettings(model="m", answer=answer, strict=answer != "text")
    )
    assert hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16] == GOLDEN[answer]


def test_fields_can_be_set_and_left_out() -> None:
    settings = RequestSettings(
        model="m", parameters={"temperature": 0.5}, omitted=("seed", "tool_choice")
    )
    body = state_body(ROW, SERVICE, settings)
    assert body["temperature"] == 0.5
    assert not {"seed", "tool_choice"} & set(body)
    assert settings.facts()["parameters"] == {"temperature": 0.5, "max_tokens": 1024}


def test_another_try_has_another_seed_and_so_another_key() -> None:
    body = state_body(ROW, SERVICE, RequestSettings(model="m"))
    assert with_seed(body, 0) is body
    assert with_seed(body, 2)["seed"] == 2
    keys = {
        request_key(body, "h", 1),
        request_key(body, "h", 2),
        request_key(body, "g", 1),
        request_key(with_seed(body, 1), "h", 1),
        request_key(dict(reversed(body.items())), "h", 1),  # a model reads it in its order
    }
    assert len(keys) == 5


def test_gold_changes_no_byte(rows: list[dict[str, Any]]) -> None:
    some = [row for row in rows if row["service"] == "Cabs_1"][:20]
    service = read_service(some[0]["schema"])
    gold = {
        "active_intent": "OrderCab",
        "requested_slots": ["fare"],
        "slot_values": [{"slot": "shared", "values": ["True"]}],
        "slots": [],
        "service_call": {"method": "OrderCab", "parameters": []},
    }
    acts = [{"act": "OFFER", "slot": "fare", "values": ["9"], "canonical_values": ["9"]}]
    for row in some:
        changed = row | gold | {"history": [turn | {"actions": acts} for turn in row["history"]]}
        for settings in (RequestSettings(model="m"), RequestSettings(model="m", answer="text")):
            assert state_body(changed, service, settings) == state_body(row, service, settings)
        settings = RequestSettings(model="m", task="calls")
        assert call_body(changed, [service], settings) == call_body(row, [service], settings)


def test_a_plan_never_sees_gold(plan: Plan) -> None:
    for request in plan.requests():
        for row in request.rows:
            assert set(row) == {
                "frame_id", "variant", "dialogue_id", "turn", "service", "history", "utterance",
                "schema",
            }  # fmt: skip
            assert all(set(turn) == {"speaker", "utterance"} for turn in row["history"])


def test_all_variants_of_a_dialogue_come_before_the_next(plan: Plan) -> None:
    """A turn comes under all variants, so that those under way together begin differently."""
    names = [tuple(r.custom_id.split("|")[:2]) for r in plan.requests()]
    dialogues = [frame.split("/")[0] for _, frame in names]
    assert list(dict.fromkeys(dialogues)) == ["1_00000", "2_00000", "2_00001"]
    assert dialogues == sorted(dialogues)
    assert [variant for variant, _ in names] == ["original", "v5"] * (plan.count() // 2)
    assert names[:4:2] == [("original", "1_00000/0/Cabs_1"), ("original", "1_00000/2/Cabs_1")]
    frames = [frame for _, frame in names]
    assert frames[::2] == frames[1::2]


@pytest.mark.parametrize("choice", ["required", "auto"])
def test_calls_are_asked_about_turns(plan: Plan, choice: ToolChoice) -> None:
    settings = RequestSettings(model="m", task="calls", tool_choice=choice)
    calls = plan_of(plan.data.dialogues, settings=settings, configs=("v5",))
    requests = list(calls.requests())
    gold = calls.gold("v5")
    turns = {frame.rsplit("/", 1)[0] for frame in gold}
    called = {frame.rsplit("/", 1)[0] for frame, row in gold.items() if row["service_call"]}
    wanted = called if choice == "required" else turns
    assert {r.rows[0]["frame_id"].rsplit("/", 1)[0] for r in requests} == wanted
    assert len(requests) == len(wanted) == calls.count()
    assert 0 < len(called) < len(turns)
    for request in requests:
        assert request.body["tool_choice"] == choice
        names = [tool["function"]["name"] for tool in request.body["tools"]]
        assert all("__" in name for name in names)


def test_functions_of_other_services_are_offered_too(three: Path) -> None:
    """The same ones under every variant and of any choice of dialogues, mixed with the own."""
    plans = {
        count: plan_of(None, settings=RequestSettings(model="m", task="calls", distractors=count))
        for count in (0, 5)
    }

    def names(count: int, config: str) -> list[list[str]]:
        """The functions that are offered in the first request about each of some dialogues."""
        requests = (next(plans[count].requests_of(config, d), None) for d in plans[0].dialogues[:8])
        return [[tool["function"]["name"] for tool in r.body["tools"]] for r in requests if r]

    pairs = list(zip(names(0, "original"), names(5, "original"), strict=True))
    for own, offered in pairs:
        assert len(offered) == len(own) + 5
        assert set(own) < set(offered)
    assert any(offered[: len(own)] != own for own, offered in pairs)
    services, reworded = (
        [[name.split("__")[0][:4] for name in offered] for offered in names(5, config)]
        for config in ("original", "v5")
    )
    assert services == reworded
    few = plan_of(three, settings=plans[5].settings)
    (first, *_) = few.requests_of("original", few.dialogues[0])
    whole = {r.custom_id: r.key for r in plans[5].requests_of("original", few.dialogues[0])}
    assert whole[first.custom_id] == first.key
    with pytest.raises(SgdxError, match="^--distractors: "):
        RequestSettings(model="m", distractors=1)


def enum(*values: str) -> dict[str, Any]:
    return {"type": "string", "description": "", "enum": [*values]}


def test_the_function_that_records_a_state() -> None:
    assert state_function(SERVICE) == {
        "name": "Media_9",
        "description": "Films to watch\nPlayFilm: ; requires title; optional subtitles, seats, 3-D_"
        "\nOnly to be asked for:\ndirector: ",
        "parameters": {
            "type": "object",
            "additionalProperties": False,
            "required": ["active_intent", "requested_slots", "slot_values"],
            "properties": {
                "active_intent": {"type": "string", "enum": ["PlayFilm", "NONE"]},
                "requested_slots": {
                    "type": "array", "maxItems": 5, "items": {
                        "type": "string",
                        "enum": ["title", "subtitles", "seats", "3-D_", "director"],
                    },
                },
                "slot_values": {
                    "type": "object", "additionalProperties": False, "required": [], "properties": {
                        "title": {"type": "string", "description": ""},
                        "subtitles": enum("None", "English", "dontcare"),
                        "seats": enum("1", "2", "dontcare"),
                        "3-D_": enum("True", "False", "dontcare"),
                    },
                },
            },
        },
    }  # fmt: skip


def test_the_function_that_makes_a_call() -> None:
    ((name, (service, intent)),) = call_functions([SERVICE]).items()
    assert name == "Media_9__PlayFilm"
    function = call_function(name, service, intent)
    assert function["parameters"]["required"] == ["title"]
    assert list(function["parameters"]["properties"]) == ["title", "subtitles", "seats", "3-D_"]
    other: Any = {**SCHEMA, "service_name": "Media_8"}  # with an intent of the same name
    names = list(call_functions([SERVICE, read_service(other)]))
    assert names == ["Media_9__PlayFilm", "Media_8__PlayFilm"]


@given(st.lists(st.text(max_size=70) | st.sampled_from(["a", "a_", "a?", "a_2", "_"])))
def test_names_are_safe_and_go_back(names: list[str]) -> None:
    found = safe_names(names)
    assert set(found) == set(names)
    assert len(set(found.values())) == len(found)
    for name, safe in found.items():
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", safe)
        assert safe == name or not re.fullmatch("[A-Za-z0-9_-]{1,64}", name)
