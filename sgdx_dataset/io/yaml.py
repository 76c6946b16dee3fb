"""Parsing YAML that comes from outside, with the same care as JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import msgspec
import msgspec.inspect
import yaml

from .errors import SgdxError, one_of
from .json import first_repeated

MAX_DEPTH = 200  # lists or mappings in each other
MAX_VALUES = 20_000_000  # with those that aliases repeat

Parsed = TypeVar("Parsed")


def parse_yaml(data: bytes, kind: type[Parsed], path: str) -> Parsed:
    """Parse YAML of a given type; texts are converted to the numbers that the type asks for.

    Errors name the line and the key.
    """
    try:
        _checked(data, yaml.CSafeLoader(data))
        # Not strict, because YAML 1.1 reads 1e-4 as a string.
        return msgspec.yaml.decode(data, type=kind, strict=False)
    except msgspec.ValidationError as error:
        said, _, at = str(error).partition(" - at ")
        steps = [key or int(i) for key, i in re.findall(r"\.([^.\[\]`]+)|\[(\d+)\]", at)]
        if found := re.fullmatch("Object contains unknown field `(.*)`", said):
            known = _known(msgspec.inspect.type_info(kind), steps)
            steps, said = [*steps, found[1]], f"is no key, {one_of(found[1], known)}"
        elif said.startswith("Invalid enum value"):
            kinds = _kinds_at(msgspec.inspect.type_info(kind), steps)
            values = [str(value) for of in kinds for value in getattr(of, "values", ())]
            values += ["true", "false"] if msgspec.inspect.BoolType() in kinds else []
            said = f"{said[0].lower()}{said[1:]}, expected one of {', '.join(values)}"
        raise SgdxError(f"{path}: {place_in(data, *steps)}{said}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SgdxError(f"{path}: {_fault(error)}") from None


def place_in(data: bytes, *steps: str | int) -> str:
    """Where a value stands, by keys and numbers, such as ``line 4: models[0].timeout: ``."""
    node, line = yaml.compose(data, yaml.CSafeLoader), 0
    for step in steps:
        found: Any = None
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            found = (node.value[step],) * 2 if step < len(node.value) else None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return (f"line {line}: " if line else "") + (f"{name.removeprefix('.')}: " if name else "")


def _known(kind: Any, steps: Sequence[str | int]) -> list[str]:
    """The keys of the mapping at a place of a type."""
    kinds = _kinds_at(kind, steps)
    structs = [of for of in kinds if isinstance(of, msgspec.inspect.StructType)]
    return list(dict.fromkeys(field.encode_name for of in structs for field in of.fields))


def _kinds_at(kind: Any, steps: Sequence[str | int]) -> list[Any]:
    """What a value at a place of a type may be."""
    kinds = [kind]
    for step in (*steps, None):  # the last looks at the type itself
        kinds = [k for of in kinds for k in (of.types if isinstance(of, _UNION) else [of])]
        if step is None:
            break
        inner = []
        for of in kinds:
            if isinstance(of, msgspec.inspect.StructType):
                inner += [field.type for field in of.fields if field.encode_name == step]
            else:
                inner += [getattr(of, part) for part in _PARTS if hasattr(of, part)]
        kinds = inner
    return kinds


_UNION, _PARTS = msgspec.inspect.UnionType, ("item_type", "value_type")


def parse_yaml_document(data: bytes, path: str) -> Any:
    """Parse a document of another program in YAML 1.2, of which JSON is a part."""
    try:
        loader = _DocumentLoader(data)
        root = _checked(data, loader)
        return loader.construct_document(root) if root is not None else None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SgdxError(f"{path}: {_fault(error)}") from None


def _fault(error: Exception) -> str:
    """What is wrong, and in which line, in one line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        said = " ".join(filter(None, (error.context, error.problem)))
        return f"line {error.problem_mark.line + 1}: {said}"
    return " ".join(str(error).split()).replace('in "<byte string>", ', "at ")


class _DocumentLoader(yaml.CSafeLoader):  # type: ignore[misc]
    """Loads the core schema of YAML 1.2 (yaml.org/spec/1.2.2, section 10.3.2)."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {}


_TAG = "tag:yaml.org,2002:"
_INT, _MERGE = f"{_TAG}int", f"{_TAG}merge"
_DOCUMENT_TAGS = {f"{_TAG}{kind}" for kind in "map seq str int float bool null merge".split()}
for _kind, _form in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
    "merge": "<<",
}.items():
    _DocumentLoader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(f"(?:{_form})$"), None)


def _construct_int(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    """An integer of YAML 1.2, where 010 is ten."""
    base = {"0o": 8, "0x": 16}.get(node.value[:2], 10)
    return int(node.value, base)


def _construct_float(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> float:
    """A number; JSON has none that is infinite, or no number."""
    value = float(loader.construct_yaml_float(node))
    if not math.isfinite(value):
        raise ValueError(f"line {node.start_mark.line + 1}: found {node.value}, which is no JSON")
    return value


_DocumentLoader.add_constructor(_INT, _construct_int)
_DocumentLoader.add_constructor(f"{_TAG}float", _construct_float)


def _checked(data: bytes, loader: yaml.CSafeLoader) -> yaml.Node | None:
    """The root of a document that is JSON in YAML: keys are texts, each once, and it has an end."""
    depth = 0  # before nodes are made, which recurses
    for event in yaml.parse(data, yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"found over {MAX_DEPTH} lists or mappings in each other")
    counts: dict[int, int] = {}  # values in each node, by its id; an alias is the same node again
    path = set[int]()

    def count(node: yaml.Node) -> int:
        if id(node) in path:
            raise ValueError("found an alias inside of what it stands for")
        if id(node) not in counts:
            line = node.start_mark.line + 1
            if node.tag not in _DOCUMENT_TAGS:
                raise ValueError(f"line {line}: found a value of type {node.tag}")
            if isinstance(node, yaml.ScalarNode) and "\0" in node.value:
                raise ValueError(f"line {line}: found a NUL, expected text")
            path.add(id(node))
            counts[id(node)] = 1 + sum(map(count, _children(node)))
            path.remove(id(node))
        return counts[id(node)]

    root = loader.get_single_node()
    if root is not None and count(root) > MAX_VALUES:
        raise ValueError(f"found over {MAX_VALUES} values, as aliases repeat them")
    return root


def _children(node: yaml.Node) -> list[yaml.Node]:
    """The nodes in a list or a mapping, whose keys become texts."""
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        return []
    keys = [key for key, _ in node.value]
    for key in keys:
        if not isinstance(key, yaml.ScalarNode):
            raise ValueError(f"line {key.start_mark.line + 1}: found a key that is no text")
        if key.tag != _MERGE:
            key.tag = f"{_TAG}str"
    if repeated := first_repeated(key.value for key in keys):  # of which a parser keeps the last
        raise ValueError(f"found {repeated!r} twice, expected each setting once")
    return [value for _, value in node.value]
