"""A service, as trackers take it, made of the tools that a visitor's assistant has."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_tools.importing.collection import tool_records

Json = Mapping[str, Any]
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")  # OpenAI, Anthropic, MCP
_YES_OR_NO = ["True", "False"]
_DEEPEST = 10  # objects in each other


def are_tools(content: Any) -> bool:
    """Whether JSON is a list of tools, or an object with one, and not a service."""
    return isinstance(content, list) or (
        isinstance(content, dict) and bool(content.keys() & {"tools", "functions", "result"})
    )


def service_of_tools(content: Any, title: str) -> dict[str, Any]:
    """The service whose intents are tools and whose slots are their parameters.

    A parameter that several tools have is one slot, as an assistant keeps its value from one call
    to the next, unless the tools give it different values: then the later tool's slot is named
    `tool.parameter`. A parameter inside an object has a slot of its own, named `address.city`.
    """
    if isinstance(content, dict):
        content = content.get("result", content)
    slots: dict[str, dict[str, Any]] = {}
    intents: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(tool_records(content, ("tools", "functions"), Path(title)), 1):
        tool = record.get("function", record)
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not name:
            raise SgdxError(f"{title}: tool {number}: found no name, expected one")
        if name in intents:
            raise SgdxError(f"{title}: found two tools named {name}, expected one")
        where = f"{title}: tool {name}"
        schema: Any = next((tool[key] for key in _SCHEMA_KEYS if key in tool), {})
        parameters = list(_slots(schema, "", True, where))
        for slot, _ in parameters:
            earlier = slots.get(slot["name"], slot)
            if earlier.get("possible_values") != slot.get("possible_values"):
                slot["name"] = f"{name}.{slot['name']}"
            first_slot = slots.setdefault(slot["name"], slot)
            if first_slot.get("possible_values") != slot.get("possible_values"):
                raise SgdxError(
                    f"{where}: found {slot['name']} with other values than another tool gives it"
                )
        intents[name] = {
            "name": name,
            "description": _description(tool, where),
            "required_slots": [slot["name"] for slot, required in parameters if required],
            "optional_slots": {slot["name"]: "" for slot, required in parameters if not required},
        }
    if not intents:
        raise SgdxError(f"{title}: found no tools, expected one at least")
    return {
        "service_name": "tools",
        "description": "",
        "slots": list(slots.values()),
        "intents": list(intents.values()),
    }


def _slots(
    schema: Any, prefix: str, required: bool, where: str, depth: int = 0
) -> Iterator[tuple[dict[str, Any], bool]]:
    """The slots of an object's properties, each with whether a call needs it."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        raise SgdxError(f"{where}: found no JSON Schema of an object for its parameters")
    if depth > _DEEPEST:
        raise SgdxError(f"{where}: found nested objects, expected {_DEEPEST} at most")
    required_names = schema.get("required") or ()
    if not isinstance(required_names, list | tuple):
        raise SgdxError(f"{where}: required is {required_names!r:.60}, expected a list of names")
    needed_names = {name for name in required_names if isinstance(name, str)}
    for name, written in schema.get("properties", {}).items():
        described = _branch(written)
        needed = required and name in needed_names
        if isinstance(described.get("properties"), dict):
            yield from _slots(described, f"{prefix}{name}.", needed, where, depth + 1)
            continue
        description = _description(described, f"{where}, {prefix}{name}")
        slot: dict[str, Any] = {"name": f"{prefix}{name}", "description": description}
        if described.get("type") == "boolean":
            slot["possible_values"] = _YES_OR_NO
        elif isinstance(described.get("enum"), list):
            slot["possible_values"] = [str(v) for v in described["enum"] if v is not None]
        yield slot, needed


def _description(element: Json, where: str) -> str:
    description = element.get("description") or ""
    if not isinstance(description, str):
        raise SgdxError(f"{where}: description is {description!r:.60}, expected text")
    return description


def _branch(schema: Any) -> dict[str, Any]:
    """A property's schema; of one that may be null too, the branch that is not null."""
    if not isinstance(schema, dict):
        return {}
    for key in ("anyOf", "oneOf"):
        listed = schema.get(key)
        branches = [b for b in listed if isinstance(b, dict)] if isinstance(listed, list) else []
        if branch := next((b for b in branches if b.get("type") != "null"), None):
            return {**branch, **schema}
    return schema
