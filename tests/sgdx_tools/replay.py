"""A program for ``run --command`` that replays the expected calls of a folder of tools.

``python replay.py FOLDER oracle`` answers in the names that it is shown, which it takes from their
places in the tools as worded: it uses nothing of this project, so that it is no copy of what the
scorer does. ``original`` knows the original names alone. ``mutated`` is the oracle with one
argument of each call changed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Json = Any


def first_value(expected: Json) -> Json:
    """The first value that is accepted; None inside a tuple where none is to be given."""
    if isinstance(expected, dict) and list(expected) == ["any_of"]:
        values = [item for item in expected["any_of"] if item != {"absent": True}]
        return first_value(values[0]) if values else ()
    if expected == {"absent": True}:
        return ()
    if isinstance(expected, dict):
        first_values = {key: first_value(item) for key, item in expected.items()}
        return {key: value for key, value in first_values.items() if value != ()}
    if isinstance(expected, list):
        return [first_value(item) for item in expected]
    return expected


def resolved(schema: Json, root: Json) -> Json:
    while isinstance(schema, dict) and "$ref" in schema:
        part = root
        for token in schema["$ref"].split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            part = part[int(key)] if isinstance(part, list) else part[key]
        schema = part
    return schema


def branches(schema: Json, worded: Json, roots: tuple[Json, Json]) -> list[tuple[Json, Json]]:
    """A schema and all that ``allOf`` and its like add to it, each beside its worded form."""
    schema, worded = resolved(schema, roots[0]), resolved(worded, roots[1])
    if not isinstance(schema, dict):
        return []
    pairs = [(schema, worded)]
    for keyword in ("allOf", "anyOf", "oneOf"):
        for old, new in zip(schema.get(keyword, []), worded.get(keyword, []), strict=True):
            pairs += branches(old, new, roots)
    return pairs


def renamed(value: Json, schema: Json, worded: Json, roots: tuple[Json, Json]) -> Json:
    """A value of a schema in the names of the worded schema, whose parts are in the same order."""
    pairs = branches(schema, worded, roots)
    if isinstance(value, list):
        for old, new in pairs:
            if isinstance(old.get("items"), dict):
                return [renamed(item, old["items"], new["items"], roots) for item in value]
        return value
    if not isinstance(value, dict):
        return value
    places = {}
    for old, new in pairs:
        names = zip(old.get("properties", {}), new.get("properties", {}), strict=True)
        for old_name, new_name in names:
            part = (old["properties"][old_name], new["properties"][new_name])
            places[old_name] = (new_name, *part)
    return {
        places[key][0] if key in places else key: (
            renamed(item, *places[key][1:], roots) if key in places else item
        )
        for key, item in value.items()
    }


def mutate(value: Json) -> Json:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, "x"]
    return {**(value or {}), "x": "x"}


def main() -> None:
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    tools = {
        tool.get("id", tool["name"]): tool
        for tool in json.loads((folder / "tools.json").read_text())
    }
    lines = (folder / "cases.jsonl").read_text().splitlines()
    cases = {case["id"]: case for case in map(json.loads, lines)}
    for line in sys.stdin:
        request = json.loads(line)
        case = cases[request["case"]["id"]]
        worded = request["case"]["tools"]
        shown = dict(zip(case.get("tools") or tools, worded))
        calls = []
        for call in case["expect"] or []:
            arguments = first_value(call["arguments"])
            old = tools[call["name"]]
            new = shown[call["name"]] if mode != "original" else old
            if mode == "mutated" and arguments:
                name = sorted(arguments)[len(case["id"]) % len(arguments)]
                arguments[name] = mutate(arguments[name])
            roots = (old.get("parameters", {}), new.get("parameters", {}))
            arguments = renamed(arguments, *roots, roots)
            calls.append({"name": new["name"], "arguments": arguments})
        print(json.dumps({"custom_id": request["custom_id"], "calls": calls}), flush=True)


if __name__ == "__main__":
    main()
