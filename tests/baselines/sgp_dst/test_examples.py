"""Training examples: literal ones of a small dialogue, and what holds of the sample's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from baselines.data.frames import learnable
from baselines.sgp_dst.batches import READS
from baselines.sgp_dst.dialogues import (
    Dialogue,
    Frame,
    Gold,
    Row,
    Schema,
    State,
    Turn,
    Values,
    read_dialogues,
)
from baselines.sgp_dst.examples import (
    EASY,
    EXAMPLES,
    HARD,
    POSITIVE,
    Example,
    combine_examples,
    copy_examples,
    cross_examples,
    intent_examples,
)
from sgdx_dataset import frames, load

from ...conftest import ROOT
from .test_dialogues import act


def turn(
    system: str, acts: list[Row], user: str, *about: tuple[Schema, str, Values, dict[str, str]]
) -> Turn:
    """A user turn; ``about``: service, intent, state and what the user says for which slot."""
    found = []
    for schema, intent, values, said in about:
        spans = {slot: (user.index(t), user.index(t) + len(t)) for slot, t in said.items()}
        asked = ("fare",) if user.endswith("fare?") else ()
        found.append(Frame("d/0/s", schema, Gold(State(intent, values, asked), spans)))
    return Turn(system, user, acts, found)


@pytest.fixture
def dialogue(cabs: Schema, museums: Schema) -> Dialogue:
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
    heads = [example.question.prompt.head[1].text for example in examples]
    assert heads == ["jump", "keep", "jump", "keep"]


def test_combine(dialogue: Dialogue) -> None:
    positive = [e for e in combine_examples(dialogue) if e.kind == POSITIVE]
    found = {(asked(e), e.question.turn.text): e for e in positive}
    said = "sys : Done. usr : A shared cab there at 5"
    system = "sys : Museums? usr : City Museum at 1 Elm St?"
    start = said.index("5")
    assert {(slot, text): e.labels for (slot, text), e in found.items()} == {
        ("pickup_time", said): (start, start + 1, 0, 0),
        ("shared", said): (-1, -1, 2, 0),
        # the system's turn, read as if it were the user's; its CONFIRM of "shared" is a value
        ("museum", system): (21, 32, 0, 0),
        ("address", system): (36, 44, 0, 0),
        ("shared", "sys : A shared cab there at 5 usr : Alone?"): (-1, -1, 3, 0),
        # "shared" changed to what the system gave: left to copy; the address came from elsewhere
        ("fare", "sys : Alone? usr : Yes. What fare?"): (-1, -1, 0, 1),
    }
    hard = [(asked(e), e.question.bits) for e in combine_examples(dialogue) if e.kind == HARD]
    assert hard == [("museum", 2), ("address", 2), ("shared", 2)]


def test_copy(dialogue: Dialogue) -> None:
    found = [(e.question.turn.text[-4:], e.question.bits, *e[1:]) for e in copy_examples(dialogue)]
    assert found == [
        (" Yes", 1 + 4, (1,), POSITIVE),
        ("are?", 1 + 2, (0,), HARD),  # the slot has a value already
    ]


def test_cross(dialogue: Dialogue) -> None:
    found = {asked(e): (e.question.bits, e.labels, e.kind) for e in cross_examples(dialogue)}
    assert found == {
        # bits: the source is in the state 1, required 4 or optional 8, its service succeeded 16
        "destination <- museum": (21, (0,), HARD),
        "destination <- address": (20, (1,), POSITIVE),
        "pickup_time <- museum": (21, (0,), HARD),
        "pickup_time <- address": (20, (0,), HARD),
    }


def test_the_sample_has_examples_of_every_kind() -> None:
    rows = learnable(frames(load("original", "train", "sample")), READS)
    dialogues = list(read_dialogues(rows))
    for part, make in EXAMPLES.items():
        kinds = Counter(e.kind for dialogue in dialogues for e in make(dialogue))
        assert kinds[POSITIVE] > 10
        assert (kinds[EASY] > 400 and kinds[HARD] > 200) or part == "intent"


def test_every_process_makes_the_same_examples_in_the_same_order() -> None:
    """Python orders sets of strings differently in each process; training must not notice."""
    script = """
import hashlib, sys
from baselines.data.frames import learnable
from baselines.sgp_dst.batches import READS, part_examples
from baselines.sgp_dst.submodels import PARTS
from sgdx_dataset import frames, load
rows = learnable(frames(load("original", "validation")), READS)
for part in PARTS:
    digest = hashlib.sha256()
    for one in part_examples(part, rows):
        digest.update(repr((one.question, one.labels)).encode())
    print(part, digest.hexdigest())
"""
    printed = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1
    assert printed.pop().count("\n") == 4
