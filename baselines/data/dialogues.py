"""Dialogues made from frame rows, with schemas, turns and frames, and the memory of past turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from sys import intern
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset as Rows

from sgdx_dataset.schema import NONE_INTENT, Service, read_service
from sgdx_eval.predictions import prediction_row

from ..batching import Ints

Row = dict[str, Any]
Values = dict[str, list[str]]  # for each slot that is set, the variants of its value

_NO_VALUES: Values = {}  # of most frames, made once
_ROWS_AT_ONCE = 1000  # how many rows of a table are converted in one call


class State(NamedTuple):
    """The state of a service after a user turn, gold or predicted."""

    intent: str = NONE_INTENT
    values: Values = {}  # noqa: RUF012  # never changed in place
    requested: tuple[str, ...] = ()  # the slots that the user asks for


def new_values(before: Values, now: Values) -> Values:
    """The slots whose value is new: those with no variant in common with the value before."""
    # The value of an unchanged slot may gain variants.
    return {slot: of for slot, of in now.items() if set(of).isdisjoint(before.get(slot, ()))}


class Gold(NamedTuple):
    """The gold annotation of a frame."""

    state: State
    # Of each slot, the characters [start, end) of its values in the user's utterance.
    spans: Mapping[str, Sequence[tuple[int, int]]]


class Frame(NamedTuple):
    """A service in a user turn."""

    frame_id: str
    schema: Service
    gold: Gold | None  # None in prediction


class UserTurn(NamedTuple):
    """A user turn with the system turn before it."""

    system: str  # the system's utterance; empty in the first turn
    user: str
    acts: list[Row]  # the system's dialogue acts; none if the tracker does not read them
    frames: list[Frame]

    @property
    def services(self) -> list[str]:
        """Names of the services of the frames."""
        return [frame.schema.service_name for frame in self.frames]


class Dialogue(NamedTuple):
    """A dialogue under the schemas of one variant."""

    variant: str
    turns: list[UserTurn]


def read_dialogues(rows: Rows) -> Iterator[Dialogue]:
    """Group frame rows, of whole dialogues in order, with the gold state if they have it."""
    # Each row repeats the dialogue so far and the schema. Only what is new in a row becomes Python
    # objects, else a long dialogue would take time and memory that grow with its length squared.
    schemas: dict[tuple[str, str], Service] = {}
    variants: dict[tuple[str, ...], list[str]] = {}
    dialogue, dialogue_id, past = Dialogue("", []), None, 0  # past: turns before the last user turn
    for table in rows.with_format("arrow").iter(_ROWS_AT_ONCE):
        histories = table["history"].combine_chunks()
        starts, lengths = histories.offsets.to_numpy(), histories.value_lengths().tolist()
        for index, row in enumerate(table.drop_columns(["history", "schema"]).to_pylist()):
            variant, length = row["variant"], lengths[index]
            if (variant, row["dialogue_id"]) != (dialogue.variant, dialogue_id):
                if dialogue.turns:
                    yield dialogue
                dialogue, dialogue_id, past = Dialogue(variant, []), row["dialogue_id"], 0
            if not dialogue.turns or length != past:
                new = histories.values.slice(starts[index] + past, length - past)
                dialogue.turns.append(_turn(new.to_pylist(), row["utterance"]))
                past = length
            key = (variant, row["service"])
            if key not in schemas:
                schemas[key] = read_service(table["schema"][index].as_py())
            frame = Frame(row["frame_id"], schemas[key], _gold(row, variants))
            dialogue.turns[-1].frames.append(frame)
    if dialogue.turns:
        yield dialogue


def _turn(new: Sequence[Row], utterance: str) -> UserTurn:
    """A user turn without frames, given the turns since the last user turn, that one included."""
    system = [turn for turn in new if turn["speaker"] == "SYSTEM"]
    acts = [act for turn in system for act in turn.get("actions", ())]
    return UserTurn(system[-1]["utterance"] if system else "", utterance, acts, [])


def _gold(row: Row, shared: dict[tuple[str, ...], list[str]]) -> Gold | None:
    """The gold annotation in a row, with variants from ``shared``, to which new ones are added."""
    if "slot_values" not in row:
        return None
    # Every row has its own copy of names and values; sharing one takes a third of the memory.
    values = {}
    for entry in row["slot_values"]:
        texts = tuple(map(intern, entry["values"]))
        values[intern(entry["slot"])] = shared.setdefault(texts, list(texts))
    spans: dict[str, list[tuple[int, int]]] = {}
    for span in row["slots"]:
        of_slot = spans.setdefault(intern(span["slot"]), [])
        of_slot.append((span["start"], span["exclusive_end"]))
    requested = tuple(row["requested_slots"])
    return Gold(State(intern(row["active_intent"]), values or _NO_VALUES, requested), spans)


@dataclass
class Memory:
    """What the turns so far tell about a dialogue, by the name of the service."""

    states: dict[str, State] = field(default_factory=dict)  # after the service's last user turn
    # The latest value of every slot that the system gave by OFFER, CONFIRM or a REQUEST of one.
    offered: dict[str, dict[str, str]] = field(default_factory=dict)
    # Like ``offered``, with the values that the system gave by INFORM too.
    system_values: dict[str, dict[str, str]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)  # by NOTIFY_SUCCESS
    services: frozenset[str] = frozenset()  # of the last user turn
    schemas: dict[str, Service] = field(default_factory=dict)

    def add_system_turn(self, acts: Iterable[Row]) -> None:
        """Update the memory with the dialogue acts of a system turn."""
        for act in acts:
            if act["act"] == "NOTIFY_SUCCESS":
                self.succeeded.add(act["service"])
            if offers_value(act):
                self.offered.setdefault(act["service"], {})[act["slot"]] = act["values"][0]
            if gives_value(act):
                self.system_values.setdefault(act["service"], {})[act["slot"]] = act["values"][0]

    def add_user_turn(self, turn: UserTurn, states: Iterable[State]) -> None:
        """Update the memory with a user turn and its states: gold in training, else predicted."""
        self.services = frozenset(turn.services)
        for frame, state in zip(turn.frames, states, strict=True):
            self.states[frame.schema.service_name] = state
            self.schemas[frame.schema.service_name] = frame.schema

    def state(self, service: str) -> State:
        """The state of a service after its last user turn; empty if it has had none."""
        return self.states.get(service, State())


def offers_value(act: Row) -> bool:
    """Whether a dialogue act of the system proposes a value that the user may accept."""
    asks = act["act"] == "REQUEST" and len(act["values"]) == 1
    return bool(act["values"]) and (act["act"] in ("OFFER", "CONFIRM") or asks)


def gives_value(act: Row) -> bool:
    """Whether a dialogue act of the system gives a value, as a proposal or as information."""
    return offers_value(act) or (act["act"] == "INFORM" and bool(act["values"]))


class OpenTurn(NamedTuple):
    """A user turn whose states are to be predicted."""

    memory: Memory  # what is known before the system's last turn
    turns: Sequence[UserTurn]  # the dialogue's, up to this one


def track_in_step(
    dialogues: Sequence[Dialogue], predict: Callable[[Sequence[OpenTurn]], Iterable[State]]
) -> list[list[State]]:
    """Predict the states of dialogues: of all first turns together, then of all second turns."""
    # ``predict`` adds to each memory what it reads of the system's last turn.
    memories = [Memory() for _ in dialogues]
    states: list[list[State]] = [[] for _ in dialogues]
    for depth in range(max((len(dialogue.turns) for dialogue in dialogues), default=0)):
        unfinished = [i for i, dialogue in enumerate(dialogues) if len(dialogue.turns) > depth]
        open_turns = [OpenTurn(memories[i], dialogues[i].turns[: depth + 1]) for i in unfinished]
        predicted = iter(predict(open_turns))
        for i, (memory, turns) in zip(unfinished, open_turns):
            of_turn = list(islice(predicted, len(turns[-1].frames)))
            memory.add_user_turn(turns[-1], of_turn)
            states[i] += of_turn
    return states


def dialogue_bounds(rows: Rows) -> Ints:
    """Index of the first frame row of each dialogue under each variant, then the number of rows."""
    keys = list(zip(rows["variant"][:], rows["dialogue_id"][:]))
    starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
    return np.array([*starts, len(keys)], np.int64)


def chunks_side_by_side(variants: np.ndarray, size: int) -> list[Ints]:
    """Divide dialogues into chunks; the variants of a dialogue stand side by side in a chunk."""
    # So the turns that they share are tokenized once, and sequences have similar lengths. Sorted
    # by their number within the variant, the same dialogue of all variants is adjacent.
    counts: Counter[str] = Counter()
    numbers = []
    for variant in variants.tolist():
        numbers.append(counts[variant])
        counts[variant] += 1
    order = np.argsort(numbers, kind="stable")
    return [order[i : i + size] for i in range(0, len(order), size)]


def prediction_rows(dialogue: Dialogue, states: Sequence[State]) -> list[Row]:
    """The prediction rows of a dialogue, from the states of its frames in order."""
    frames = [frame for turn in dialogue.turns for frame in turn.frames]
    return [
        prediction_row(
            {"frame_id": frame.frame_id, "variant": dialogue.variant},
            state.intent,
            state.requested,
            state.values,
        )
        for frame, state in zip(frames, states, strict=True)
    ]
