"""The four inputs of a generator, word for word."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from baselines.copies import read_templates
from baselines.t2g2.data import input_of
from sgdx_dataset import open_release
from sgdx_dataset.schema import Service
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgsacc_metric.rows import Action

from ...sgsacc_metric.turns import HOTELS, act, turn

TAXI = Service("Taxi_1", "Rides\tin\ntown", [], [])
TURNS = {
    "a value": turn(act("CONFIRM", "city", "Rome"), act("GOODBYE")),
    "values and what is possible": turn(
        act("OFFER", "city", "Rome", "Pisa"), act("REQUEST", "star_rating")
    ),
    "an intent and a slot of that name": turn(
        act("OFFER_INTENT", "intent", "BookHotel"), act("REQUEST", "intent", "rent", "buy")
    ),
    "a count": turn(act("INFORM_COUNT", "count", "3"), act("NOTIFY_SUCCESS"), intent="FindHotel"),
    "two services": turn(
        act("INFORM", "has_wifi", "True"), Action("Taxi_1", "REQ_MORE", "", []),
        schemas=[HOTELS, TAXI],
    ),
}  # fmt: skip


NAIVE = "SYSTEM | service_name=Hotels_1 | "
SCHEMA = "SYSTEM | service_name=Hotels_1,description=Find and book hotels | "
# What the naive, the schema-guided and the derived input of each turn are.
TEXTS = {
    "a value": (
        f"{NAIVE}confirm,city, values = Rome | goodbye",
        f"{SCHEMA}confirm,name=city,description=City of the hotel., values = Rome | goodbye",
        "SYSTEM | City of the hotel is Rome. Have a good day.",
    ),
    "values and what is possible": (
        f"{NAIVE}offer,city, values = Rome,Pisa | request,star_rating",
        f"{SCHEMA}offer,name=city,description=City of the hotel., values = Rome,Pisa"
        " | request,name=star_rating,description=How many stars the hotel has"
        ",examples =1,2,3,4,5",
        "SYSTEM | How many stars the hotel has? City of the hotel are Rome and Pisa.",
    ),
    "an intent and a slot of that name": (
        f"{NAIVE}offer_intent,intent, values = BookHotel | request,intent, values = rent,buy",
        f"{SCHEMA}offer_intent,intent, values = BookHotel"
        " | request,name=intent,description=Rent or buy,examples =rent,buy, values = rent,buy",
        "SYSTEM | Rent or buy? rent or buy? Do you want to book a room?",
    ),
    "a count": (
        f"{NAIVE}inform_count,count, values = 3 | notify_success",
        f"{SCHEMA}inform_count,count, values = 3 | notify_success",
        "SYSTEM | There are 3 results. Your request was successful.",
    ),
    "two services": (
        f"{NAIVE}inform,has_wifi, values = True | service_name=Taxi_1 | req_more",
        f"{SCHEMA}inform,name=has_wifi,description=Whether the hotel has wifi"
        ",examples =True,False, values = True"
        " | service_name=Taxi_1,description=Rides in town | req_more",
        "SYSTEM | Whether the hotel has wifi? Yes. Is there anything else I can help you with?",
    ),
}


INPUTS = [input_of(name, None) for name in ("naive", "schema", "derived")]


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    assert tuple(say(TURNS[name]) for say in INPUTS) == TEXTS[name]


def test_sentences_of_templates(tmp_path: Path) -> None:
    (tmp_path / "Hotels_1.tsv").write_text("CONFIRM!!city!!@\tThe city is @.\nGOODBYE\tBye.\n")
    say = input_of("t2g2", read_templates(tmp_path))
    assert say(TURNS["a value"]) == (
        "SYSTEM | Please confirm the following details: The city is Rome. Bye."
    )


def test_rewording_moves_what_is_read() -> None:
    """Under v1 every input differs somewhere, and no turn of the sample is without its values."""
    of = turns_of(open_release("sample"), "test")
    original, reworded = read_turns(of, "original"), read_turns(of, "v1")
    for say in INPUTS:
        assert [say(turn) for turn in original] != [say(turn) for turn in reworded]
        for one in (*original, *reworded):
            # Every input has them literally, but for yes and no and the names of intents.
            of_slots = (a.values for a in one.actions if a.act != "OFFER_INTENT")
            assert all(value in say(one) for value in {*chain(*of_slots)} - {"True", "False"})
