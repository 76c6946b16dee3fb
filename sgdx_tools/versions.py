"""Another version of tools, as of a pull request, as the variant ``new``.

What both versions have is paired: by its name, then by what else it says. The variant has the new
words of all pairs, by which calls that are right are put into them, and the other version's tools
as they are, which models are shown: what is added, removed or of another type is measured too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from .data import ALL_TOOLS, ElementId, Json, Tool, ToolWords, Variant, Words
from .json_schema import INNER, ROOT, Node
from .renaming import WordedTools

_T = TypeVar("_T")
MADE_BY = "tools"  # of a variant that another version of the tools is, perhaps with the same words


def variant_between(
    tools: Mapping[str, Tool], others: Mapping[str, Tool]
) -> tuple[Variant, list[str]]:
    """The variant ``new`` of the other tools, and a line for each name or structure that differs.

    It is empty where the tools are the same, in the same order. Tools that are called differently
    are paired by their descriptions, or the properties that they have; where there are as many
    tools as before, by the form of their parameters too.
    """
    facts: list[Callable[[Tool], Hashable]] = [
        lambda tool: tool.description,
        lambda tool: _form(tool.layout.nodes["#"], True),
    ]
    if len(tools) == len(others):
        facts.append(lambda tool: _form(tool.layout.nodes["#"], False))
    pairs = _paired(tools, others, facts)
    words = {i: _words_between(tools[i], others[other]) for i, other in pairs.items()}
    changed = {tool: new for tool, new in words.items() if new != ToolWords()}
    ids = {other: i for i, other in pairs.items()}
    version = {(i := ids.get(other, other)): replace(tool, id=i) for other, tool in others.items()}
    variant = Variant("new", changed, MADE_BY, version)
    notes = []
    for tool_id, new in changed.items():
        notes += [f"tool {tool_id} is called {new.name}"] if new.name else []
        named = ((path, part.name) for path, part in new.parameters.items() if part.name)
        notes += [f"tool {tool_id}: {path} is called {name}" for path, name in named]
    for (tool_id, path), change in changes(tools, variant).items():
        notes.append(f"tool {tool_id}{path and f': {path}'} {change}")
    notes += [f"tool {i} is removed" for i in tools if i not in version]
    if not notes and is_same(tools, others):
        return Variant("new", {}, MADE_BY), notes
    if not changed and not notes:
        notes.append("tools, or parts of them, stand in another order")
    return variant, notes


def is_same(tools: Mapping[str, Tool], others: Mapping[str, Tool]) -> bool:
    """Whether a model is shown the same of both, which it is not where their order differs."""
    one, other = ([replace(t, id=t.name) for t in of.values()] for of in (tools, others))
    return msgspec.json.encode(one) == msgspec.json.encode(other)


def changes(tools: Mapping[str, Tool], variant: Variant) -> dict[ElementId, str]:
    """What another version adds, removes or changes beside words, by tool and path."""
    found: dict[ElementId, str] = {}
    for i, tool in (variant.version or {}).items():
        if i not in tools:
            of = "all" if tool.rival_of == ALL_TOOLS else tool.rival_of
            found[i, ""] = f"is a rival of {of}" if of else "is added"
            continue
        old = WordedTools(tools, replace(variant, version=None)).tool(i).layout.nodes
        new = tool.layout.nodes
        for pointer, node in old.items():  # in the same words
            if pointer not in new:
                found[i, node.path or ROOT] = "is removed"
            elif (before := _own(node)) != (after := _own(new[pointer])):
                keywords = sorted(k for k in {**before, **after} if before.get(k) != after.get(k))
                found[i, node.path or ROOT] = f"differs in {', '.join(keywords)}"
        found |= {(i, n.path or ROOT): "is added" for p, n in new.items() if p not in old}
    return found


def _paired(
    old: Mapping[str, _T], new: Mapping[str, _T], facts: list[Callable[[_T], Hashable]]
) -> dict[str, str]:
    """Keys that belong together: equal ones, then those that alone have a fact in common."""
    pairs = {key: key for key in old if key in new}
    for fact in facts:
        groups: dict[Hashable, tuple[list[str], list[str]]] = {}
        for side, (of_side, taken) in enumerate(((old, set(pairs)), (new, set(pairs.values())))):
            for key in of_side:
                if key not in taken and (known := fact(of_side[key])):
                    groups.setdefault(known, ([], []))[side].append(key)
        for left, right in groups.values():
            if len(left) == len(right) == 1:  # of two, no order says which is which
                pairs[left[0]] = right[0]
    return pairs


def _words_between(tool: Tool, other: Tool) -> ToolWords:
    """The words of another version of a tool."""
    names: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    for node, new in _nodes(tool.layout.nodes["#"], other.layout.nodes["#"]):
        if node.name and new.name != node.name:
            names.setdefault(node.path, new.name)
        text = new.schema.get("description", "")
        if text != node.schema.get("description", "") and node.element:
            descriptions[node.element] = text
    parts = {
        path: Words(names.get(path), descriptions.get(path))
        for path in dict.fromkeys([*names, *descriptions])
    }
    return ToolWords(
        other.name if other.name != tool.name else None,
        other.description if other.description != tool.description else None,
        parts,
    )


def _nodes(node: Node, new: Node) -> Iterator[tuple[Node, Node]]:
    """A node of two schemas, and the nodes inside it that belong together."""
    yield node, new
    children, others = (
        {child.pointer.removeprefix(within.pointer): child for child in within.children}
        for within in (node, new)
    )
    # Only properties have names by which they are called otherwise.
    facts: list[Callable[[Node], Hashable]] = [
        lambda of: of.name and of.schema.get("description"),
        lambda of: of.name and _form(of, False),
    ]
    for key, other in _paired(children, others, facts).items():
        yield from _nodes(children[key], others[other])


def _form(root: Node, with_names: bool) -> str:
    """What a schema is without its words, and if asked without the names of its properties."""

    def form(node: Node) -> Any:
        own = _own(node)
        own.pop("description")
        if not with_names:
            own["required"] = len(own["required"])
        inner = [[child.name if with_names else "", form(child)] for child in node.children]
        return [own, sorted(inner, key=json.dumps)]

    return json.dumps(form(root), sort_keys=True) if root.schema else ""  # without any, no fact


def _own(node: Node) -> Json:
    """What a node says itself, in an order that does not depend on that in the file."""
    kept = {k: v for k, v in node.schema.items() if k not in INNER and k != "title"}
    required = sorted(map(str, kept.get("required", [])))
    return {**kept, "description": kept.get("description", ""), "required": required}
