"""Frame rows as dialogues: their schemas, turns and frames, and what is known before each turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

Row = dict[str, Any]
Values = dict[str, list[str]]  # of slots: the ways in which a value was spoken

NULL, DONTCARE = "NONE", "dontcare"


@dataclass(frozen=True, eq=False)
class Schema:
    """A service under one variant; made once, and itself, not what it says, is compared."""

    service: str
    description: str
    slots: dict[str, Row]
    intents: dict[str, Row]

    @cached_property
    def tracked(self) -> frozenset[str]:
        """Slots that some intent requires or has among its optional ones."""
        return frozenset(
            slot for intent in self.intents for slot in (*self.required(intent), *self.free(intent))
        )

    def required(self, intent: str) -> list[str]:
        """The slots that an intent requires; none for ``NONE``."""
        return list(self.intents[intent]["required_slots"]) if intent in self.intents else []

    def free(self, intent: str) -> list[str]:
        """An intent's optional slots."""
        given = self.intents[intent]["optional_slots"] if intent in self.intents else []
        return [entry["slot"] for entry in given]

    def is_categorical(self, slot: str) -> bool:
        """Whether a slot has one of its values, else a span of what was said."""
        return bool(self.slots[slot]["is_categorical"])

    def values(self, slot: str) -> list[str]:
        """A categorical slot's values; none of others, whatever they have as examples."""
        return list(self.slots[slot]["possible_values"]) if self.is_categorical(slot) else []

    def options(self, slot: str) -> list[str | None]:
        """What the value of a slot is chosen from: null, ``dontcare``, its values."""
        return [None, DONTCARE, *self.values(slot)]

    def admits(self, slot: str, value: str) -> bool:
        """Whether a slot can have a value."""
        return not self.is_categorical(slot) or value in (*self.values(slot), DONTCARE)


def read_schema(row: Row) -> Schema:
    """The schema of a frame row."""
    return Schema(
        row["service_name"],
        row["description"],
        {slot["name"]: slot for slot in row["slots"]},
        {intent["name"]: intent for intent in row["intents"]},
    )


class State(NamedTuple):
    """What is known of a service: at a turn's end, gold or predicted."""

    intent: str = NULL
    values: Values = {}  # noqa: RUF012  # never changed in place
    requested: tuple[str, ...] = ()


class Gold(NamedTuple):
    """A frame's answer: its state, and where in the utterance [start, end) values were said."""

    state: State
    spans: dict[str, tuple[int, int]]


class Frame(NamedTuple):
    """A service in a user turn."""

    frame_id: str
    schema: Schema
    gold: Gold | None


class Turn(NamedTuple):
    """A user turn: what the system said and did (``acts``: its actions) before it, and frames."""

    system: str
    user: str
    acts: list[Row]
    frames: list[Frame]

    @property
    def services(self) -> list[str]:
        """The services that it is about."""
        return [frame.schema.service for frame in self.frames]


class Dialogue(NamedTuple):
    """A dialogue under a variant's schemas."""

    variant: str
    turns: list[Turn]


def read_dialogues(rows: Iterable[Row]) -> Iterator[Dialogue]:
    """Dialogues of frame rows, which are in the dialogues' order.

    Frames have gold where the rows have the gold columns. Schemas are kept once per variant.
    """
    schemas: dict[tuple[str, str], Schema] = {}
    for (variant, _), mine in groupby(rows, lambda row: (row["variant"], row["dialogue_id"])):
        turns: list[Turn] = []
        heard = 0  # turns of the history
        for length, frames in groupby(mine, lambda row: len(row["history"])):
            first, *others = frames
            turns.append(_turn(first, heard))
            heard = length
            for row in (first, *others):
                key = (variant, row["schema"]["service_name"])
                if key not in schemas:
                    schemas[key] = read_schema(row["schema"])
                turns[-1].frames.append(Frame(row["frame_id"], schemas[key], _gold(row)))
        yield Dialogue(variant, turns)


def _turn(row: Row, heard: int) -> Turn:
    said = [turn for turn in row["history"][heard:] if turn["speaker"] == "SYSTEM"]
    acts = [act for turn in said for act in turn["actions"]]
    return Turn(said[-1]["utterance"] if said else "", row["utterance"], acts, [])


def _gold(row: Row) -> Gold | None:
    if "slot_values" not in row:
        return None
    values = {entry["slot"]: list(entry["values"]) for entry in row["slot_values"]}
    spans = {span["slot"]: (span["start"], span["exclusive_end"]) for span in row["slots"]}
    return Gold(State(row["active_intent"], values, tuple(row["requested_slots"])), spans)


@dataclass
class Memory:
    """What is known of a dialogue before a user turn is read.

    Attributes:
        states: Each service's state after its last user turn.
        offered: For each service the slots that the system gave a value by OFFER, CONFIRM or a
            REQUEST with one value, and the latest value.
        given: The same with the values of INFORM besides.
        succeeded: Services whose call the system said had succeeded (NOTIFY_SUCCESS).
        services: The services of the user turn before.
        schemas: The schemas of the services so far.
    """

    states: dict[str, State] = field(default_factory=dict)
    offered: dict[str, dict[str, str]] = field(default_factory=dict)
    given: dict[str, dict[str, str]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    services: frozenset[str] = frozenset()
    schemas: dict[str, Schema] = field(default_factory=dict)

    def hear(self, acts: Iterable[Row]) -> None:
        """Take in what the system did."""
        for act in acts:
            if act["act"] == "NOTIFY_SUCCESS":
                self.succeeded.add(act["service"])
            if offers(act):
                self.offered.setdefault(act["service"], {})[act["slot"]] = act["values"][0]
            if gives(act):
                self.given.setdefault(act["service"], {})[act["slot"]] = act["values"][0]

    def learn(self, turn: Turn, states: Iterable[State]) -> None:
        """Take in the states, one for each of the turn's frames: gold to train, else predicted."""
        self.services = frozenset(turn.services)
        for frame, state in zip(turn.frames, states, strict=True):
            self.states[frame.schema.service] = state
            self.schemas[frame.schema.service] = frame.schema

    def state(self, service: str) -> State:
        """A service's state after its last user turn."""
        return self.states.get(service, State())


def offers(act: Row) -> bool:
    """Whether the system puts a value to the user, who may agree."""
    asks = act["act"] == "REQUEST" and len(act["values"]) == 1
    return bool(act["values"]) and (act["act"] in ("OFFER", "CONFIRM") or asks)


def gives(act: Row) -> bool:
    """Whether the system says a value at all."""
    return offers(act) or (act["act"] == "INFORM" and bool(act["values"]))
