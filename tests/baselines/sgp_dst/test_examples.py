"""Training examples: literal ones of a small dialogue, and what holds of the sample's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from baselines.data.dialogues import (
    Dialogue,
    Frame,
    Gold,
    Memory,
    Row,
    State,
    UserTurn,
    Values,
)
from baselines.settings import Part
from baselines.sgp_dst.data import (
    EASY,
    HARD,
    POSITIVE,
    SYSTEM,
    Example,
    combine_examples,
    copy_examples,
    cross_examples,
    intent_examples,
    system_examples,
    turns_with_memory,
)
from baselines.sgp_dst.questions import cross_candidates
from baselines.sgp_dst.training import READS, training_examples
from sgdx_dataset import frames, load
from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_dataset.tracker_inputs import training_columns


def turn(
    system: str, acts: list[Row], user: str, *about: tuple[Service, str, Values, dict[str, str]]
) -> UserTurn:
    """A user turn; ``about``: service, intent, state and what the user says for which slot."""
    found = []
    for schema, intent, values, said in about:
        spans = {slot: [(user.index(t), user.index(t) + len(t))] for slot, t in said.items()}
        asked = ("fare",) if user.endswith("fare?") else ()
        found.append(Frame("d/0/s", schema, Gold(State(intent, values, asked), spans)))
    return UserTurn(system, user, acts, found)


@pytest.fixture
def dialogue(cabs: Service, museums: Service) -> Dialogue:
    museum: Values = {"museum": ["City Museum"]}
    start: Values = {"pickup_time": ["5"], "shared": ["True"]}
    return Dialogue(
        "original",
        [
            turn("", [], "Museums?", (museums, "BuyTickets", {}, {})),
            turn(
                "City Museum at 1 Elm St?",
                [
                    act("Museums_9", "OFFER", "museum", "City Museum"),
                    act("Museums_9", "INFORM", "address", "1 Elm St"),
                ],
                "Yes",
                (museums, "BuyTickets", museum, {}),
            ),
            turn(
                "Done.",
                [act("Museums_9", "NOTIFY_SUCCESS")],
                "A shared cab there at 5",
                (cabs, "OrderCab", start | {"destination": ["1 Elm St"]}, {"pickup_time": "5"}),
            ),
            turn(
                "Alone?",
                [act("Cabs_9", "CONFIRM", "shared", "False")],
                "Yes. What fare?",
                (
                    cabs,
                    "NONE",
                    {"pickup_time": ["5"], "destination": ["1 Elm St"], "shared": ["False"]},
                    {},
                ),
            ),
        ],
    )


def asked(example: Example) -> str:
    """What an example asks about, in short."""
    tail = [piece.text for piece in example.question.prompt.tail if "#" in piece.text]
    return " <- ".join(text.split(" # ")[-2] for text in tail)


def test_intents(dialogue: Dialogue) -> None:
    examples = list(intent_examples(dialogue))
    assert [example.labels for example in examples] == [(0,), (0,), (0,), (2,)]
    marked = [
        [piece.text.split(" # ")[-1] for piece in example.question.prompt.tail if piece.bits]
        for example in examples
    ]
    assert marked == [[], ["BuyTickets"], [], ["OrderCab"]]  # nothing in a service's first turn
    heads = [example.question.prompt.head[1].text for example in examples]
    assert heads == ["jump", "keep", "jump", "keep"]


def test_combine(dialogue: Dialogue) -> None:
    positive = [e for e in combine_examples(dialogue) if e.kind == POSITIVE]
    found = {(asked(e), e.question.turn.text): e for e in positive}
    said = "sys : Done. usr : A shared cab there at 5"
    start = said.index("5")
    assert {(slot, text): e.labels for (slot, text), e in found.items()} == {
        ("pickup time", said): (start, start + 1, 0, 0),
        ("shared", said): (-1, -1, 2, 0),
        ("fare", "sys : Alone? usr : Yes. What fare?"): (-1, -1, 0, 1),
    }
    hard = [(asked(e), e.question.bits) for e in combine_examples(dialogue) if e.kind == HARD]
    assert hard == [("address", 2)]
    slots = [asked(e) for e in combine_examples(dialogue)]
    # The museum is what the system offered, "shared" changed to what it confirmed, and the
    # destination is the museum's address: there is nothing to learn for combine.
    assert Counter(slots) == {
        "museum": 1, "address": 2, "tickets": 2,
        "destination": 1, "pickup time": 2, "shared": 1, "riders": 2, "fare": 2,
    }  # fmt: skip


def test_combine_learns_from_bare_system_turns(dialogue: Dialogue) -> None:
    found = {
        (asked(e), e.question.turn, e.question.bits): e.labels
        for e in system_examples(dialogue)
        if e.kind == SYSTEM
    }
    assert found == {
        ("museum", ("City Museum at 1 Elm St?", 0), 0): (0, 11, 0, 0),
        ("address", ("City Museum at 1 Elm St?", 0), 0): (15, 23, 0, 0),
        ("shared", ("Alone?", 0), 0): (-1, -1, 3, 0),
    }
    others = [asked(e) for e in system_examples(dialogue) if e.kind == EASY]
    assert others == ["tickets", "destination", "pickup time", "riders", "fare"]


def test_copy(dialogue: Dialogue) -> None:
    found = [(e.question.turn.text[-4:], e.question.bits, *e[1:]) for e in copy_examples(dialogue)]
    assert found == [
        (" Yes", 1 + 4, (1,), POSITIVE),
        ("are?", 1 + 2, (0,), EASY),  # the slot has a value already: it is never asked for
    ]


def test_cross(dialogue: Dialogue) -> None:
    found = {asked(e): (e.question.bits, e.labels, e.kind) for e in cross_examples(dialogue)}
    assert found == {
        # bits: the source is in the state 1, required 4 or optional 8, its service succeeded 16
        "destination <- museum": (21, (0,), EASY),
        "destination <- address": (20, (1,), POSITIVE),
        # Two words of the target are those of a slot with a value: its own, as it is said.
        "pickup time <- museum": (21, (0,), HARD),
        "pickup time <- address": (20, (0,), HARD),
    }


def test_the_hard_negatives_of_cross_have_confusable_names(museums: Service, cabs: Service) -> None:
    names = ("street_address", "email_address", "phone", "group")
    slots = [Slot(name, "", False, []) for name in names]
    source = Service("Source_1", "", [*slots, Slot("free", "", True, ["True", "False"])], [])
    optional = dict.fromkeys(("destination", "shared", "riders", "fare"), "")
    intent = Intent("OrderCab", "", False, ["pickup_time"], optional, [])
    target = Service("Cabs_9", "", cabs.slots, [intent])
    known: Values = {name: [name] for name in names} | {"free": ["True"], "group": ["2"]}
    made = Dialogue("original", [
        turn("", [], "Hello", (source, "NONE", known, {})),
        turn("", [], "Go there for two", (
            target, "OrderCab", {"destination": ["street_address"], "riders": ["2"]}, {}
        )),
    ])  # fmt: skip
    kinds: dict[int, set[str]] = {EASY: set(), HARD: set(), POSITIVE: set()}
    for example in cross_examples(made):
        kinds[example.kind].add(asked(example))
    assert kinds[POSITIVE] == {"destination <- street address"}
    assert kinds[HARD] == {
        "destination <- email address",  # shares a word with the slot that is copied
        "pickup time <- street address", "pickup time <- email address",
        "fare <- street address", "fare <- email address",
    }  # fmt: skip
    # No pair has a categorical target (shared, riders) or a boolean source (free).
    assert kinds[EASY] == {
        f"{slot} <- {other}" for slot in ("destination", "pickup time", "fare")
        for other in ("phone", "group")
    }  # fmt: skip
    riders = [e for e in combine_examples(made) if asked(e) == "riders"]
    assert riders == []  # "2" is the group's and is not said


def test_values_are_copied_across_into_slots_of_the_active_intent(
    cabs: Service, museums: Service
) -> None:
    first = turn("", [], "Hello", (museums, "NONE", {"address": ["1 Elm St"]}, {}))
    second = turn("", [], "A ride there", (cabs, "NONE", {}, {}))
    for memory, now in turns_with_memory(Dialogue("original", [first, second])):
        targets = {
            intent: [c.slot for c in cross_candidates(memory, now, now.frames[0], intent)]
            for intent in ("OrderCab", "PlanRide", "NONE")
        }
    assert targets == {
        "OrderCab": ["destination", "pickup_time"],
        "PlanRide": ["destination"],
        "NONE": [],
    }


def act(service: str, name: str, slot: str = "", *values: str) -> dict[str, Any]:
    return {"service": service, "act": name, "slot": slot, "values": [*values]}


def test_memory(cabs: Service) -> None:
    memory = Memory()
    memory.add_system_turn(
        [
            act("A", "OFFER", "place", "Bath"),
            act("A", "INFORM", "price", "$9"),
            act("A", "REQUEST", "time", "5 pm"),
            act("A", "REQUEST", "class", "first", "second"),
            act("B", "NOTIFY_SUCCESS"),
        ]
    )
    assert memory.offered == {"A": {"place": "Bath", "time": "5 pm"}}
    assert memory.system_values == {"A": {"place": "Bath", "time": "5 pm", "price": "$9"}}
    memory.add_system_turn([act("A", "CONFIRM", "place", "Wells")])
    assert memory.offered["A"]["place"] == "Wells"  # the latest
    assert memory.succeeded == {"B"}
    assert memory.state("A") == State()


# Of each part, on the sample: its examples by kind, the sums of their labels, and those of their
# questions' features.
FROZEN: dict[str, tuple[dict[int, int], list[int], int]] = {
    "intent": ({POSITIVE: 492}, [359], 0),
    "combine": ({EASY: 4212, SYSTEM: 421, HARD: 341, POSITIVE: 327}, [25558, 31511, 567, 45], 2502),
    "copy": ({EASY: 698, POSITIVE: 86, HARD: 51}, [86], 4849),
    "cross": ({EASY: 321, HARD: 32, POSITIVE: 11}, [11], 7020),
}


@pytest.mark.parametrize("part", FROZEN)
def test_the_examples_of_the_sample(part: Part) -> None:
    rows = training_columns(frames(load("original", "train", "sample")), READS)
    examples = list(training_examples(part, rows))
    kinds = Counter(e.kind for e in examples)
    labels = [sum(column) for column in zip(*(e.labels for e in examples))]
    assert (kinds, labels, sum(e.question.bits for e in examples)) == FROZEN[part]
