"""A reader who understands every turn, and records of it what the prompt says, to the letter.

What the turns mean is taken from the annotation of the dialogue's acts; which values make up the
state is not, but follows from sentences of the prompt. So the score says how far the prompt agrees
with the annotation: where it is below 1, a model that obeys is marked down for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset.schema import DONTCARE, Service, read_service

# The sentences of prompts/state.txt that the rules below stand for.
SENTENCES = {
    "said": "- Record what the user says.",
    "accepted": "Record what the assistant proposes, or asks the user to confirm, only once the "
    "user has accepted it.",
    "required": "- Of an offer that the user accepts, record the slots that an intent of the API "
    "requires. Leave out its other slots, such as a rating, unless the user asked for them.",
    "dontcare": "It stays dontcare when the assistant then chooses a value.",
    "carried": "A value that was settled or told with another API carries over to this one as soon "
    "as the user's wish refers to it",
}
Json = dict[str, Any]


@dataclass
class _Memory:
    """What the reader remembers of one service.

    Attributes:
        values: The state so far.
        offered, asked: The values that the assistant has offered, and that it has asked the user to
            confirm, since the user last accepted.
        offered_now: The values that it has offered in its last turn.
        told: All values that were settled or told with this service, without case.
    """

    values: dict[str, str] = field(default_factory=dict)
    offered: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    offered_now: dict[str, str] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)


def literal_states(row: Mapping[str, Any], carries: bool = True) -> Iterator[tuple[Json, Json]]:
    """The frame and the state's values of every user turn and service of a dialogue.

    Args:
        row: A dialogue row.
        carries: Whether the reader follows the sentence about other APIs.

    Yields:
        The frame of the row, with its `frame_id`; and the value of each slot that is recorded.
    """
    names = {schema["service_name"]: schema["original_name"] for schema in row["schemas"]}
    services = {schema["service_name"]: read_service(schema) for schema in row["schemas"]}
    memories: defaultdict[str, _Memory] = defaultdict(_Memory)
    for number, turn in enumerate(row["turns"]):
        for frame in turn["frames"]:
            memory, service = memories[frame["service"]], services[frame["service"]]
            if turn["speaker"] == "SYSTEM":
                _hear(frame, memory)
                continue
            _record(frame, memory, service)
            if carries:
                others = (memories[name].told for name in memories if name != frame["service"])
                _carry(frame["state"], memory, set[str]().union(*others))
            memory.told |= {value.casefold() for value in memory.values.values()}
            frame_id = f"{row['dialogue_id']}/{number}/{names[frame['service']]}"
            yield {**frame, "frame_id": frame_id}, dict(memory.values)


def _hear(frame: Json, memory: _Memory) -> None:
    """What the assistant tells, offers and asks in a turn."""
    memory.offered_now = {}
    for action in frame["actions"]:
        texts = [*action["values"], *action["canonical_values"]]
        memory.told |= {text.casefold() for text in texts}
        if action["slot"] and len(action["values"]) == 1:
            if action["act"] == "OFFER":
                memory.offered_now[action["slot"]] = action["values"][0]
            elif action["act"] in ("CONFIRM", "REQUEST"):
                memory.asked[action["slot"]] = action["values"][0]
    memory.offered |= memory.offered_now
    for result in frame["service_results"]:
        memory.told |= {entry["value"].casefold() for entry in result}


def _record(frame: Json, memory: _Memory, service: Service) -> None:
    """What the user says and accepts in a turn."""
    acts = [action["act"] for action in frame["actions"] if not action["slot"]]
    offered = memory.offered if "SELECT" in acts else memory.offered_now
    if "SELECT" in acts or "AFFIRM" in acts:
        required = {slot for intent in service.intents for slot in intent.required_slots}
        memory.values |= {slot: value for slot, value in offered.items() if slot in required}
        memory.offered = {}
    if "AFFIRM" in acts:
        memory.values |= {
            slot: value
            for slot, value in memory.asked.items()
            if slot in service.tracked and memory.values.get(slot) != DONTCARE
        }
        memory.asked = {}
    for action in frame["actions"]:
        if action["act"] in ("INFORM", "SELECT") and action["slot"] in service.tracked:
            memory.values[action["slot"]] = action["values"][0]


def _carry(state: Json, memory: _Memory, told: set[str]) -> None:
    """Values of other services that the user's wish refers to, which the gold state knows."""
    for entry in state["slot_values"]:
        if memory.values.get(entry["slot"]) not in entry["values"]:
            carried = [value for value in entry["values"] if value.casefold() in told]
            if carried:
                memory.values[entry["slot"]] = carried[0]
