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
    cross_examples,
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


def asked(example: Example) -> str:
    """What an example asks about, in short."""
    tail = [piece.text for piece in example.question.prompt.tail if "#" in piece.text]
    return " <- ".join(text.split(" # ")[-2] for text in tail)


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
