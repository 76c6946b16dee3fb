"""Gold states and calls, written as the arguments that a model would send.

An estimate counts the tokens of answers by them, and tests read them back: what is read from an
answer can be the gold state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sgdx_dataset.schema import Service

from .functions import Json, call_functions, parameter_names
from .requests import RequestSettings


def gold_state(row: Mapping[str, Any], service: Service, settings: RequestSettings) -> Json:
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


def gold_call(rows: Sequence[Mapping[str, Any]], services: Sequence[Service]) -> Json:
    """The name and arguments of the call that the system makes after a turn; empty without one."""
    for row in rows:
        if (call := row["service_call"]) is not None:
            # As in the state, whose variant was spoken; the values of the call are canonical.
            spoken = {entry["slot"]: entry["values"][0] for entry in row["slot_values"]}
            for name, (service, intent) in call_functions(services).items():
                if (service.service_name, intent.name) == (row["service"], call["method"]):
                    parameters = parameter_names(service)
                    arguments = {
                        parameters[entry["slot"]]: spoken.get(entry["slot"], entry["value"])
                        for entry in call["parameters"]
                    }
                    return {"name": name, "arguments": arguments}
    return {}
