"""The right answer to a request, written as a model would write it.

It shows how many tokens answers have, and that what is read from an answer can be the gold state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sgdx_dataset.schema import Service

from .functions import Json, call_functions, parameter_names, safe_names
from .requests import Settings


def right_state(row: Mapping[str, Any], service: Service, settings: Settings) -> Json:
    """The arguments of ``functions.state_function`` that record a frame row's gold state."""
    parameters = parameter_names(service)
    values = {parameters[entry["slot"]]: entry["values"][0] for entry in row["slot_values"]}
    if settings.strict:
        inputs = (parameters[s.name] for s in service.slots if s.name in service.tracked)
        values = {name: values.get(name) for name in inputs}
    return {
        "active_intent": row["active_intent"],
        "requested_slots": [parameters[slot] for slot in row["requested_slots"]],
        "slot_values": values,
    }


def right_answer(row: Mapping[str, Any], service: Service, settings: Settings) -> Json:
    """The chat completion that records a frame row's gold state."""
    written = json.dumps(right_state(row, service, settings), ensure_ascii=False)
    if settings.answer == "tool":
        return called(safe_names([service.service_name])[service.service_name], written)
    return completion({"role": "assistant", "content": written}, "stop")


def called(name: str, arguments: str) -> Json:
    """The chat completion that calls a function with arguments in JSON."""
    call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return completion(message, "tool_calls")


def completion(message: Json, finish_reason: str) -> Json:
    """A chat completion of one choice."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"object": "chat.completion", "model": "oracle", "choices": [choice]}


def right_call(rows: Sequence[Mapping[str, Any]], services: Sequence[Service]) -> Json:
    """The name and arguments of the call that the system makes after a turn; empty without one.

    Args:
        rows: The frame rows of the turn, of which ``service``, ``service_call`` and ``slot_values``
            are used. An argument is written as the state has it, since that is how it was said.
        services: All services of the dialogue.
    """
    for row in rows:
        if (call := row["service_call"]) is not None:
            spoken = {given["slot"]: given["values"][0] for given in row["slot_values"]}
            for name, (service, intent) in call_functions(services).items():
                if (service.service_name, intent.name) == (row["service"], call["method"]):
                    arguments = {
                        parameter_names(service)[entry["slot"]]: spoken.get(
                            entry["slot"], entry["value"]
                        )
                        for entry in call["parameters"]
                    }
                    return {"name": name, "arguments": arguments}
    return {}


def right_call_answer(rows: Sequence[Mapping[str, Any]], services: Sequence[Service]) -> Json:
    """The chat completion that makes the call of ``right_call``, or none."""
    call = right_call(rows, services)
    if not call:
        return completion({"role": "assistant", "content": "How can I help?"}, "stop")
    return called(call["name"], json.dumps(call["arguments"], ensure_ascii=False))
