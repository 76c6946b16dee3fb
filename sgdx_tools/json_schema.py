"""The words in a JSON Schema, and where they stand.

A node is a schema inside the schema. Its path has the names of the properties that lead to it, as
in ``address.city``; ``guests[]`` is an item of the array ``guests``, ``point[0]`` the first item
of one whose items differ, ``labels.*`` a value under any other key, and ``labels.propertyNames``
such a key. What stands in ``$defs`` has a path of its own, ``$defs.Address.city``, however many
nodes refer to it, so that a schema may refer to itself. Branches of ``anyOf`` and its like describe
one value and add nothing to its path: a property that several of them have is one property. Where
they describe it differently, ``#2`` and so on after the path stand for the descriptions after the
first. ``$`` is the whole schema.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from sgdx_dataset import SgdxError

Json = dict[str, Any]
Parts = dict[str, list[str]]  # the paths of parts of a value, by their names
Step = tuple[bool, str]  # whether a part is a property, and its name

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # of tools and of reworded parameters
ROOT = "$"  # path of the description of the whole schema
_DEEPEST = 100  # schemas in each other
_MOST_NODES = 50_000  # schemas in one
# What may describe each property, or item, beside its own schema.
_OTHERS: Step = (False, "*")
_ITEMS: Step = (False, "[]")
# Keywords with an object of schemas, with a list of schemas and with one schema, and what the path
# of such a schema has after that of the schema around it, where {} is its key or its number. It has
# nothing after it where both describe the same value.
OBJECTS = {
    **{"properties": "{}", "$defs": "$defs.{}", "definitions": "definitions.{}"},
    **{"patternProperties": "*", "dependentSchemas": "", "dependencies": ""},
}
LISTS = {"allOf": "", "anyOf": "", "oneOf": "", "prefixItems": "[{}]", "items": "[{}]"}
SINGLE = {
    **dict.fromkeys(("not", "if", "then", "else"), ""),
    **dict.fromkeys(("items", "contains", "additionalItems", "unevaluatedItems"), "[]"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), "*"),
    **{"propertyNames": "propertyNames", "contentSchema": "contentSchema"},
}
# Keywords under which only other schemas stand.
INNER = {*OBJECTS, *LISTS, *SINGLE} - {"dependencies"}
REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}
VALUES = ("default", "example", "const")  # keywords that hold a value
VALUE_LISTS = ("examples", "enum")
# Keywords whose texts are no names of properties. Any other may mention some, as ``required`` and
# ``propertyOrdering`` do, and ``x-order`` and ``errorMessage`` of other programs.
NO_NAMES = {
    *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", *REFERENCES),
    *("$comment", "$vocabulary", "title", "description", "type", "format", "pattern"),
    *("contentEncoding", "contentMediaType", *VALUES, *VALUE_LISTS, *LISTS, *SINGLE),
    *("properties", "$defs", "definitions", "patternProperties"),
}


class Element(NamedTuple):
    """Words of a schema that can be replaced."""

    # The property's name; empty for what has none, such as an item of an array.
    name: str
    # Empty where there is none.
    description: str


@dataclass(slots=True)
class Node:
    """A schema, or one inside it, and where it stands."""

    # Its JSON pointer, such as ``#/properties/city``.
    pointer: str
    # Its path, without ``#2``; empty for the whole schema.
    path: str
    schema: Json
    # The path of the node around it, and the name of the property that it describes, if it does.
    parent: str = ""
    name: str = ""
    # The path under which its description is replaced; empty where another node has it.
    element: str = ""
    children: list[Node] = field(default_factory=list)


class Layout:
    """The nodes of a schema; ``SgdxError`` where it is not one that this module understands."""

    def __init__(self, schema: Json, where: str) -> None:
        # What error messages begin with, such as ``tool book_table``.
        self.schema, self.where = schema, where
        if (kind := schema.get("type", "object")) != "object":
            problem = f"found type {shown(kind)}, expected object"
            raise SgdxError(f"{where}: {problem}, as arguments are")
        # All nodes by their pointers, in the order of the schema.
        self.nodes: dict[str, Node] = {}
        self._add(Node("#", "", schema), 0)
        # What can be reworded, by path: each property, and whatever else has a description.
        self.elements = self._elements()
        self._check()
        # By each path, those that the nodes there refer to.
        self.refers = self._refers()
        # By each path, the first one that may describe the same value. By these, the paths of each
        # property by its name, and of other parts, such as ``[]``.
        self.values, self.members, self.parts = self._join()

    def _add(self, node: Node, depth: int) -> None:
        if isinstance(node.schema, bool):  # ``true`` allows any value, and has no words
            node.schema = {}
        elif not isinstance(node.schema, dict):
            raise self._fault(node.pointer, node.schema, "a schema")
        self.nodes[node.pointer] = node
        if depth > _DEEPEST or len(self.nodes) > _MOST_NODES:
            many = f"over {_DEEPEST} schemas in each other, or {_MOST_NODES} in one"
            raise SgdxError(f"{self.where}: found {many}")
        for keyword, value in node.schema.items():
            pointer = f"{node.pointer}/{keyword}"
            inner: list[tuple[str, str, Any, str]] = []  # the ends of pointer and path, and a name
            if keyword in OBJECTS:
                if not isinstance(value, dict):
                    raise self._fault(pointer, value, "an object")
                if keyword == "properties" and "" in value:
                    raise self._fault(pointer, "", "names of properties")
                for key, schema in value.items():
                    name = key if keyword == "properties" else ""
                    if not (keyword == "dependencies" and isinstance(schema, list)):
                        last = OBJECTS[keyword].format(key)
                        inner.append((f"/{escape(key)}", last, schema, name))
            elif keyword in LISTS and (keyword != "items" or isinstance(value, list)):
                if not isinstance(value, list):
                    raise self._fault(pointer, value, "an array")
                for i, schema in enumerate(value):
                    inner.append((f"/{i}", LISTS[keyword].format(i), schema, ""))
            elif keyword in SINGLE:
                inner.append(("", SINGLE[keyword], value, ""))
            for end, last, schema, name in inner:
                child = Node(pointer + end, step(node.path, last), schema, node.path, name)
                node.children.append(child)
                self._add(child, depth + 1)

    def _fault(self, pointer: str, value: Any, expected: str) -> SgdxError:
        return SgdxError(f"{self.where}: {pointer}: found {shown(value)}, expected {expected}")

    def _elements(self) -> dict[str, Element]:
        elements: dict[str, Element] = {}
        texts: dict[str, dict[str, int]] = {}  # the descriptions of each path, with their numbers
        for node in self.nodes.values():
            of_path, text = texts.setdefault(node.path, {}), node.schema.get("description", "")
            if not isinstance(text, str):
                raise self._fault(f"{node.pointer}/description", text, "text")
            if text:
                of_path.setdefault(text, len(of_path) + 1)
        with_place = set[str]()  # paths without a description, where one can be added
        for node in self.nodes.values():
            text, of_path = node.schema.get("description", ""), texts[node.path]
            if node.name:
                elements.setdefault(node.path, Element(node.name, ""))
            if text:
                number = of_path[text]
                node.element = (node.path or ROOT) + (f"#{number}" if number > 1 else "")
                name = elements[node.element].name if node.element in elements else ""
                elements[node.element] = Element(name, text)
            elif not of_path and node.path not in with_place:
                with_place.add(node.path)
                node.element = node.path or ROOT
        return elements

    def _check(self) -> None:
        origins: dict[str, tuple[str, str]] = {}
        paths = {node.path for node in self.nodes.values()}
        for pointer, node in self.nodes.items():
            # A property may be called ``$``, or ``when#2``, or ``a.b`` beside ``b`` in ``a``.
            named, origin = node.element or node.path, (node.parent, node.name)
            is_taken = node.path != node.parent and origins.setdefault(node.path, origin) != origin
            if is_taken or (named != node.path and named in paths):
                fault = f"path {named} is of two parts, expected names whose paths differ"
                raise SgdxError(f"{self.where}: {fault}")
            for keyword in ("$id", "$anchor", "$dynamicAnchor", *sorted(REFERENCES)):
                if not isinstance(value := node.schema.get(keyword, ""), str):
                    raise self._fault(f"{pointer}/{keyword}", value, "text")
            for keyword in ("required", "enum"):
                if not isinstance(value := node.schema.get(keyword, []), list):
                    raise self._fault(f"{pointer}/{keyword}", value, "an array")
            if not all(isinstance(name, str) for name in node.schema.get("required", [])):
                raise self._fault(f"{pointer}/required", node.schema["required"], "names")

    def _refers(self) -> dict[str, list[str]]:
        refers: dict[str, list[str]] = {}
        places: dict[int, list[str]] = {}  # of each schema, which may stand in several
        for node in self.nodes.values():
            refers.setdefault(node.path, [])
            places.setdefault(id(node.schema), []).append(node.path)
        root = DRAFT202012.create_resource(self.schema)
        # The registry is empty, so that no address in a schema is asked.
        resolver = Registry[Any]().resolver_with_root(root)
        for node in self.nodes.values():
            for keyword in node.schema.keys() & REFERENCES:
                try:
                    found = resolver.lookup(node.schema[keyword]).contents
                except (Unresolvable, AttributeError, TypeError, ValueError):
                    found = None
                if not isinstance(found, bool) and id(found) not in places:
                    expected = "a pointer inside the schema, such as #/$defs/Place"
                    raise self._fault(f"{node.pointer}/{keyword}", node.schema[keyword], expected)
                refers[node.path] += places.get(id(found), [])
        return refers

    def _join(self) -> tuple[dict[str, str], dict[str, Parts], dict[str, Parts]]:
        """Find the paths that may describe one value.

        They do where one refers to the other. Then so do those of their properties that have one
        name, and those of their items: a congruence closure, by union and find.
        """
        # By a path and what is one step inside: whether it is a property, and its name.
        steps: dict[tuple[str, Step], str] = {}
        for node in self.nodes.values():
            last = node.path[len(node.parent) :].lstrip(".")
            kinds = node.schema.get("type", "object") if node.schema else ""
            kinds = kinds if isinstance(kinds, list) else [kinds]
            if last in ("*", "[]") and "object" not in kinds and "array" not in kinds:
                last += " "  # which has no parts that another schema could describe too
            if last:
                steps[node.parent, (bool(node.name), node.name or last)] = node.path
        roots = {path: path for path in self.refers}
        inside: dict[str, dict[Step, str]] = {path: {} for path in roots}
        pending = [(path, to) for path, of in self.refers.items() for to in of]

        def find(path: str) -> str:
            while roots[path] != path:
                roots[path] = path = roots[roots[path]]
            return path

        def rest(key: Step) -> Step:
            """What describes a part besides its own schema."""
            return _OTHERS if key[0] else _ITEMS if key[1][-1:] == "]" else key

        def put(whole: str, key: Step, path: str) -> None:
            of, alike = inside[whole], [key]
            if key not in of:
                is_rest = key in (_OTHERS, _ITEMS)
                alike = [k for k in of if rest(k) == key] if is_rest else [rest(key)]
            pending.extend((of[k], path) for k in alike if k in of)
            of.setdefault(key, path)

        for (whole, key), path in steps.items():
            put(whole, key, path)
        while pending:
            one, other = map(find, pending.pop())
            if one != other:
                one, other = sorted((one, other), key=lambda path: -len(inside[path]))
                roots[other] = one
                for key, path in inside.pop(other).items():
                    put(one, key, path)
        first: dict[str, str] = {}  # of the paths of each value, in the order of the schema
        values = {path: first.setdefault(find(path), path) for path in roots}
        members, parts = ({path: Parts() for path in first.values()} for _ in range(2))
        for (whole, (is_name, name)), path in steps.items():
            (members if is_name else parts)[values[whole]].setdefault(name, []).append(path)
        return values, members, parts

    def names(self, paths: Sequence[str]) -> Parts:
        """The paths of each property of a value that some paths describe."""
        return self.members[self.values[paths[0]]] if paths else {}

    def at(self, paths: Sequence[str], key: str | int | None) -> list[str]:
        """The paths that describe what is under a key, or at an index, of a value.

        None stands for a key that no property has.
        """
        if not paths:
            return []
        value = self.values[paths[0]]
        found = self.members[value].get(key) if isinstance(key, str) else None
        if found is None:
            parts, is_item = self.parts[value], isinstance(key, int)
            rest = (f"[{key}]", "[]", "[] ") if is_item else ("*", "* ")
            found = [path for part in rest for path in parts.get(part, ())]
        return self.scope(found)

    def scope(self, paths: Sequence[str]) -> list[str]:
        """Paths, and all that they refer to."""
        scope, pending = dict.fromkeys(paths), [*paths]
        while pending:
            to = [path for path in self.refers[pending.pop()] if path not in scope]
            scope.update(dict.fromkeys(to))
            pending += to
        return [*scope]


def step(path: str, last: str) -> str:
    """The path of what is one step inside the node at a path.

    >>> step("address", "city"), step("guests", "[]"), step("", "city"), step("city", "")
    ('address.city', 'guests[]', 'city', 'city')
    """
    return f"{path}.{last}" if path and last and not last.startswith("[") else path + last


def check_name(name: str, where: str) -> None:
    """Raise ``SgdxError`` where a name is not one that all providers take."""
    if not NAME.fullmatch(name):
        expected = "expected 1 to 64 letters, digits, _ and -"
        raise SgdxError(f"{where}: name is {shown(name)}, {expected}")


def escape(token: str) -> str:
    """A key as a token of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def shown(value: Any) -> str:
    """A value in an error message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


# ---- other dialects: Gemini writes types in capitals, Python's programs by Python's names, OpenAPI
# 3.0 and Gemini say ``nullable``, and draft 4 has ``exclusiveMaximum: true`` beside ``maximum``

# JSON Schema's types by what others call them; None stands for any.
TYPES: dict[str, str | None] = {
    **{
        kind: kind for kind in ("object", "array", "string", "integer", "number", "boolean", "null")
    },
    **{"dict": "object", "list": "array", "tuple": "array", "set": "array", "str": "string"},
    **{"int": "integer", "float": "number", "double": "number", "bool": "boolean", "none": "null"},
    **{"any": None, "type_unspecified": None},
}


def plain_schema(schema: Any, where: str) -> Any:
    """A schema and all inside it as JSON Schema; ``SgdxError`` about a type that is not known."""
    if not isinstance(schema, dict):
        return schema
    plain: Json = {}
    for keyword, value in schema.items():
        if keyword in OBJECTS and isinstance(value, dict):
            places = {key: f"{where}: {key}" for key in value}
            plain[keyword] = {key: plain_schema(value[key], place) for key, place in places.items()}
        elif keyword in LISTS and isinstance(value, list):
            plain[keyword] = [plain_schema(child, where) for child in value]
        elif keyword in SINGLE:
            plain[keyword] = plain_schema(value, where)
        else:
            plain[keyword] = value
    if plain.get("$recursiveRef") == "#" and "$ref" not in plain:  # of 2019-09, to the whole
        plain["$ref"] = plain.pop("$recursiveRef")
    plain.pop("$recursiveAnchor", None)
    return modern(plain, where)


def modern(schema: Json, where: str) -> Json:
    """One schema, whose parts are JSON Schemas already, as a JSON Schema."""
    plain = dict(schema)
    for limit in ("minimum", "maximum"):
        exclusive = f"exclusive{limit.capitalize()}"
        if plain.get(exclusive) is True and limit in plain:
            plain[exclusive] = plain.pop(limit)
        elif isinstance(plain.get(exclusive), bool):
            del plain[exclusive]
    if "type" in plain:
        kinds = []
        for kind in plain["type"] if isinstance(plain["type"], list) else [plain["type"]]:
            if not isinstance(kind, str) or kind.lower() not in TYPES:
                known = ", ".join(filter(None, dict.fromkeys(TYPES.values())))
                raise SgdxError(f"{where}: found the type {kind!r:.60}, expected one of {known}")
            kinds.append(TYPES[kind.lower()])
        plain["type"] = kinds if isinstance(plain["type"], list) else kinds[0]
        if None in kinds:
            del plain["type"]
    if (
        not isinstance(plain.get("nullable", False), bool)
        or plain.pop("nullable", False) is not True
    ):
        return plain
    if isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
        if isinstance(plain.get("enum"), list) and None not in plain["enum"]:
            plain["enum"] = [*plain["enum"], None]
        return plain
    words: Json = {key: plain.pop(key) for key in ("title", "description") if key in plain}
    return {**words, "anyOf": [plain, {"type": "null"}]} if plain else words
