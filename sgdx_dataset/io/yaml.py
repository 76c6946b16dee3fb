"""Parsing YAML that comes from outside, with the same care as JSON."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import yaml

from .errors import SgdxError

MAX_DEPTH = 20  # lists or mappings in each other

Parsed = TypeVar("Parsed")


def parse_yaml(data: bytes, kind: type[Parsed], path: str) -> Parsed:
    """Parse YAML of a given type; texts are converted to the numbers that the type asks for.

    Args:
        data: The file's content.
        kind: The type to parse.
        path: Where it comes from, for error messages.

    Raises:
        SgdxError: It is not YAML, is not of the type, is nested too deeply, or has a key twice in
            one mapping, of which a parser would lose one.
    """
    try:
        _check_depth(data)
        _check_keys(yaml.compose(data, yaml.CSafeLoader))
        # Not strict, because YAML 1.1 reads 1e-4 as a string.
        return msgspec.yaml.decode(data, type=kind, strict=False)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SgdxError(f"{path}: {' '.join(str(error).split())}") from None


def _check_depth(data: bytes) -> None:
    """Raise ``ValueError`` where lists or mappings are nested far deeper than in any recipe.

    The parser, which is written in C, would fill its stack and end the process.
    """
    depth = 0
    for event in yaml.parse(data, yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"found over {MAX_DEPTH} lists or mappings in each other")


def _check_keys(root: yaml.Node | None) -> None:
    """Raise ``ValueError`` where a mapping has a key twice, of which a parser keeps the last."""
    pending, visited = [root], set()
    while pending:
        node = pending.pop()
        if node is None or id(node) in visited:  # an alias may stand for one node many times
            continue
        visited.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if repeated := next((key for key in keys if keys.count(key) > 1), ""):
                raise ValueError(f"found {repeated!r} twice, expected each setting once")
            pending += [item for pair in node.value for item in pair]
        elif isinstance(node, yaml.SequenceNode):
            pending += node.value
