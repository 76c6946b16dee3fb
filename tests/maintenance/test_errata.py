"""The rules by which annotations contradict each other, on dialogues made up for each."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from maintenance.errata import lines, user_frames
from sgdx_dataset.release.dialogue import Dialogue, Frame
from sgdx_dataset.schema import Intent, Service, Slot

from ..conftest import ROOT

SEARCH = Intent("Search", "", False, ["to"], {"line": "dontcare", "seats": "1"}, [])
BUY = Intent("Buy", "", True, ["to"], {"seats": "1"}, [])
SLOTS = [Slot(name, "", name == "seats", ["1", "2"]) for name in ("to", "line", "seats")]
SERVICES = {name: Service(name, "", SLOTS, [SEARCH, BUY]) for name in ("Buses_1", "Buses_2")}


def act(name: str, slot: str = "", *values: str) -> dict[str, Any]:
    return {"act": name, "slot": slot, "values": values, "canonical_values": values}


def user(
    text: str, actions: list[Any], service: str = "Buses_1", intent: str = "Search", **state: str
) -> dict[str, Any]:
    values = {slot: [value] for slot, value in state.items()}
    stated = {"active_intent": intent, "requested_slots": [], "slot_values": values}
    frame = {"service": service, "slots": [], "actions": actions, "state": stated}
    return {"speaker": "USER", "utterance": text, "frames": [frame]}


def system(actions: list[Any], service: str = "Buses_1", call: str | None = None) -> dict[str, Any]:
    frame: dict[str, Any] = {"service": service, "slots": [], "actions": actions}
    if call:
        frame |= {"service_call": {"method": call, "parameters": {}}, "service_results": []}
    return {"speaker": "SYSTEM", "utterance": "", "frames": [frame]}


def errata(*dialogues: tuple[str, list[dict[str, Any]]]) -> list[str]:
    """The list of dialogues, each a split and its turns, which are called 0, 1, and so on."""
    frames = []
    for number, (split, turns) in enumerate(dialogues):
        record = {"dialogue_id": str(number), "services": [], "turns": turns}
        dialogue = msgspec.convert(record, Dialogue[Frame])
        frames += list(user_frames(split, dialogue))
    return list(lines(frames, SERVICES))


def taken(service: str, **state: str) -> list[dict[str, Any]]:
    """An offer is taken, after which the state may have its line."""
    return [
        user("to Oslo", [act("INFORM", "to", "Oslo")], service, to="Oslo"),
        system([act("OFFER", "line", "Blue")], service, "Search"),
        user("good", [act("SELECT")], service, to="Oslo", **state),
        system([act("REQ_MORE")], service),
        user("no", [act("GOODBYE")], service, to="Oslo", **state),
    ]


def test_an_offer_that_is_treated_otherwise_than_in_train() -> None:
    train = "train", taken("Buses_1", line="Blue")
    assert errata(train, ("test", taken("Buses_2"))) == ["test\t1\tBuses_2\tline\t1\t2,4\toffered"]
    assert errata(train, ("test", taken("Buses_2", line="Blue"))) == []
    # Where train does both, nothing contradicts it.
    both = errata(train, ("train", taken("Buses_1")), ("test", taken("Buses_2")))
    assert not [line for line in both if line.endswith("offered")]
    # A line that the user has named before is none of the offer's.
    named = taken("Buses_2", line="Blue")
    named[0] = user("by Red", [act("INFORM", "line", "Red")], "Buses_2", line="Red")
    assert errata(("train", taken("Buses_1")), ("test", named)) == []


def bought(**state: str) -> list[dict[str, Any]]:
    """Something is bought, and then a new search begins."""
    return [
        user("two", [act("INFORM", "seats", "2")], intent="Buy", to="Oslo", seats="2"),
        system([act("NOTIFY_SUCCESS")], call="Buy"),
        user("next", [act("INFORM_INTENT", "intent", "Search")], **state),
        system([act("REQUEST", "to")]),
        user("to Rome", [act("INFORM", "to", "Rome")], **{**state, "to": "Rome"}),
    ]


def test_values_that_are_lost_here_and_kept_there() -> None:
    kept, gone = ("train", bought(to="Oslo", seats="2")), ("train", bought())
    assert errata(kept, gone) == [
        "train\t0\tBuses_1\tseats\t2\t2,4\tlost",
        "train\t0\tBuses_1\tto\t0\t2\tlost",  # until the user names another place
        "train\t1\tBuses_1\tseats\t2\t2,4\tlost",
        "train\t1\tBuses_1\tto\t0\t2\tlost",
    ]
    assert errata(kept, kept) == errata(gone, gone) == []


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("to Oslo please", True),
        ("to Oslo, any line will do", False),
        ("to Oslo, I don't mind which", False),
        ("What else is there?", False),
        ("Something fast to Oslo", False),
    ],
)
def test_an_indifference_that_is_not_said(text: str, listed: bool) -> None:
    turns = [user(text, [act("INFORM", "line", "dontcare")], line="dontcare")]
    expected = ["validation\t0\tBuses_1\tline\t1\t0\tunsaid"] if listed else []
    assert errata(("validation", turns)) == expected


def test_the_same_words_that_are_understood_in_two_ways() -> None:
    def said(text: str, **state: str) -> tuple[str, list[dict[str, Any]]]:
        return "train", [user(text, [act("INFORM", slot, state[slot]) for slot in state], **state)]

    plain, other = said("A bus, please"), said("a bus please!", seats="1")
    assert errata(plain, plain, other) == ["train\t2\tBuses_1\tseats\t2\t0\tsame words"]
    assert [line.split("\t")[1] for line in errata(plain, other)] == ["0", "1"]
    assert errata(said("to oslo", to="oslo"), said("to Oslo", to="Oslo")) == []


def test_the_list_of_the_package_has_ids_and_no_texts() -> None:
    rows = [line.split("\t") for line in (ROOT / "sgdx_metric/errata.tsv").read_text().splitlines()]
    assert len(rows) == 1052 and rows == sorted(rows)
    assert {row[0] for row in rows} == {"train", "validation", "test"}
    kinds = {kind for row in rows for kind in row[6].split(",")}
    assert kinds == {"offered", "lost", "unsaid", "same words"}
    for _, dialogue_id, service, slot, position, turns, _ in rows:
        assert dialogue_id.replace("_", "").isdigit() and position.isdigit()
        assert service.replace("_", "").isalnum() and slot.replace("_", "").isalnum()
        numbers = list(map(int, turns.split(",")))
        assert numbers == sorted(set(numbers))
