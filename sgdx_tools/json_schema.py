"""The words in a JSON Schema, where they stand, and how they are replaced there.

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
# Keywords with an object of schemas, with a list of schemas and with one schema, and what the path
# of such a schema has after that of the schema around it, where {} is its key or its number. It has
# nothing after it where both describe the same value.
_OBJECTS = {
    **{"properties": "{}", "$defs": "$defs.{}", "definitions": "definitions.{}"},
    **{"patternProperties": "*", "dependentSchemas": "", "dependencies": ""},
}
_LISTS = {"allOf": "", "anyOf": "", "oneOf": "", "prefixItems": "[{}]", "items": "[{}]"}
_SINGLE = {
    **dict.fromkeys(("not", "if", "then", "else"), ""),
    **dict.fromkeys(("items", "contains", "additionalItems", "unevaluatedItems"), "[]"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), "*"),
    **{"propertyNames": "propertyNames", "contentSchema": "contentSchema"},
}
# Keywords under which only other schemas stand.
INNER = {*_OBJECTS, *_LISTS, *_SINGLE} - {"dependencies"}
_VALUES = ("default", "example", "const")  # keywords that hold a value
_VALUE_LISTS = ("examples", "enum")
# Keywords whose texts are no names of properties. Any other may mention some, as ``required`` and
# ``propertyOrdering`` do, and ``x-order`` and ``errorMessage`` of other programs.
_NO_NAMES = {
    *("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"),
    *("$comment", "$vocabulary", "$ref", "title", "description", "type", "format", "pattern"),
    *("contentEncoding", "contentMediaType", *_VALUES, *_VALUE_LISTS, *_LISTS, *_SINGLE),
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


@dataclass(frozen=True)
class Layout:
    """A schema and all schemas inside it, its nodes. What is wrong in it is told on use."""

    schema: Json
    # What error messages begin with, such as ``tools.json: tool book_table``.
    where: str

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """All nodes by their pointers, in the order of the schema."""
        return {node.pointer: node for node in self._walk(Node("#", "", self.schema), 0)}

    def _walk(self, node: Node, depth: int) -> Iterator[Node]:
        if isinstance(node.schema, bool):  # ``true`` allows any value, and has no words
            yield node._replace(schema={})
            return
        if not isinstance(node.schema, dict):
            raise self._fault(node.pointer, node.schema, "a schema")
        if depth > _DEEPEST:
            raise SgdxError(f"{self.where}: found over {_DEEPEST} schemas in each other")
        yield node
        for child in self._children(node):
            yield from self._walk(child, depth + 1)

    def children(self, node: Node) -> list[Node]:
        """The nodes directly inside a node."""
        return [self.nodes[child.pointer] for child in self._children(node)]

    def _children(self, node: Node) -> Iterator[Node]:
        for keyword, value in node.schema.items():
            pointer = f"{node.pointer}/{keyword}"
            if keyword in _OBJECTS:
                if not isinstance(value, dict):
                    raise self._fault(pointer, value, "an object")
                for key, schema in value.items():
                    if keyword == "properties" and not key:
                        raise self._fault(pointer, key, "names of properties")
                    if keyword == "dependencies" and isinstance(schema, list):
                        continue  # names of properties
                    path = step(node.path, _OBJECTS[keyword].format(key))
                    name = key if keyword == "properties" else ""
                    yield Node(f"{pointer}/{_escape(key)}", path, schema, node.path, name)
            elif keyword in _LISTS and (keyword != "items" or isinstance(value, list)):
                if not isinstance(value, list):
                    raise self._fault(pointer, value, "an array")
                for i, schema in enumerate(value):
                    path = step(node.path, _LISTS[keyword].format(i))
                    yield Node(f"{pointer}/{i}", path, schema, node.path)
            elif keyword in _SINGLE:
                yield Node(pointer, step(node.path, _SINGLE[keyword]), value, node.path)

    def _fault(self, pointer: str, value: Any, expected: str) -> SgdxError:
        return SgdxError(f"{self.where}: {pointer}: found {_shown(value)}, expected {expected}")

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

    def _description(self, node: Node) -> str:
        description = node.schema.get("description", "")
        if not isinstance(description, str):
            raise self._fault(f"{node.pointer}/description", description, "text")
        return description

    @cached_property
    def elements(self) -> dict[str, Element]:
        """What can be reworded, by path: each property, and whatever else has a description."""
        elements: dict[str, Element] = {}
        for pointer, node in self.nodes.items():
            if node.name:
                elements.setdefault(node.path, Element(node.name, ""))
            path, description = self.element_paths.get(pointer, ""), self._description(node)
            if path and description:
                elements[path] = Element(elements.get(path, Element("", "")).name, description)
        return elements

    @cached_property
    def scopes(self) -> dict[str, tuple[str, ...]]:
        """By each path, all paths that describe the same value: its own, and those referred to."""
        direct: dict[str, list[str]] = {}
        for node in self.nodes.values():
            paths = direct.setdefault(node.path, [node.path])
            reference = node.schema.get("$ref")
            if reference is not None:
                paths.append(self.referred(node, reference).path)
        scopes = {}
        for path in direct:
            scope, pending = dict.fromkeys([path]), [path]
            while pending:
                additions = [p for p in direct[pending.pop()] if p not in scope]
                scope |= dict.fromkeys(additions)
                pending += additions
            scopes[path] = tuple(scope)
        return scopes

    def referred(self, node: Node, reference: Any) -> Node:
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
        # A part may require a property that only the objects that refer to it have.
        lacking: dict[str, set[str]] = {}
        for node in self.nodes.values():
            if names := _mentioned(node.schema) - members.get(node.path, {}).keys():
                lacking.setdefault(node.path, set()).update(names)
        for path, scope in self.scopes.items():
            for described in scope[1:]:
                for name in lacking.get(described, set()) & own.get(path, {}).keys():
                    paths = members.setdefault(described, {})
                    paths[name] = tuple(dict.fromkeys([*paths.get(name, ()), own[path][name]]))
        return members

    @cached_property
    def keys(self) -> dict[str, list[str]]:
        """By the path of each schema of keys, under ``propertyNames``, those of their objects."""
        objects: dict[str, list[str]] = {}
        for node in self.nodes.values():
            if "propertyNames" in node.schema:
                owners = [path for path, scope in self.scopes.items() if node.path in scope]
                for path in self.scopes[step(node.path, "propertyNames")]:
                    objects.setdefault(path, []).extend(owners)
        return objects

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
        paths = {node.path for node in self.nodes.values()}
        for pointer, path in self.element_paths.items():
            # A property may be called ``$``, or ``when#2``.
            if path != self.nodes[pointer].path and path in paths:
                raise SgdxError(f"{self.where}: path {path} is of two parts, expected other names")
        for node in self.nodes.values():
            for keyword in ("required", "enum"):
                if not isinstance(value := node.schema.get(keyword, []), list):
                    raise self._fault(f"{node.pointer}/{keyword}", value, "an array")
            if not all(isinstance(name, str) for name in node.schema.get("required", [])):
                raise self._fault(f"{node.pointer}/required", node.schema["required"], "names")
            if node.path != node.parent:
                origin = node.parent, node.name
                if origins.setdefault(node.path, origin) != origin:
                    expected = "expected names whose paths differ"
                    raise SgdxError(f"{self.where}: path {node.path} is of two parts, {expected}")

    def check_words(self, words: Mapping[str, Words], where: str) -> None:
        """Refuse new words by path that do not fit this schema, in a file and tool."""
        for path, new in words.items():
            element = self.elements.get(path)
            if element is None:
                known = ", ".join(self.elements)
                expected = f"expected one of {known}" if known else "the tool has no parameters"
                raise SgdxError(f"{where}: path {path} is not in the tool, {expected[:500]}")
            if new.name is not None and not element.name:
                raise SgdxError(f"{where}: path {path}: found a name, expected a description alone")
            if new.name is not None:
                check_name(new.name, f"{where}: path {path}")
        names = {path: new.name for path, new in words.items() if new.name is not None}
        for path, members in self.members.items() if names else ():
            place = f"{where}: properties of {path or 'the tool'}"
            originals: dict[str, str] = {}
            for name, paths in members.items():
                new_name, *others = sorted({names.get(p, name) for p in paths})
                if others:
                    nodes, found = " and ".join(paths), [new_name, *others]
                    raise SgdxError(f"{place}: {nodes} are one property, found {found} for it")
                other = originals.setdefault(new_name, name)
                if other != name:
                    both = f"{other} and {name} are both {new_name!r}"
                    raise SgdxError(f"{place}: {both}, expected distinct names")


def elements_of(tool: Tool) -> dict[str, Element]:
    """What can be reworded in a tool, by path; the tool itself has the empty path."""
    own = Element(tool.name, tool.description)
    return {"": own, **Layout(tool.parameters, f"tool {tool.id}").elements}


@dataclass(frozen=True)
class Renaming:
    """New words of a schema by path, ready to be put into it and into values of it."""

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
        schema: Json = self._schema("#", self.layout.schema) if self.words else self.layout.schema
        return schema

    def _schema(self, pointer: str, original: Any) -> Any:
        """A node in the new words; ``true`` and ``false`` stay where they get none."""
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
        return original if isinstance(original, bool) and not schema else schema

    def _keyword(self, node: Node, keyword: str, value: Any) -> Any:
        """What stands under a keyword, in the new words."""
        pointer = f"{node.pointer}/{keyword}"
        if keyword in _OBJECTS:
            return {
                self._key(node, keyword, key): _mention(child, self.names.get(node.path, {}))
                if isinstance(child, list)
                else self._schema(f"{pointer}/{_escape(key)}", child)
                for key, child in value.items()
            }
        if keyword in _LISTS and isinstance(value, list):
            return [self._schema(f"{pointer}/{i}", child) for i, child in enumerate(value)]
        if keyword in _SINGLE:
            return self._schema(pointer, value)
        if keyword == "$ref":
            return self._pointer(value)
        if node.path in self.layout.keys and keyword in (*_VALUES, *_VALUE_LISTS, "pattern"):
            objects = self.layout.keys[node.path]
            names = {k: v for path in objects for k, v in self.names.get(path, {}).items()}
            is_pattern = keyword == "pattern" and isinstance(value, str)
            return _in_pattern(value, names) if is_pattern else _mention(value, names)
        is_list = keyword in _VALUE_LISTS or keyword.endswith("examples")
        if is_list and isinstance(value, list):
            return [self.value(item, node.path) for item in value]
        if keyword in _VALUES or "example" in keyword:
            return self.value(value, node.path)
        if keyword in _NO_NAMES:
            return value
        names = self.names.get(node.path, {})
        if keyword == "discriminator" and isinstance(value, dict):
            return self._discriminator(value, names)
        if keyword not in ("required", "dependentRequired"):  # such as x-depends-on of a property
            names = {**self.names.get(node.parent, {}), **names}
        return _mention(value, names)

    def _key(self, node: Node, keyword: str, key: str) -> str:
        """The key of a schema under a keyword, in the new words."""
        names = self.names.get(node.path, {})
        if keyword == "patternProperties":
            return _in_pattern(key, names)
        by_name = keyword in ("properties", "dependentSchemas", "dependencies")
        return names.get(key, key) if by_name else key

    def _discriminator(self, value: Json, names: Mapping[str, str]) -> Json:
        name, mapping = str(value.get("propertyName")), value.get("mapping")
        new = value | ({"propertyName": names[name]} if name in names else {})
        if isinstance(mapping, dict):
            new["mapping"] = {
                key: self._pointer(to) if isinstance(to, str) and to[:2] == "#/" else to
                for key, to in mapping.items()
            }
        return new

    def _pointer(self, pointer: str) -> str:
        """A JSON pointer into the schema in the new words."""
        old, new = ["#"], ["#"]
        for token in unquote(pointer).split("/")[1:]:
            owner = self.layout.nodes.get("/".join(old[:-1]))
            if owner and old[-1] in _OBJECTS:
                new.append(_escape(self._key(owner, old[-1], _unescape(token))))
            else:
                new.append(token)
            old.append(token)
        return "/".join(new)

    def member(self, paths: Sequence[str], name: str) -> tuple[str, ...]:
        """The paths of a property by its new name, of an object that some paths describe."""
        found: list[str] = []
        for path in paths:
            new_names = self.names.get(path, {})
            for old, members in self.layout.members.get(path, {}).items():
                if new_names.get(old, old) == name:
                    found += members
            if not found:
                found = [p for p in (step(path, "*"),) if p in self.layout.elements]
        return self._scope(found)

    def items(self, paths: Sequence[str], index: int) -> tuple[str, ...]:
        """The paths of an item of an array that some paths describe."""
        return self._scope([step(p, s) for p in paths for s in ("[]", f"[{index}]")])

    def _scope(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p for path in paths for p in self.layout.scopes.get(path, ())))

    def value(self, value: Any, path: str = "", is_expected: bool = False) -> Any:
        """A value of the schema, or of the part of it at a path, with the new names of its keys.

        Where it is of an expected call, alternatives, ``{"any_of": [...]}``, are values too. An
        object in which two keys would get one name, as one of them is not in the schema, is
        refused.
        """
        return self._value(value, (path,), is_expected) if self.names else value

    def _value(self, value: Any, paths: Sequence[str], is_expected: bool) -> Any:
        scope = self._scope(paths)
        if isinstance(value, list):
            return [
                self._value(
                    item, [step(p, s) for p in scope for s in ("[]", f"[{i}]")], is_expected
                )
                for i, item in enumerate(value)
            ]
        if not isinstance(value, dict):
            return value
        if is_expected and value.keys() == {ANY_OF} and isinstance(value[ANY_OF], list):
            return {ANY_OF: [self._value(item, paths, True) for item in value[ANY_OF]]}
        names = {old: new for p in scope for old, new in self.names.get(p, {}).items()}
        renamed = {
            names.get(key, key): self._value(
                item, [step(p, k) for p in scope for k in (key, "*")], is_expected
            )
            for key, item in value.items()
        }
        if len(renamed) < len(value):
            keys = ", ".join(map(str, value))
            raise SgdxError(f"{self.layout.where}: of the keys {keys} two would get one name")
        return renamed


def _mention(value: Any, names: Mapping[str, str]) -> Any:
    """What stands under a keyword that mentions properties, at any depth, with new names."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_mention(item, names) for item in value]
    if isinstance(value, dict):
        return {names.get(key, key): _mention(item, names) for key, item in value.items()}
    return value


def _mentioned(value: Any) -> set[str]:
    """All that may be names of properties in a schema, without the schemas inside it."""
    names: set[str] = set()
    pending = [part for keyword, part in value.items() if keyword not in _NO_NAMES]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            names.add(part)
        elif isinstance(part, list | dict):
            names |= {*part} if isinstance(part, dict) else set()
            pending += part.values() if isinstance(part, dict) else part
    return names


def _in_pattern(pattern: str, names: Mapping[str, str]) -> str:
    """A regular expression for names, with new names in place of whole ones that it spells out.

    >>> _in_pattern("^(city|x-.*)$", {"city": "town", "x": "y"})
    '^(town|x-.*)$'
    """
    if not names:
        return pattern
    spelled = {re.escape(old): new for old, new in names.items()}
    longest = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    whole = rf"(?<![\w\\-])(?:{longest})(?![\w-])"
    return re.sub(whole, lambda match: spelled[match[0]], pattern)


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


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
