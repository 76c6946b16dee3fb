"""A service's schema as a function that a model can call, and the right calls of it.

Names and descriptions come from the schema and change with its variant. The words that this project
adds are the same under every variant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Intent, Service, Slot

# Bump when the schema-to-function mapping changes; then no cached answer is of the same request.
MAPPING = 3
LONGEST_NAME = 64
STATE_KEYS = ("active_intent", "requested_slots", "slot_values")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

Json = dict[str, Any]


@cache
def parameter_names(service: Service) -> Mapping[str, str]:
    """The name that each slot has as a parameter of a function, by its name in the schema."""
    return safe_names(slot.name for slot in service.slots)


@cache
def slots_by_any_name(service: Service) -> Mapping[str, Slot]:
    """Each slot by its name in the schema and by that in a function, which wins if they clash."""
    parameters = parameter_names(service)
    return service.slots_by_name | {parameters[slot.name]: slot for slot in service.slots}


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Names that servers accept for functions and parameters, by the names of a schema.

    They are distinct and have 1 to 64 characters: letters of the English alphabet, digits, ``_``
    and ``-``. A name that has this form already, as all of SGD and SGD-X have, stays as it is.

    >>> safe_names(["city", "pick-up time?", "pick-up time!"])
    {'city': 'city', 'pick-up time?': 'pick-up_time_', 'pick-up time!': 'pick-up_time__2'}
    """
    distinct = list(dict.fromkeys(names))
    fits = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")
    taken = {name for name in distinct if fits.fullmatch(name)}
    safe_by_name = {name: name for name in distinct if name in taken}
    for name in distinct:
        if name in safe_by_name:
            continue
        base = _UNSAFE.sub("_", name)[:LONGEST_NAME] or "_"
        safe, number = base, 1
        while safe in taken:
            number += 1
            safe = f"{base[: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        taken.add(safe)
        safe_by_name[name] = safe
    return {name: safe_by_name[name] for name in distinct}


def state_function(service: Service, strict: bool = False) -> Json:
    """The function that records a service's state, each slot required and nullable if strict."""
    parameters = parameter_names(service)
    values = {
        parameters[slot.name]: _value(slot, strict)
        for slot in service.slots
        if slot.name in service.tracked
    }
    intents = dict.fromkeys([*(intent.name for intent in service.intents), NONE_INTENT])
    requested: Json = {
        "type": "array",
        "items": {"type": "string", "enum": list(parameters.values())},
    }
    if not strict:
        # Else a server that enforces the schema lets a model repeat names until it is cut off. The
        # strict modes of some servers refuse this keyword.
        requested["maxItems"] = len(parameters)
    properties = {
        "active_intent": {"type": "string", "enum": list(intents)},
        "requested_slots": requested,
        "slot_values": _object(values, list(values) if strict else []),
    }
    function: Json = {
        "name": safe_names([service.service_name])[service.service_name],
        "description": _described(service),
        "parameters": _object(properties, list(STATE_KEYS)),
    }
    return {**function, "strict": True} if strict else function


def _described(service: Service) -> str:
    """The service, its intents, and the slots that are only in results, in words."""
    parameters = parameter_names(service)
    lines = [service.description]
    for intent in service.intents:
        line = f"{intent.name}: {intent.description}"
        for kind, slots in (
            ("requires", intent.required_slots),
            ("optional", intent.optional_slots),
        ):
            if slots:
                line += f"; {kind} {', '.join(parameters.get(slot, slot) for slot in slots)}"
        lines.append(line)
    results = [
        f"{parameters[slot.name]}: {slot.description}"
        for slot in service.slots
        if slot.name not in service.tracked
    ]
    return "\n".join([*lines, *(["Only to be asked for:"] if results else []), *results])


def call_functions(services: Iterable[Service]) -> dict[str, tuple[Service, Intent]]:
    """The functions of the services' intents, by the name that each function has."""
    # The name is ``<service>__<intent>``, since two services may have an intent of one name.
    pairs = [(service, intent) for service in services for intent in service.intents]
    full_names = [f"{service.service_name}__{intent.name}" for service, intent in pairs]
    names = safe_names(full_names)
    return {names[full_name]: pair for full_name, pair in zip(full_names, pairs)}


def call_function(name: str, service: Service, intent: Intent) -> Json:
    """The function that carries out an intent, under the name that ``call_functions`` gives it."""
    parameters = parameter_names(service)
    # An intent may name a slot that the service lacks: such a slot has no parameter.
    values = {
        parameters[slot]: _value(service.slot(slot), False, dontcare=False)
        for slot in (*intent.required_slots, *intent.optional_slots)
        if slot in parameters
    }
    required = [parameters[slot] for slot in intent.required_slots if slot in parameters]
    return {
        "name": name,
        "description": f"{service.description}: {intent.description}",
        "parameters": _object(values, required),
    }


def _value(slot: Slot, nullable: bool, dontcare: bool = True) -> Json:
    """The JSON schema of a slot's value; every value is a string, ``True`` and ``2`` too."""
    # A call leaves a slot with ``dontcare`` out: in SGD, 162 of the 7,658 calls of the test split
    # have one in their state, and none in the call.
    schema: Json = {"type": ["string", "null"] if nullable else "string"}
    schema["description"] = slot.description
    if slot.values:
        schema["enum"] = list(dict.fromkeys([*slot.values, *([DONTCARE] if dontcare else [])]))
        schema["enum"] += [None] if nullable else []
    return schema


def _object(properties: Json, required: list[str]) -> Json:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


def gold_state(row: Mapping[str, Any], service: Service, strict: bool = False) -> Json:
    """The arguments of ``state_function`` that record a frame row's gold state."""
    parameters = parameter_names(service)
    values = {parameters[entry["slot"]]: entry["values"][0] for entry in row["slot_values"]}
    if strict:
        inputs = (parameters[s.name] for s in service.slots if s.name in service.tracked)
        values = {name: values.get(name) for name in inputs}
    return {
        "active_intent": row["active_intent"],
        "requested_slots": [parameters[slot] for slot in row["requested_slots"]],
        "slot_values": values,
    }
