"""A service's schema as a function that a model can call.

The words that change from one wording of the schema to another are all the schema's own; ours are
the same under all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

DONTCARE = "dontcare"
NO_INTENT = "NONE"
# Raise it when the function that a schema becomes changes: answers to the old one do not compare.
MAPPING = 1
LONGEST_NAME = 64
STATE_KEYS = ("active_intent", "requested_slots", "slot_values")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

Json = dict[str, Any]


@dataclass(frozen=True)
class Slot:
    """A slot of a service.

    Attributes:
        name: The slot's name in the schema.
        description: Its description.
        values: Its possible values; empty for a free-form slot.
        is_input: Whether an intent requires the slot or has it as optional. Others are only in
            results, so a user asks for them and never gives them a value.
    """

    name: str
    description: str
    values: tuple[str, ...]
    is_input: bool


@dataclass(frozen=True)
class Intent:
    """An intent of a service.

    Attributes:
        name: Name of the intent in the schema.
        description: Its description.
        required: Names of the slots that it requires.
        optional: Names of the slots that it may have besides.
    """

    name: str
    description: str
    required: tuple[str, ...]
    optional: tuple[str, ...]


@dataclass(frozen=True)
class Service:
    """A service as the functions need it, of ``read_schema``.

    Attributes:
        name: Name of the service in the schema.
        description: Its description.
        intents: The intents in the schema's order.
        slots: The slots in the schema's order, by the name that they have in a function.
    """

    name: str
    description: str
    intents: tuple[Intent, ...]
    slots: Mapping[str, Slot]

    @cached_property
    def shown(self) -> dict[str, str]:
        """The name in a function of each slot, by its name in the schema."""
        return {slot.name: shown for shown, slot in self.slots.items()}

    @cached_property
    def by_any_name(self) -> dict[str, Slot]:
        """Each slot by its name in the schema and by that in a function; the latter goes first."""
        return {slot.name: slot for slot in self.slots.values()} | dict(self.slots)

    def intent(self, name: str) -> Intent | None:
        """The intent with a name of the schema."""
        return next((one for one in self.intents if one.name == name), None)


def read_schema(schema: Mapping[str, Any]) -> Service:
    """Read the ``schema`` of a frame row."""
    intents = tuple(
        Intent(
            intent["name"],
            intent["description"],
            tuple(intent["required_slots"]),
            tuple(optional["slot"] for optional in intent["optional_slots"]),
        )
        for intent in schema["intents"]
    )
    inputs = {slot for intent in intents for slot in (*intent.required, *intent.optional)}
    shown = safe_names(slot["name"] for slot in schema["slots"])
    slots = {
        shown[slot["name"]]: Slot(
            slot["name"],
            slot["description"],
            tuple(slot["possible_values"]) if slot["is_categorical"] else (),
            slot["name"] in inputs,
        )
        for slot in schema["slots"]
    }
    return Service(schema["service_name"], schema["description"], intents, slots)


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Names that servers accept for functions and parameters, by the names of a schema.

    They have 1 to 64 letters of the English alphabet, digits, ``_`` and ``-``, and are distinct.
    Names that are so already, as all of SGD and SGD-X are, stay as they are.

    >>> safe_names(["city", "pick-up time?", "pick-up time!"])
    {'city': 'city', 'pick-up time?': 'pick-up_time_', 'pick-up time!': 'pick-up_time__2'}
    """
    wanted = list(dict.fromkeys(names))
    taken = {name for name in wanted if name and len(name) <= LONGEST_NAME and _is_safe(name)}
    found = {name: name for name in wanted if name in taken}
    for name in wanted:
        if name in found:
            continue
        base = _UNSAFE.sub("_", name)[:LONGEST_NAME] or "_"
        safe, number = base, 1
        while safe in taken:
            number += 1
            safe = f"{base[: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        taken.add(safe)
        found[name] = safe
    return {name: found[name] for name in wanted}


def _is_safe(name: str) -> bool:
    return _UNSAFE.search(name) is None


def state_function(service: Service, strict: bool = False) -> Json:
    """The function that records the dialogue state of one service.

    Args:
        service: The service.
        strict: Whether every slot is required and may be null, as the strict modes of servers want
            it, instead of being left out where it has no value.

    Returns:
        ``name``, ``description`` and ``parameters``, which is a JSON schema; with ``strict``, that
        key too.
    """
    values = {shown: _value(slot, strict) for shown, slot in service.slots.items() if slot.is_input}
    intents = dict.fromkeys([*(intent.name for intent in service.intents), NO_INTENT])
    properties = {
        "active_intent": {"type": "string", "enum": list(intents)},
        "requested_slots": {
            "type": "array",
            "items": {"type": "string", "enum": list(service.slots)},
        },
        "slot_values": _object(values, list(values) if strict else []),
    }
    function: Json = {
        "name": safe_names([service.name])[service.name],
        "description": _described(service),
        "parameters": _object(properties, list(STATE_KEYS)),
    }
    return {**function, "strict": True} if strict else function


def _described(service: Service) -> str:
    """The service, its intents, and the slots that are only in results, in words."""
    lines = [service.description]
    for intent in service.intents:
        line = f"{intent.name}: {intent.description}"
        for kind, slots in (("requires", intent.required), ("optional", intent.optional)):
            if slots:
                line += f"; {kind} {', '.join(service.shown.get(slot, slot) for slot in slots)}"
        lines.append(line)
    results = [
        f"{name}: {slot.description}" for name, slot in service.slots.items() if not slot.is_input
    ]
    return "\n".join([*lines, *(["Only to be asked for:"] if results else []), *results])


def call_functions(services: Iterable[Service]) -> dict[str, tuple[Service, Intent]]:
    """The functions of the services' intents, by the name that each function has.

    The name is ``<service>__<intent>``, since two services may have an intent of one name.
    """
    pairs = [(service, intent) for service in services for intent in service.intents]
    names = safe_names(f"{service.name}__{intent.name}" for service, intent in pairs)
    return {names[f"{service.name}__{intent.name}"]: (service, intent) for service, intent in pairs}


def call_function(name: str, service: Service, intent: Intent) -> Json:
    """The function that does what an intent is for, under its name of ``call_functions``."""
    inputs = {service.shown.get(slot, slot): slot for slot in (*intent.required, *intent.optional)}
    values = {
        shown: _value(service.slots[shown], False) for shown in inputs if shown in service.slots
    }
    required = [service.shown[slot] for slot in intent.required if slot in service.shown]
    return {
        "name": name,
        "description": f"{service.description}: {intent.description}",
        "parameters": _object(values, required),
    }


def _value(slot: Slot, nullable: bool) -> Json:
    """The JSON schema of a slot's value; every value is text, also ``True`` and ``2``."""
    found: Json = {"type": ["string", "null"] if nullable else "string"}
    found["description"] = slot.description
    if slot.values:
        found["enum"] = list(dict.fromkeys([*slot.values, DONTCARE]))
        found["enum"] += [None] if nullable else []
    return found


def _object(properties: Json, required: list[str]) -> Json:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }
