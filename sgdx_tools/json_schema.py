"""The words in a JSON Schema, where they stand, and how they are replaced there.

A node is a schema inside the schema. Its path has the names of the properties that lead to it, as
in ``address.city``; ``guests[]`` is an item of the array ``guests``, ``point[0]`` the first item
of one whose items differ, ``labels.*`` a value under any other key. What stands in ``$defs`` has a
path of its own, ``$defs.Address.city``, however many nodes refer to it, so that a schema may refer
to itself. Branches of ``anyOf`` and its like describe one value and add nothing to its path: a
property that several of them have is one property. Where they describe it differently, ``#2`` and
so on after the path stand for the descriptions after the first. ``$`` is the whole schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote

from sgdx_dataset import SgdxError

from .data import ANY_OF, Json, Tool, Words

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # of tools and of reworded parameters
ROOT = "$"  # path of the description of the whole schema
_DEEPEST = 100  # schemas in each other
# Keywords whose schemas describe the value that the schema around them describes.
_BRANCHES = ("allOf", "anyOf", "oneOf")
# Keywords with one schema, and what its path has after that of the schema around it.
_SINGLE = {
    **dict.fromkeys(("not", "if", "then", "else"), ""),
    **dict.fromkeys(("items", "contains", "additionalItems", "unevaluatedItems"), "[]"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), "*"),
}
_VALUES = ("default", "example", "const")  # keywords that hold a value
_VALUE_LISTS = ("examples", "enum")
_DEFINITIONS = ("$defs", "definitions")


class Element(NamedTuple):
    """Words of a schema that can be replaced.

    Attributes:
        path: Where they stand.
        name: The property's name; empty for what has none, such as an item of an array.
        description: The description; empty where there is none.
    """

    path: str
    name: str
    description: str


class _Node(NamedTuple):
    """A schema, or one inside it, and where it stands.

    Attributes:
        pointer: Its JSON pointer, such as ``#/properties/city``.
        path: Its path, without ``#2``; empty for the whole schema.
        schema: The schema.
        parent: The path of the node around it, where the two differ.
        name: The name of the property that it describes; empty where it describes none.
    """

    pointer: str
    path: str
    schema: Json
    parent: str = ""
    name: str = ""


class _Child(NamedTuple):
    """A schema directly inside another one.

    Attributes:
        tokens: What its JSON pointer has after that of the other one.
        step: What its path has after that of the other one; empty for a branch.
        schema: The schema.
        name: The name of the property that it describes; empty where it describes none.
    """

    tokens: tuple[str, ...]
    step: str
    schema: Any
    name: str = ""


@dataclass(frozen=True)
class Layout:
    """A schema and all schemas inside it, its nodes.

    Attributes:
        schema: The schema.
        where: What error messages begin with, such as ``tools.json: tool book_table``.

    Raises:
        SgdxError: On use, where a part is no schema, is nested over 100 deep, or refers to what is
            not in it.
    """

    schema: Json
    where: str

    @cached_property
    def nodes(self) -> dict[str, _Node]:
        """All nodes by their pointers, in the order of the schema."""
        return {node.pointer: node for node in self._walk(_Node("#", "", self.schema), 0)}

    def _walk(self, node: _Node, depth: int) -> Iterator[_Node]:
        if isinstance(node.schema, bool):  # ``true`` allows any value, and has no words
            yield node._replace(schema={})
            return
        if not isinstance(node.schema, dict):
            problem = f"found {_shown(node.schema)}, expected a schema"
            raise SgdxError(f"{self.where}: {node.pointer}: {problem}")
        if depth > _DEEPEST:
            raise SgdxError(f"{self.where}: found over {_DEEPEST} schemas in each other")
        yield node
        for child in self._children(node):
            pointer = "/".join([node.pointer, *map(_escape, child.tokens)])
            path = step(node.path, child.step)
            inner = _Node(pointer, path, child.schema, node.path, child.name)
            yield from self._walk(inner, depth + 1)

    def _children(self, node: _Node) -> Iterator[_Child]:
        for keyword, value in node.schema.items():
            if keyword == "properties":
                for name, schema in self._object(value, node, keyword).items():
                    yield _Child((keyword, name), name, schema, name)
            elif keyword in _DEFINITIONS:
                for name, schema in self._object(value, node, keyword).items():
                    yield _Child((keyword, name), f"{keyword}.{name}", schema)
            elif keyword == "patternProperties":
                for pattern, schema in self._object(value, node, keyword).items():
                    yield _Child((keyword, pattern), "*", schema)
            elif keyword == "dependentSchemas":
                for name, schema in self._object(value, node, keyword).items():
                    yield _Child((keyword, name), "", schema)
            elif keyword in _BRANCHES:
                for i, schema in enumerate(self._list(value, node, keyword)):
                    yield _Child((keyword, str(i)), "", schema)
            elif keyword == "prefixItems" or (keyword == "items" and isinstance(value, list)):
                for i, schema in enumerate(self._list(value, node, keyword)):
                    yield _Child((keyword, str(i)), f"[{i}]", schema)
            elif keyword in _SINGLE:
                yield _Child((keyword,), _SINGLE[keyword], value)

    def _object(self, value: Any, node: _Node, keyword: str) -> Json:
        if not isinstance(value, dict):
            problem = f"found {_shown(value)}, expected an object"
            raise SgdxError(f"{self.where}: {node.pointer}/{keyword}: {problem}")
        return value

    def _list(self, value: Any, node: _Node, keyword: str) -> list[Any]:
        if not isinstance(value, list):
            problem = f"found {_shown(value)}, expected an array"
            raise SgdxError(f"{self.where}: {node.pointer}/{keyword}: {problem}")
        return value

    @cached_property
    def element_paths(self) -> dict[str, str]:
        """By its pointer, the path under which the description of a node is replaced."""
        descriptions: dict[str, list[str]] = {}
        for node in self.nodes.values():
            of_path = descriptions.setdefault(node.path, [])
            if (description := self._description(node)) and description not in of_path:
                of_path.append(description)
        paths: dict[str, str] = {}
        first: dict[str, str] = {}
        for pointer, node in self.nodes.items():
            of_path, description = descriptions[node.path], self._description(node)
            if not of_path and first.setdefault(node.path, pointer) == pointer:
                paths[pointer] = node.path or ROOT  # where a description can be added
            elif description:
                number = of_path.index(description) + 1
                paths[pointer] = (node.path or ROOT) + (f"#{number}" if number > 1 else "")
        return paths

    def _description(self, node: _Node) -> str:
        description = node.schema.get("description", "")
        if not isinstance(description, str):
            problem = f"found {_shown(description)}, expected text"
            raise SgdxError(f"{self.where}: {node.pointer}/description: {problem}")
        return description

    @cached_property
    def elements(self) -> dict[str, Element]:
        """What can be reworded, by path: each property, and whatever else has a description."""
        elements: dict[str, Element] = {}
        for pointer, node in self.nodes.items():
            if node.name:
                elements.setdefault(node.path, Element(node.path, node.name, ""))
            path, description = self.element_paths.get(pointer, ""), self._description(node)
            if path and description:
                name = elements[path].name if path in elements else ""
                elements[path] = Element(path, name, description)
        return elements

    @cached_property
    def scopes(self) -> dict[str, tuple[str, ...]]:
        """By each path, all paths that describe the same value: its own, and those referred to."""
        direct: dict[str, list[str]] = {}
        for node in self.nodes.values():
            paths = direct.setdefault(node.path, [node.path])
            reference = node.schema.get("$ref")
            if reference is not None:
                paths.append(self._referred(node, reference).path)
        scopes = {}
        for path in direct:
            scope, pending = dict.fromkeys([path]), [path]
            while pending:
                additions = [p for p in direct[pending.pop()] if p not in scope]
                scope |= dict.fromkeys(additions)
                pending += additions
            scopes[path] = tuple(scope)
        return scopes

    def _referred(self, node: _Node, reference: Any) -> _Node:
        """The node that a ``$ref`` points to."""
        where = f"{self.where}: {node.pointer}/$ref: found {_shown(reference)}"
        if not isinstance(reference, str) or (reference != "#" and reference[:2] != "#/"):
            raise SgdxError(f"{where}, expected a pointer inside the schema, such as #/$defs/Place")
        if unquote(reference) not in self.nodes:
            raise SgdxError(f"{where}, which is not in the schema")
        return self.nodes[unquote(reference)]

    @cached_property
    def members(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """By the path of an object, the paths of each of its properties by name."""
        own: dict[str, dict[str, str]] = {}
        for node in self.nodes.values():
            if node.name:
                own.setdefault(node.parent, {})[node.name] = node.path
        members: dict[str, dict[str, tuple[str, ...]]] = {}
        for path, scope in self.scopes.items():
            paths: dict[str, tuple[str, ...]] = {}
            for described in scope:
                for name, member in own.get(described, {}).items():
                    paths[name] = (*paths.get(name, ()), member)
            if paths:
                members[path] = paths
        return members

    def properties(self) -> dict[str, tuple[str, ...]]:
        """The paths of each property of the whole schema, by name."""
        return self.members.get("", {})

    def is_open(self) -> bool:
        """Whether an argument may have a name that is not among the properties."""
        schemas = [p.schema for p in self.nodes.values() if p.path in self.scopes[""]]
        return any(
            schema.get("patternProperties")
            or schema.get("additionalProperties", False) is not False
            or schema.get("unevaluatedProperties", False) is not False
            for schema in schemas
        )

    def check(self) -> None:
        """Raise ``SgdxError`` where the schema is not one that this module understands."""
        kind = self.schema.get("type", "object")
        if kind != "object":
            problem = f"found type {_shown(kind)}, expected object"
            raise SgdxError(f"{self.where}: {problem}, as arguments are")
        self.elements  # noqa: B018  # reads all nodes and descriptions
        self.members  # noqa: B018  # follows all references
        origins: dict[str, tuple[str, str]] = {}
        for node in self.nodes.values():
            if node.path != node.parent:
                origin = node.parent, node.name
                if origins.setdefault(node.path, origin) != origin:
                    expected = "expected names whose paths differ"
                    raise SgdxError(f"{self.where}: path {node.path} is of two parts, {expected}")

    def check_words(self, words: Mapping[str, Words], where: str) -> None:
        """Check new words of this schema's elements.

        Args:
            words: The new words by path.
            where: What error messages begin with, such as ``wordings/v1.json: tool book_table``.

        Raises:
            SgdxError: A path does not exist, a name is not valid or given to what has none, or two
                properties of an object get one name.
        """
        for path, new in words.items():
            element = self.elements.get(path)
            if element is None:
                paths = ", ".join(self.elements)
                expected = f"expected one of {paths}" if paths else "the tool has no parameters"
                raise SgdxError(f"{where}: path {path} is not in the tool, {expected[:500]}")
            if new.name is not None and not element.name:
                raise SgdxError(f"{where}: path {path}: found a name, expected a description alone")
            if new.name is not None:
                check_name(new.name, f"{where}: path {path}")
        names = {path: new.name for path, new in words.items() if new.name is not None}
        for path, members in self.members.items() if names else ():
            self._check_distinct(members, names, f"{where}: properties of {path or 'the tool'}")

    def _check_distinct(
        self, members: Mapping[str, tuple[str, ...]], names: Mapping[str, str], where: str
    ) -> None:
        originals: dict[str, str] = {}
        for name, paths in members.items():
            new_names = sorted({names.get(path, name) for path in paths})
            if len(new_names) > 1:
                nodes = " and ".join(paths)
                raise SgdxError(f"{where}: {nodes} are one property, found {new_names} for it")
            other = originals.setdefault(new_names[0], name)
            if other != name:
                both = f"{other} and {name} are both {new_names[0]!r}"
                raise SgdxError(f"{where}: {both}, expected distinct names")


def elements_of(tool: Tool) -> dict[str, Element]:
    """What can be reworded in a tool, by path; the tool itself has the empty path."""
    own = Element("", tool.name, tool.description)
    return {"": own, **Layout(tool.parameters, f"tool {tool.id}").elements}


@dataclass(frozen=True)
class Renaming:
    """New words of a schema, ready to be put into it and into values of it.

    Attributes:
        layout: The schema's nodes.
        words: The new words by path, which ``Layout.check_words`` has accepted.
    """

    layout: Layout
    words: Mapping[str, Words]

    @cached_property
    def names(self) -> dict[str, dict[str, str]]:
        """By the path of an object, the new names of its properties that get one."""
        names: dict[str, dict[str, str]] = {}
        for path, members in self.layout.members.items():
            for name, paths in members.items():
                new_name = self._new_name(paths[0])
                if new_name is not None and new_name != name:
                    names.setdefault(path, {})[name] = new_name
        return names

    def _new_name(self, path: str) -> str | None:
        words = self.words.get(path)
        return words.name if words else None

    def schema(self) -> Json:
        """The schema in the new words."""
        return self._schema("#") if self.words else self.layout.schema

    def _schema(self, pointer: str) -> Json:
        node = self.layout.nodes[pointer]
        schema = {
            keyword: self._keyword(node, keyword, value) for keyword, value in node.schema.items()
        }
        words = self.words.get(self.layout.element_paths.get(pointer, ""))
        if words and words.description is not None:
            schema["description"] = words.description
        new_name = self._new_name(node.path) if node.name else None
        if new_name not in (None, node.name) and isinstance(schema.get("title"), str):
            schema["title"] = title(str(new_name))  # a title repeats the old name
        return schema

    def _keyword(self, node: _Node, keyword: str, value: Any) -> Any:
        """What stands under a keyword, in the new words."""
        names = self.names.get(node.path, {})
        if keyword in ("properties", "dependentSchemas"):
            return {
                names.get(name, name): self._child(node, keyword, name, child)
                for name, child in value.items()
            }
        if keyword in ("patternProperties", *_DEFINITIONS):
            return {n: self._child(node, keyword, n, child) for n, child in value.items()}
        if keyword in (*_BRANCHES, "prefixItems") or (
            keyword == "items" and isinstance(value, list)
        ):
            return [self._child(node, keyword, str(i), child) for i, child in enumerate(value)]
        if keyword in _SINGLE:
            schema = self._schema(f"{node.pointer}/{keyword}")
            return schema if schema or not isinstance(value, bool) else value
        if keyword == "$ref":
            return self._pointer(value)
        if keyword in _VALUES:
            return self.value(value, node.path)
        if keyword in _VALUE_LISTS and isinstance(value, list):
            return [self.value(item, node.path) for item in value]
        return _renamed_lists(keyword, value, names)

    def _child(self, node: _Node, keyword: str, token: str, child: Any) -> Any:
        schema = self._schema(f"{node.pointer}/{keyword}/{_escape(token)}")
        return schema if schema or not isinstance(child, bool) else child

    def _pointer(self, pointer: str) -> str:
        """A JSON pointer into the schema in the new words."""
        tokens, prefix = ["#"], "#"
        for token in unquote(pointer).split("/")[1:]:
            prefix = f"{prefix}/{token}"
            node = self.layout.nodes.get(prefix)
            new_name = self._new_name(node.path) if node and node.name else None
            tokens.append(token if new_name is None else _escape(new_name))
        return "/".join(tokens)

    def paths_below(self, name: str) -> Iterator[str]:
        """The paths of everything that describes an argument, by the argument's new name."""
        layout, names = self.layout, self.names.get("", {})
        original = {names.get(old, old): old for old in layout.properties()}.get(name)
        pending = list(layout.properties().get(original or "", ()))
        visited = set(pending)
        while pending:
            path = pending.pop()
            yield path
            inner = (n.path for n in layout.nodes.values() if n.parent == path)
            additions = {*inner, *layout.scopes.get(path, ())} - visited
            visited |= additions
            pending += additions

    def value(self, value: Any, path: str = "") -> Any:
        """A value of the schema, or of the part of it at a path, with the new names of its keys.

        Alternatives of an expected call, ``{"any_of": [...]}``, are values too.

        Raises:
            SgdxError: Two keys of an object get one name, as one of them is not in the schema.
        """
        return self._value(value, (path,)) if self.names else value

    def _value(self, value: Any, paths: Sequence[str]) -> Any:
        scopes = self.layout.scopes
        scope = dict.fromkeys(p for path in paths for p in scopes.get(path, ()))
        if isinstance(value, list):
            return [
                self._value(item, [step(p, s) for p in scope for s in ("[]", f"[{i}]")])
                for i, item in enumerate(value)
            ]
        if not isinstance(value, dict):
            return value
        if value.keys() == {ANY_OF} and isinstance(value[ANY_OF], list):
            return {ANY_OF: [self._value(item, paths) for item in value[ANY_OF]]}
        names = {old: new for p in scope for old, new in self.names.get(p, {}).items()}
        renamed = {
            names.get(key, key): self._value(item, [step(p, k) for p in scope for k in (key, "*")])
            for key, item in value.items()
        }
        if len(renamed) < len(value):
            keys = ", ".join(map(str, value))
            raise SgdxError(f"{self.layout.where}: of the keys {keys} two would get one name")
        return renamed


