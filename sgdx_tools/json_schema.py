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
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from sgdx_dataset import SgdxError

Json = dict[str, Any]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # of tools and of reworded parameters
ROOT = "$"  # path of the description of the whole schema
_DEEPEST = 100  # schemas in each other
MOST_IN_A_ROW = 20  # references, each to what is but the next
_MOST_NODES = 50_000  # schemas in one
_MOST_PAIRS = 500_000  # of paths, of which one refers to the other
_MOST_VALUES = 10_000  # kinds of values in one schema, by the paths that describe them
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
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
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


class Node(NamedTuple):
    """A schema, or one inside it, and where it stands."""

    # Its JSON pointer, such as ``#/properties/city``.
    pointer: str
    # Its path, without ``#2``; empty for the whole schema.
    path: str
    schema: Json
    # The path of the node around it.
    parent: str = ""
    # The name of the property that it describes; empty where it describes none.
    name: str = ""


class Layout:
    """The nodes of a schema; ``SgdxError`` where it is not one that this module understands."""

    def __init__(self, schema: Json, where: str) -> None:
        self.schema = schema
        # What error messages begin with, such as ``tool book_table``.
        self.where = where
        if (kind := schema.get("type", "object")) != "object":
            problem = f"found type {shown(kind)}, expected object"
            raise SgdxError(f"{where}: {problem}, as arguments are")
        # All nodes by their pointers, in the order of the schema.
        self.nodes: dict[str, Node] = {}
        for node in self._walk(Node("#", "", schema), 0):
            self.nodes[node.pointer] = node
            if len(self.nodes) > _MOST_NODES:
                raise SgdxError(f"{where}: found over {_MOST_NODES} schemas in one")
        # By its pointer, the path under which the description of a node is replaced.
        self.element_paths: dict[str, str] = {}
        # What can be reworded, by path: each property, and whatever else has a description.
        self.elements: dict[str, Element] = {}
        self._find_elements()
        # By each path, all paths that describe the same value: its own, and those referred to.
        self.scopes = self._scopes()
        # By the path of an object, the paths of each of its properties by name.
        self.members = self._members()
        self._check()
        self._join_members()

    def _walk(self, node: Node, depth: int) -> Iterator[Node]:
        if isinstance(node.schema, bool):  # ``true`` allows any value, and has no words
            yield node._replace(schema={})
            return
        if not isinstance(node.schema, dict):
            raise self._fault(node.pointer, node.schema, "a schema")
        if depth > _DEEPEST:
            raise SgdxError(f"{self.where}: found over {_DEEPEST} schemas in each other")
        yield node
        for child in self._inside(node):
            yield from self._walk(child, depth + 1)

    def children(self, node: Node) -> list[Node]:
        """The nodes directly inside a node."""
        return [self.nodes[child.pointer] for child in self._inside(node)]

    def _inside(self, node: Node) -> Iterator[Node]:
        for keyword, value in node.schema.items():
            pointer = f"{node.pointer}/{keyword}"
            if keyword in OBJECTS:
                if not isinstance(value, dict):
                    raise self._fault(pointer, value, "an object")
                for key, schema in value.items():
                    if keyword == "properties" and not key:
                        raise self._fault(pointer, key, "names of properties")
                    if keyword == "dependencies" and isinstance(schema, list):
                        continue  # names of properties
                    path = step(node.path, OBJECTS[keyword].format(key))
                    name = key if keyword == "properties" else ""
                    yield Node(f"{pointer}/{escape(key)}", path, schema, node.path, name)
            elif keyword in LISTS and (keyword != "items" or isinstance(value, list)):
                if not isinstance(value, list):
                    raise self._fault(pointer, value, "an array")
                for i, schema in enumerate(value):
                    path = step(node.path, LISTS[keyword].format(i))
                    yield Node(f"{pointer}/{i}", path, schema, node.path)
            elif keyword in SINGLE:
                yield Node(pointer, step(node.path, SINGLE[keyword]), value, node.path)

    def _fault(self, pointer: str, value: Any, expected: str) -> SgdxError:
        return SgdxError(f"{self.where}: {pointer}: found {shown(value)}, expected {expected}")

    def _find_elements(self) -> None:
        # The distinct ones of each path, and which each is.
        descriptions: dict[str, dict[str, int]] = {}
        for node in self.nodes.values():
            of_path = descriptions.setdefault(node.path, {})
            text = node.schema.get("description", "")
            if not isinstance(text, str):
                raise self._fault(f"{node.pointer}/description", text, "text")
            if text:
                of_path.setdefault(text, len(of_path) + 1)
        with_place = set[str]()  # paths without a description, where one can be added
        for pointer, node in self.nodes.items():
            text, of_path = node.schema.get("description", ""), descriptions[node.path]
            if node.name:
                self.elements.setdefault(node.path, Element(node.name, ""))
            if text:
                number = of_path[text]
                path = (node.path or ROOT) + (f"#{number}" if number > 1 else "")
                self.element_paths[pointer] = path
                self.elements[path] = Element(self.elements.get(path, Element("", "")).name, text)
            elif not of_path and node.path not in with_place:
                with_place.add(node.path)
                self.element_paths[pointer] = node.path or ROOT

    def _scopes(self) -> dict[str, tuple[str, ...]]:
        anchors = {
            f"#{node.schema[key]}": node.path
            for node in self.nodes.values()
            for key in ("$anchor", "$dynamicAnchor")
            if key in node.schema
        }
        direct: dict[str, list[str]] = {}
        for node in self.nodes.values():
            paths = direct.setdefault(node.path, [node.path])
            for keyword in REFERENCES:
                if keyword not in node.schema:
                    continue
                reference = node.schema[keyword]
                where = f"{self.where}: {node.pointer}/{keyword}: found {shown(reference)}"
                if not isinstance(reference, str) or reference[:1] != "#":
                    expected = "expected a pointer inside the schema, such as #/$defs/Place"
                    raise SgdxError(f"{where}, {expected}")
                if reference in anchors:
                    paths.append(anchors[reference])
                elif unquote(reference) in self.nodes:
                    paths.append(self.nodes[unquote(reference)].path)
                else:
                    raise SgdxError(f"{where}, which is not in the schema")
        scopes, pairs = {}, 0
        for path in direct:
            scope, pending = dict.fromkeys([path]), [(path, 0)]
            while pending:
                last, depth = pending.pop()
                if depth > MOST_IN_A_ROW:
                    raise SgdxError(f"{self.where}: found over {MOST_IN_A_ROW} references in a row")
                additions = [p for p in direct[last] if p not in scope]
                scope.update(dict.fromkeys(additions))
                pending += [(addition, depth + 1) for addition in additions]
            scopes[path] = tuple(scope)
            pairs += len(scope)
            if pairs > _MOST_PAIRS:
                raise SgdxError(f"{self.where}: found over {_MOST_PAIRS} references to each other")
        return scopes

    def _members(self) -> dict[str, dict[str, tuple[str, ...]]]:
        own: dict[str, dict[str, str]] = {}
        for node in self.nodes.values():
            if node.name:
                own.setdefault(node.parent, {})[node.name] = node.path
        members: dict[str, dict[str, tuple[str, ...]]] = {}
        for path, scope in self.scopes.items():
            for described in scope:
                for name, member in own.get(described, {}).items():
                    of_path = members.setdefault(path, {})
                    of_path[name] = (*of_path.get(name, ()), member)
        # A part may require a property that only the objects that refer to it have.
        lacking: dict[str, set[str]] = {}
        for node in self.nodes.values():
            if names := _mentioned(node.schema) - members.get(node.path, {}).keys():
                lacking.setdefault(node.path, set()).update(names)
        for path, scope in self.scopes.items():
            for described in scope[1:]:
                for name in lacking.get(described, set()) & own.get(path, {}).keys():
                    of_part = members.setdefault(described, {})
                    of_part[name] = tuple(dict.fromkeys([*of_part.get(name, ()), own[path][name]]))
        return members

    def _check(self) -> None:
        origins: dict[str, tuple[str, str]] = {}
        paths = {node.path for node in self.nodes.values()}
        for pointer, node in self.nodes.items():
            # A property may be called ``$``, or ``when#2``, or ``a.b`` beside ``b`` in ``a``.
            named = self.element_paths.get(pointer, node.path)
            origin = node.parent, node.name
            is_taken = node.path != node.parent and origins.setdefault(node.path, origin) != origin
            if is_taken or (named != node.path and named in paths):
                fault = f"path {named} is of two parts, expected names whose paths differ"
                raise SgdxError(f"{self.where}: {fault}")
            for keyword in ("required", "enum"):
                if not isinstance(value := node.schema.get(keyword, []), list):
                    raise self._fault(f"{pointer}/{keyword}", value, "an array")
            if not all(isinstance(name, str) for name in node.schema.get("required", [])):
                raise self._fault(f"{pointer}/required", node.schema["required"], "names")

    def _join_members(self) -> None:
        """Make one element of those that describe one property of a value, for one name."""
        # Two parts may describe what stands under a key of an object, although neither refers to
        # the other: its own schema, and that of the same key in a part that the object refers to.
        order = {path: number for number, path in enumerate(self.scopes)}
        places = {node.path for node in self.nodes.values()}
        joined: dict[str, tuple[str, ...]] = {}  # by each such element, all of them
        known = set[frozenset[str]]()
        pending = [self.scope([""])]
        while pending:
            paths = pending.pop()
            if frozenset(paths) in known:
                continue
            known.add(frozenset(paths))
            if len(known) > _MOST_VALUES:
                raise SgdxError(f"{self.where}: found over {_MOST_VALUES} kinds of values")
            for key in dict.fromkeys(k for p in paths for k in self.members.get(p, ())):
                elements = [of[key] for p in paths if key in (of := self.members.get(p, {}))]
                largest = {*max(elements, key=len)}
                if not all(largest.intersection(other) for other in elements):
                    whole = {e for other in elements for e in other}
                    whole |= {e for element in whole for e in joined.get(element, ())}
                    joined |= dict.fromkeys(whole, tuple(sorted(whole, key=order.__getitem__)))
                pending.append(self.member(paths, key))
            if any(step(path, "[]") in places for path in paths):
                pending.append(self.item(paths, 0))
        for of in self.members.values():
            for key, elements_of_key in of.items():
                if whole_of_key := joined.get(elements_of_key[0]):
                    of[key] = whole_of_key

    # ---- which paths describe a part of a value that some paths describe

    def scope(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Paths, and all that they refer to."""
        return tuple(dict.fromkeys(p for path in paths for p in self.scopes.get(path, ())))

    def member(self, paths: Iterable[str], key: str) -> tuple[str, ...]:
        """Those of a value under a key of an object."""
        return self.scope([step(p, k) for p in self.scope(paths) for k in (key, "*")])

    def item(self, paths: Iterable[str], index: int) -> tuple[str, ...]:
        """Those of an item of an array."""
        return self.scope([step(p, i) for p in self.scope(paths) for i in ("[]", f"[{index}]")])


def _mentioned(schema: Json) -> set[str]:
    """All that may be names of properties in a schema, without the schemas inside it."""
    patterns = " ".join(schema.get("patternProperties", ()))
    names = {*re.findall(r"[\w-]+", patterns)}  # which a pattern spells out
    pending = [part for keyword, part in schema.items() if keyword not in NO_NAMES]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            names.add(part)
        elif isinstance(part, list | dict):
            names |= {*part} if isinstance(part, dict) else set()
            pending += part.values() if isinstance(part, dict) else part
    return names


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
