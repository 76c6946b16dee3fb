"""A tracker as a program that calls tools: ``--command "python -m baselines.tool_caller MODEL"``.

Every tool is a service of one intent, whose slots are the parameters of the tool. Of the tools
whose intent is active in the end, the one with the most values is called with them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from .use import Dialogue, load_tracker, track_dialogues

_TOGETHER = 32  # requests that are tracked together
Json = dict[str, Any]


def service_of(tool: Mapping[str, Any]) -> Json:
    """A tool as the schema of a service."""
    parameters = tool["parameters"]
    slots = [
        {
            "name": name,
            "description": part.get("description", ""),
            "possible_values": _values(part),
        }
        for name, part in parameters.get("properties", {}).items()
    ]
    required = [slot["name"] for slot in slots if slot["name"] in parameters.get("required", ())]
    optional = {slot["name"]: "dontcare" for slot in slots if slot["name"] not in required}
    words = {"name": tool["name"], "description": tool["description"]}
    intent = {**words, "required_slots": required, "optional_slots": optional}
    service = {"service_name": tool["name"], "description": tool["description"]}
    return {**service, "slots": slots, "intents": [intent]}


def _values(part: Mapping[str, Any]) -> list[str]:
    if part.get("type") == "boolean":
        return ["True", "False"]
    return [str(value) for value in part.get("enum", ())]


def utterances_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is said, in turn by the user and the assistant; the user begins and ends."""
    said: list[str] = []
    for message in messages:
        role, text = message["role"], message.get("content")
        if not isinstance(text, str) or not text or role not in ("user", "assistant"):
            continue
        if len(said) % 2 == (role == "assistant"):
            said.append(text)
        elif said:
            said[-1] += f" {text}"
    return said if len(said) % 2 else said[:-1]


def calls_of(tools: Sequence[Json], states: Sequence[Json]) -> list[Json]:
    """The call that the last states of the tools amount to; none where no intent is active."""
    active = [
        (tool, state["slot_values"])
        for tool, state in zip(tools, states, strict=True)
        if state["active_intent"] == tool["name"]
    ]
    if not active:
        return []
    tool, values = max(active, key=lambda pair: len(pair[1]))
    properties = tool["parameters"]["properties"]
    arguments = {name: _typed(found[0], properties[name]) for name, found in values.items()}
    return [{"name": tool["name"], "arguments": arguments}]


def _typed(value: str, part: Mapping[str, Any]) -> Any:
    """A value in the type of its parameter, if it has it."""
    if part.get("type") in ("boolean", "integer", "number"):
        try:
            return json.loads(value.lower())
        except ValueError:
            return value
    return value


def answers(model: str, lines: Sequence[str]) -> Iterator[str]:
    """An answer line for each request line."""
    tracker = load_tracker(model)
    for start in range(0, len(lines), _TOGETHER):
        requests = [json.loads(line) for line in lines[start : start + _TOGETHER]]
        asked = [
            Dialogue(service_of(tool), utterances_of(request["case"]["messages"]))
            for request in requests
            for tool in request["case"]["tools"]
        ]
        states = iter(track_dialogues(tracker, asked))
        for request in requests:
            tools = request["case"]["tools"]
            calls = calls_of(tools, [next(states)[-1] for _ in tools])
            yield json.dumps({"custom_id": request["custom_id"], "calls": calls})


def main() -> None:
    """Answer the lines of standard input."""
    output = sys.stdout
    with redirect_stdout(sys.stderr):  # how far tracking is
        for line in answers(sys.argv[1], sys.stdin.read().splitlines()):
            print(line, file=output, flush=True)


if __name__ == "__main__":
    main()