def _renamed_lists(keyword: str, value: Any, names: Mapping[str, str]) -> Any:
    """What stands under a keyword that lists names of properties, in the new words."""
    if keyword == "required" and isinstance(value, list):
        return [names.get(name, name) for name in value]
    if keyword in ("dependentRequired", "dependencies") and isinstance(value, dict):
        return {
            names.get(name, name): _renamed_lists("required", others, names)
            for name, others in value.items()
        }
    if keyword == "discriminator" and isinstance(value, dict):
        name = str(value.get("propertyName"))
        return value | {"propertyName": names[name]} if name in names else value
    return value


def step(path: str, last: str) -> str:
    """The path of what is one step inside the node at a path.

    >>> step("address", "city"), step("guests", "[]"), step("", "city"), step("city", "")
    ('address.city', 'guests[]', 'city', 'city')
    """
    return f"{path}.{last}" if path and last and not last.startswith("[") else path + last


def title(name: str) -> str:
    """A name as a title.

    >>> title("party_size")
    'Party Size'
    """
    return " ".join(word[:1].upper() + word[1:] for word in re.split("[_-]+", name) if word)


def check_name(name: str, where: str) -> None:
    """Raise ``SgdxError`` where a name is not one that all providers take."""
    if not NAME.fullmatch(name):
        expected = "expected 1 to 64 letters, digits, _ and -"
        raise SgdxError(f"{where}: name is {_shown(name)}, {expected}")


def _escape(token: str) -> str:
    """A key as a token of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
