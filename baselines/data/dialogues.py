"""Dialogues made from frame rows, with schemas, turns and frames, and the memory of past turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset as Rows

from sgdx_dataset.schema import NONE_INTENT, Service, read_service

from ..training.batching import Ints
from .prediction_files import prediction_row

Row = dict[str, Any]
Values = dict[str, list[str]]  # for each slot that is set, the wordings of its value

_ROWS_AT_ONCE = 1000  # how many rows of a table are converted in one call


class State(NamedTuple):
    """The state of a service after a user turn, gold or predicted.

    Attributes:
        intent: Name of the active intent, or ``NONE``.
        values: Values of the slots that are set.
        requested: Names of the slots that the user asks for.
    """

    intent: str = NONE_INTENT
    values: Values = {}  # noqa: RUF012  # never changed in place
    requested: tuple[str, ...] = ()


class Gold(NamedTuple):
    """The gold annotation of a frame.

    Attributes:
        state: The gold state.
        spans: For slots whose value is marked in the user's utterance, its characters [start, end).
    """

    state: State
    spans: dict[str, tuple[int, int]]


class Frame(NamedTuple):
    """A service in a user turn.

    Attributes:
        frame_id: Identifier of the frame.
        schema: Schema of the service.
        gold: The gold annotation; None in prediction.
    """

    frame_id: str
    schema: Service
    gold: Gold | None


class UserTurn(NamedTuple):
    """A user turn with the system turn before it.

    Attributes:
        system: The system's utterance; empty in the first turn.
        user: The user's utterance.
        acts: The system's dialogue acts; none if the tracker does not read them.
        frames: The frames of the user turn.
    """

    system: str
    user: str
    acts: list[Row]
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
    """Group frame rows into dialogues.

    Frames have gold annotations if the rows have the gold columns. All frames of a service under a
    variant share one ``Service``.

    Each row repeats the dialogue so far and the schema. Only what is new in a row becomes Python
    objects here, else a long dialogue would take time and memory that grow with its length squared.

    Args:
        rows: Frame rows of whole dialogues, in order.
    """
    schemas: dict[tuple[str, str], Service] = {}
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
            dialogue.turns[-1].frames.append(Frame(row["frame_id"], schemas[key], _gold(row)))
    if dialogue.turns:
        yield dialogue


def _turn(new: Sequence[Row], utterance: str) -> UserTurn:
    """A user turn without frames, given the turns since the last user turn, that one included."""
    system = [turn for turn in new if turn["speaker"] == "SYSTEM"]
    acts = [act for turn in system for act in turn.get("actions", ())]
    return UserTurn(system[-1]["utterance"] if system else "", utterance, acts, [])


def _gold(row: Row) -> Gold | None:
    if "slot_values" not in row:
        return None
    values = {entry["slot"]: list(entry["values"]) for entry in row["slot_values"]}
    spans = {span["slot"]: (span["start"], span["exclusive_end"]) for span in row["slots"]}
    return Gold(State(row["active_intent"], values, tuple(row["requested_slots"])), spans)


@dataclass
class Memory:
    """What the turns so far tell about a dialogue, before a user turn is read.

    The keys of all dictionaries are names of services.

    Attributes:
        states: State of each service after its last user turn.
        offered: For each service, the latest value of every slot for which the system gave a value
            by OFFER, CONFIRM or a REQUEST with one value.
        system_values: Like ``offered``, with the values that the system gave by INFORM too.
        succeeded: Services for which the system reported success (NOTIFY_SUCCESS).
        services: Services of the last user turn.
        schemas: Schemas of all services so far.
    """

    states: dict[str, State] = field(default_factory=dict)
    offered: dict[str, dict[str, str]] = field(default_factory=dict)
    system_values: dict[str, dict[str, str]] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    services: frozenset[str] = frozenset()
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
        """Update the memory with a user turn.

        Args:
            turn: The user turn.
            states: State of each of its frames: gold in training, else predicted.
        """
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
    """A user turn whose states are to be predicted.

    Attributes:
        memory: What is known before the system's last turn.
        variant: Schema variant of the dialogue.
        turns: The user turns of the dialogue up to this one.
    """

    memory: Memory
    variant: str
    turns: Sequence[UserTurn]


def track_in_step(
    dialogues: Sequence[Dialogue], predict: Callable[[Sequence[OpenTurn]], Iterable[State]]
) -> list[list[State]]:
    """Predict the state of every frame of several dialogues.

    The first turns of all dialogues are predicted together, then all second turns, and so on.

    Args:
        dialogues: The dialogues.
        predict: Returns the states of the frames of some turns, which belong to different
            dialogues, in order. It adds to each memory what it reads of the system's last turn.

    Returns:
        For each dialogue the states of its frames, in order.
    """
    memories = [Memory() for _ in dialogues]
    states: list[list[State]] = [[] for _ in dialogues]
    for depth in range(max((len(dialogue.turns) for dialogue in dialogues), default=0)):
        unfinished = [i for i, dialogue in enumerate(dialogues) if len(dialogue.turns) > depth]
        open_turns = [
            OpenTurn(memories[i], dialogues[i].variant, dialogues[i].turns[: depth + 1])
            for i in unfinished
        ]
        predicted = iter(predict(open_turns))
        for i, (memory, _, turns) in zip(unfinished, open_turns):
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
    """Divide dialogues into chunks; the variants of a dialogue stand side by side in a chunk.

    So the turns that they share are tokenized once, and a batch has sequences of similar length.

    Args:
        variants: Variant of each dialogue [dialogues].
        size: Maximum number of dialogues in a chunk.

    Returns:
        Indices of the dialogues of each chunk.
    """
    # Sorted by their number within the variant, the same dialogue of all variants is adjacent.
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
