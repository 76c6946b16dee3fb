"""The tab of one's own API: what it reads, and the states it shows under two wordings."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from baselines.own_apis.suite import read_suite
from baselines.use import load_tracker
from sgdx_dataset import SgdxError
from sgdx_space.own_schema import (
    _cells,
    _track,
    read_service,
    read_utterances,
    reworded,
    states_table,
)
from sgdx_space.tracking import _explain_frame

SERVICE = {
    "service_name": "Cabs",
    "description": "Rides",
    "slots": [
        {"name": "riders", "possible_values": ["two", "three"]},
        {"name": "to", "description": "Where the ride ends"},
    ],
    "intents": [{"name": "Order", "required_slots": ["to"], "optional_slots": {"riders": "two"}}],
}
WORDS = {
    "service_name": "<Lifts>",
    "slots": [{"name": "headcount"}, {"name": "goal"}],
    "intents": [{"name": "Book", "description": "Have a car come"}],
}


def test_a_dialogue_is_read_line_by_line() -> None:
    text = "user: Hi: all\n\n  SYSTEM: Where to?\nHome"
    assert read_utterances(text) == ["Hi: all", "Where to?", "Home"]
    with pytest.raises(SgdxError, match="line 3 .* USER"):
        read_utterances("Hi\n\nUSER: Hello")


def test_other_words_keep_values_and_what_intents_need() -> None:
    assert reworded(SERVICE, WORDS) == {
        "service_name": "<Lifts>",
        "description": "Rides",
        "slots": [
            {"name": "headcount", "possible_values": ["two", "three"]},
            {"name": "goal", "description": "Where the ride ends"},
        ],
        "intents": [
            {
                "name": "Book",
                "description": "Have a car come",
                "required_slots": ["goal"],
                "optional_slots": {"headcount": "two"},
            }
        ],
    }
    with pytest.raises(SgdxError, match="1 slots"):
        reworded(SERVICE, {**WORDS, "slots": WORDS["slots"][:1]})
    with pytest.raises(SgdxError, match="'goal'"):
        reworded(SERVICE, {**WORDS, "slots": [{"name": "goal"}, {"name": "goal"}]})


def test_values_that_differ_between_the_wordings_are_marked() -> None:
    words = {
        "service_name": "<Lifts>",
        "slots": [
            *({"name": name} for name in ("beverage", "portion", "dairy", "moment", "location")),
            {"name": "reusable_mug", "description": "If people come with a mug of theirs"},
        ],
        "intents": [{"name": "PlaceRequest"}],
    }
    example = next(one for one in read_suite() if one.dialogue_id == "coffee-2")
    table = states_table(load_tracker("lexical"), example.service, words, example.utterances)
    assert "<th>CoffeeBar</th><th>&lt;Lifts&gt;</th>" in table
    same, different = "<span style='background:#a7e3b5'>", "<span style='background:#f8b4b4'>"
    assert f"<code>cup_size</code>{same}large</span>" in table
    assert f"<code>portion</code>{same}large</span>" in table
    assert f"<code>own_cup</code>{different}True</span>" in table
    assert f"<code>reusable_mug</code>{different}–</span>" in table


def test_a_value_is_no_markup() -> None:
    said: dict[str, Any] = {"slot_values": {"drink": ["<b>tea</b>"]}}
    (cell,) = _cells([{"slots": [{"name": "drink"}]}], [said])
    assert "&lt;b&gt;tea&lt;/b&gt;" in cell and "<b>" not in cell


def test_what_is_no_service_is_refused() -> None:
    with pytest.raises(SgdxError, match="your API"):
        read_service('{"service_name": "Cabs"}', "your API")
    text = '{"service_name": "Cabs", "slots": [{"name": "to"}], "intents": [{"name": "Order", '
    with pytest.raises(SgdxError, match="your API: .* day"):
        read_service(text + '"required_slots": ["to", "day"]}]}', "your API")


@pytest.mark.parametrize("sent", ['{"service_name": "\ud83d"}', None, 5])
def test_what_is_no_text_is_refused(sent: Any) -> None:
    """A browser can send one half of a pair of UTF-16, and a program what is no text at all."""
    for read in (read_utterances, partial(read_service, title="your API")):
        with pytest.raises(SgdxError):
            read(sent)
    assert "role='alert'" in _track(sent, sent, sent) and _explain_frame(sent, None) == ""


def test_a_service_with_many_slots_is_refused_at_once() -> None:
    slots = [{"name": f"slot_{i}"} for i in range(20_000)]
    service = {"service_name": "A", "slots": slots, "intents": [{"name": "Go"}]}
    with pytest.raises(SgdxError, match="20000 slots"):
        read_service(json.dumps(service), "your API")
    assert len(reworded(service, service)["slots"]) == 20_000
