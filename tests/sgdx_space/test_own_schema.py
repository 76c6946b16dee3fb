"""The tab of one's own API: what it reads, and the states it shows under two variants."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from baselines.use import load_tracker
from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service, Slot
from sgdx_space.own_schema import (
    _EXAMPLE,
    _cells,
    _track,
    read_other_words,
    read_service,
    read_utterances,
    states_table,
)
from sgdx_space.tracking import _explain_frame

SERVICE: dict[str, Any] = {
    "service_name": "Cabs",
    "description": "Rides",
    "slots": [
        {"name": "riders", "possible_values": ["two", "three"]},
        {"name": "to", "description": "Where the ride ends"},
    ],
    "intents": [{"name": "Order", "required_slots": ["to"], "optional_slots": {"riders": "two"}}],
}
WORDS: dict[str, Any] = {
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
    service = read_service(json.dumps(SERVICE), "your API")
    new = read_other_words(json.dumps(WORDS), service)
    assert (new.service_name, new.description) == ("<Lifts>", "Rides")
    assert [(slot.name, slot.description, slot.values) for slot in new.slots] == [
        ("headcount", "", ["two", "three"]),
        ("goal", "Where the ride ends", []),
    ]
    (intent,) = new.intents
    assert (intent.name, intent.description) == ("Book", "Have a car come")
    assert (intent.required_slots, intent.optional_slots) == (["goal"], {"headcount": "two"})


@pytest.mark.parametrize("entry", [{"slots": {"to": "goal"}}, {"slots": {"to": {"name": "goal"}}}])
@pytest.mark.parametrize("is_whole_file", [True, False])
def test_a_rewording_file_names_what_changes_alone(
    entry: dict[str, Any], is_whole_file: bool
) -> None:
    service = read_service(json.dumps(SERVICE), "your API")
    new = read_other_words(json.dumps({"Cabs": entry} if is_whole_file else entry), service)
    assert new.service_name == "Cabs" and [slot.name for slot in new.slots] == ["riders", "goal"]
    assert new.slots[1].description == "Where the ride ends"
    assert new.intents[0].required_slots == ["goal"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ({**WORDS, "slots": WORDS["slots"][:1]}, "1 slots"),
        ({"slots": {"to": "goal", "riders": "goal"}}, "goal"),
        ({"slots": {"from": "start"}}, "from"),
        ({"Taxis": {"name": "Cars"}}, "Taxis"),
        ([], "no tools"),
        (5, "the other words"),
    ],
)
def test_other_words_that_do_not_fit_are_refused(words: Any, found: str) -> None:
    service = read_service(json.dumps(SERVICE), "your API")
    with pytest.raises(SgdxError, match=found):
        read_other_words(json.dumps(words), service)


def test_values_that_differ_between_the_variants_are_marked() -> None:
    slots = {"cup_size": "portion", "own_cup": {"name": "mug", "description": "A mug of theirs"}}
    said = (
        "Can I get a large iced mocha at the Riverside branch?",
        "You can. When do you want to pick it up?",
        "In half an hour. And I bring my own cup.",
    )
    service = read_service(json.dumps(_EXAMPLE), "your API")
    other = read_other_words(json.dumps({"name": "<Lifts>", "slots": slots}), service)
    table = states_table(load_tracker("lexical"), service, other, said)
    assert "<th>CoffeeBar</th><th>&lt;Lifts&gt;</th>" in table
    same, different = "<span style='background:#a7e3b5'>", "<span style='background:#f8b4b4'>"
    assert f"<code>cup_size</code>{same}large</span>" in table
    assert f"<code>portion</code>{same}large</span>" in table
    assert f"<code>own_cup</code>{different}True</span>" in table
    assert f"<code>mug</code>{different}–</span>" in table


def test_a_value_is_no_markup() -> None:
    said: dict[str, Any] = {"slot_values": {"drink": ["<b>tea</b>"]}}
    service = Service("Tea", "", [Slot("drink", "", False, [])], [])
    (cell,) = _cells([service], [said])
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
