"""What is sent, to the byte, as what function, and that gold never reaches it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_dataset.schema import read_service
from sgdx_llm.functions import call_function, call_functions, safe_names
from sgdx_llm.plan import Plan
from sgdx_llm.requests import (
    AnswerForm,
    RequestSettings,
    request_key,
    state_body,
    with_seed,
)

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


def test_a_plan_never_sees_gold(plan: Plan) -> None:
    for request in plan.requests():
        assert set(request.row) == {
            "frame_id", "variant", "dialogue_id", "turn", "service", "history", "utterance",
            "schema",
        }  # fmt: skip
        assert all(set(turn) == {"speaker", "utterance"} for turn in request.row["history"])


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
