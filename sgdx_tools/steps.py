"""Several steps: what other calls give back, until the calls come that are right.

A case ends when the expected calls have come, when no call is made, when a call is made again, or
after as many answers as it may have.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from sgdx_metric.call_rules import score_case

from .data import Case, Json, Project, Rule
from .elements import Outcome
from .renaming import WordedTools
from .values import as_expected, fault

_DEEPEST = 8  # parts in each other of a result that is made
_TEXTS = {"date": "2026-01-15", "date-time": "2026-01-15T12:00:00Z", "time": "12:00:00"}
_TEXTS |= {"email": "name@example.com", "uri": "https://example.com", "ipv4": "192.0.2.1"}
_KINDS: Json = {"integer": 1, "number": 1, "boolean": True, "null": None}


def places_of(
    expected: Sequence[Json],
    made: Sequence[Json],
    parameters: Mapping[str, Json],
    rules: Rule,
    extra: bool,
) -> list[int] | None:
    """Where each of the expected calls stands among those that were made; None if one does not."""
    places: list[int] = []
    for call in expected:
        for i, other in enumerate(made):
            if i not in places and score_case([call], [other], parameters, rules, extra).call == 1:
                places.append(i)
                break
        else:
            return None
    return places


def split(
    expected: Sequence[Json] | None,
    before: Sequence[Json],
    last: Sequence[Json],
    parameters: Mapping[str, Json],
    rules: Rule,
    extra: bool,
) -> tuple[list[Json], list[Json]]:
    """The calls that are judged, and those that came first.

    Where the expected calls have come they are judged, and what follows them in the same answer;
    else the last call of each expected tool, or what was called last.
    """
    made = [*before, *last]
    if not before or expected is None:
        return made, []
    if (places := places_of(expected, made, parameters, rules, extra)) is not None:
        later = [i for i in range(len(before), len(made)) if max(places) >= len(before)]
        judged = sorted({*places, *later})
    else:
        names = Counter(call["name"] for call in expected)
        at = [i for name, n in names.items() for i in _places(made, name)[-n:]]
        judged = sorted(at) or list(range(len(before), len(made))) or [len(made) - 1]
    return [made[i] for i in judged], [c for i, c in enumerate(made) if i not in judged]


def _places(made: Sequence[Json], name: str) -> list[int]:
    return [i for i, call in enumerate(made) if call["name"] == name]


def goes_on(
    project: Project, worded: WordedTools, case: Case, steps: Sequence[Sequence[Json]]
) -> bool:
    """Whether a case is asked once more, after the calls of so many answers."""
    *earlier, last = steps
    before = [call for step in earlier for call in step]
    if not last or len(steps) >= case.steps or any(call in before for call in last):
        return False
    if case.expect is None:  # where other calls than those forbidden may be made
        ids = worded.ids(case)
        return bool(case.forbid) and not any(ids.get(c["name"]) in case.forbid for c in last)
    expected = [
        {"name": call.name, "arguments": call.arguments} for call in worded.expect(case) or ()
    ]
    tools = [worded.tool(call.name) for call in case.expect]
    parameters = {tool.name: tool.parameters for tool in tools}
    rules, extra = project.source.rules, case.extra == "allow"
    return places_of(expected, [*before, *last], parameters, rules, extra) is None


def answered(
    project: Project, worded: WordedTools, case: Case, calls: Sequence[Json], step: int
) -> list[Json]:
    """The messages with some calls, and with what each of them gives back."""
    made, results = [], []
    for i, call in enumerate(calls):
        name, call_id = call["name"], f"call_{step}_{i}"
        function = {"name": name, "arguments": json.dumps(call["arguments"], ensure_ascii=False)}
        made.append({"id": call_id, "type": "function", "function": function})
        content = _result(project, worded, case, call)
        results.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return [{"role": "assistant", "content": "", "tool_calls": made}, *results]


def _result(project: Project, worded: WordedTools, case: Case, call: Json) -> str:
    """What a call gives back, as text: of the case, of its output schema, or that it is done."""
    tool = worded.ids(case).get(call["name"])
    if tool is None:
        return f"Error: there is no tool {call['name']}"
    if not isinstance(call["arguments"], dict):
        return "Error: the arguments are no object"
    if why := fault(as_expected(call["arguments"]), worded.tool(tool)):
        return f"Error: {why}"
    beside = project.source.beside.get(f"tool {tool}", {})
    schema = next((beside[k] for k in ("outputSchema", "output_schema") if k in beside), None)
    value = case.results.get(tool, "Done." if schema is None else made_of(schema))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return str(worded.result(tool, text))


def came_first(
    project: Project, worded: Mapping[str, WordedTools], outcomes: Mapping[str, Sequence[Outcome]]
) -> list[dict[str, Any]]:
    """Which tool was called before which expected ones, in how many cases of theirs by variant.

    `right` says in how many of these the expected calls came then, and `said` whether a message of
    such a case, or a text of the expected tool, names the tool that came first.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    expecting = Counter(name for c in project.cases for name in {e.name for e in c.expect or ()})
    for name, of_variant in outcomes.items():
        for case, outcome in zip(project.cases, of_variant):
            ids = worded[name].ids(case)
            first = {ids.get(call["name"], call["name"]) for call in outcome.first}
            called = {ids.get(call["name"]) for call in outcome.made}
            for tool in {call.name for call in case.expect or ()} & called:
                texts = [element.description for element in project.tools[tool].elements.values()]
                texts += [str(message.get("content")) for message in case.messages]
                for other in first - {tool}:
                    row: Json = {"first": other, "tool": tool, "of": expecting[tool], "said": False}
                    row = found.setdefault((other, tool), row | {"cases": {}, "right": {}})
                    row["said"] |= any(other in text for text in texts)
                    for key, is_one in (("cases", True), ("right", outcome.is_right)):
                        row[key][name] = row[key].get(name, 0) + int(is_one)
    return sorted(found.values(), key=lambda row: -sum(row["cases"].values()))


def made_of(schema: Any) -> Any:
    """A value that a schema takes, as far as types, listed values and limits tell.

    >>> made_of({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}})
    {'n': 3}
    """

    def made(part: Any, depth: int) -> Any:
        if not isinstance(part, dict) or depth > _DEEPEST:
            return None
        if isinstance(reference := part.get("$ref"), str):
            try:  # the registry is empty, so that no address in a schema is asked
                resource = DRAFT202012.create_resource(schema)
                resolver = Registry[Any]().resolver_with_root(resource)
                found = resolver.lookup(reference).contents
            except (Unresolvable, AttributeError, TypeError, ValueError):
                return None
            return made(found, depth + 1)
        listed = [*(part[key] for key in ("const", "default", "example") if key in part)]
        for key in ("examples", "enum"):
            listed += part[key][:1] if isinstance(part.get(key), list) else []
        if listed:
            return listed[0]
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(part.get(key), list) and part[key]:
                return made(part[key][0], depth + 1)
        kinds = part.get("type", "object" if "properties" in part else "string")
        kind = str(kinds[0] if isinstance(kinds, list) and kinds else kinds)
        if kind == "object":
            properties = part.get("properties")
            inside = properties.items() if isinstance(properties, dict) else ()
            return {name: made(of, depth + 1) for name, of in inside}
        if kind == "array":
            return [made(part.get("items", {}), depth + 1)]
        if kind in ("integer", "number") and "minimum" in part:
            return part["minimum"]
        return _KINDS[kind] if kind in _KINDS else _TEXTS.get(str(part.get("format")), "text")

    return made(schema, 0)
