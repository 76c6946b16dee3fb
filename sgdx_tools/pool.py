"""Pools of paraphrases of tools, and the wordings ``v1``, ``v2``, and so on that are made of them.

As in SGD-X (Lee et al. 2022), the names and the descriptions of each element are sorted by their
distance from the original: ``v1`` gets the nearest ones of every element, the last wording the
farthest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json
from sgdx_dataset.rewording.compose import nearest_first
from sgdx_dataset.rewording.distances import description_distance, name_distance

from .data import Tool, ToolWords, Wording, Words
from .json_schema import Layout, check_name, elements_of


class ElementPool(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Paraphrases of a name and of a description, in any order; empty where there are none."""

    name: tuple[str, ...] = ()
    description: tuple[str, ...] = ()


class ToolPool(ElementPool, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The paraphrases of a tool, and those of its parameters by path."""

    parameters: Mapping[str, ElementPool] = {}


Pool = Mapping[str, ToolPool]
KINDS = ("name", "description")


def tool_pool(parts: Mapping[str, ElementPool]) -> ToolPool:
    """A pool of the paraphrases of a tool's elements by path; the tool's own has none."""
    own, parameters = parts.get("", ElementPool()), {p: part for p, part in parts.items() if p}
    return ToolPool(own.name, own.description, parameters)


def read_pool(path: Path, tools: Mapping[str, Tool]) -> dict[str, ToolPool]:
    """Read ``{tool id: {"name": [...], "description": [...], "parameters": {path: {...}}}}``."""
    pool = parse_json(read_input(path), dict[str, ToolPool], str(path), "a pool of paraphrases")
    check_pool(pool, tools, str(path))
    return pool


def check_pool(pool: Pool, tools: Mapping[str, Tool], where: str) -> None:
    """Refuse a pool that is empty or does not fit the tools."""
    if not any(True for _ in pool_elements(pool)):
        raise SgdxError(f"{where}: found no paraphrases, expected some by tool")
    elements = {tool: elements_of(tools[tool]) for tool in pool if tool in tools}
    for tool, path, element in pool_elements(pool):
        record = f"{where}: tool {tool}" + (f": path {path}" if path else "")
        if tool not in elements or path not in elements[tool]:
            raise SgdxError(f"{record} is not in the tools")
        original = elements[tool][path]
        if element.name and not original.name:
            raise SgdxError(f"{record}: found a name, expected descriptions alone")
        for name in element.name:
            check_name(name, record)
        for texts in (element.name, element.description):
            if not all(text.strip() for text in texts):
                raise SgdxError(f"{record}: found an empty paraphrase, expected words")
            if repeated := [text for text in texts if texts.count(text) > 1]:
                raise SgdxError(f"{record}: {repeated[0]!r} appears twice, expected once")


def pool_elements(pool: Pool) -> Iterator[tuple[str, str, ElementPool]]:
    """The id of the tool, the path and the paraphrases of each element with any."""
    for tool, paraphrases in pool.items():
        for path, element in {"": paraphrases, **paraphrases.parameters}.items():
            if element.name or element.description:
                yield tool, path, ElementPool(element.name, element.description)


def compose_wordings(
    tools: Mapping[str, Tool], pool: Pool, count: int, made_by: str
) -> list[Wording]:
    """Make ``v1`` to ``v<count>`` of a pool, the nearest to the original first.

    Of an element with fewer paraphrases than wordings, some stand for two wordings; of one with
    more, the nearest, the farthest and those evenly between are taken. A name that another element
    beside it has in the same wording is left out of that wording, as names must differ.
    """
    changes: list[dict[str, dict[str, Words]]] = [{} for _ in range(count)]
    originals = {tool: elements_of(tools[tool]) for tool in pool}
    for tool, path, element in pool_elements(pool):
        original = originals[tool][path]
        names = _spread(nearest_first(original.name, element.name, name_distance), count)
        texts = _spread(
            nearest_first(original.description, element.description, description_distance), count
        )
        for wording, name, text in zip(changes, names, texts):
            wording.setdefault(tool, {})[path] = Words(name, text)
    return [
        Wording(f"v{number}", _distinct(tools, words), made_by)
        for number, words in enumerate(changes, 1)
    ]


def _spread(paraphrases: Sequence[str], count: int) -> list[str | None]:
    """One paraphrase for each of ``count`` wordings, in order; None where there are none."""
    if not paraphrases:
        return [None] * count
    last = len(paraphrases) - 1
    return [paraphrases[round(i * last / max(count - 1, 1))] for i in range(count)]


def _distinct(
    tools: Mapping[str, Tool], words: Mapping[str, Mapping[str, Words]]
) -> dict[str, ToolWords]:
    """The words of a wording, without names that would not be distinct."""
    own = {tool: of_tool.get("", Words()) for tool, of_tool in words.items()}
    originals = {tool: tools[tool].name for tool in tools}
    names = distinct_names(originals, {tool: new.name for tool, new in own.items()})
    return {
        tool: ToolWords(
            names.get(tool),
            own[tool].description,
            _distinct_parameters(tools[tool], {p: w for p, w in of_tool.items() if p}),
        )
        for tool, of_tool in words.items()
    }


def _distinct_parameters(tool: Tool, words: Mapping[str, Words]) -> dict[str, Words]:
    """New words of parameters, without names that would not be distinct in their object."""
    layout = Layout(tool.parameters, f"tool {tool.id}")
    names: dict[str, str | None] = {path: new.name for path, new in words.items()}
    for members in layout.members.values():
        for paths in members.values():  # one property in several places has one name
            names |= dict.fromkeys(paths, names.get(paths[0]))
        originals = {paths[0]: name for name, paths in members.items()}
        kept_names = distinct_names(originals, {path: names.get(path) for path in originals})
        for paths in members.values():
            names |= dict.fromkeys(paths, kept_names.get(paths[0]))
    new_words = {
        path: Words(name, words[path].description if path in words else None)
        for path, name in names.items()
    }
    return {path: new for path, new in new_words.items() if new != Words()}


def distinct_names(
    originals: Mapping[str, str], new_names: Mapping[str, str | None]
) -> dict[str, str | None]:
    """New names, None where one would give two elements one name, or changes nothing.

    The original names may be shared by elements that never meet.
    """
    names = {key: name for key, name in new_names.items() if name and name != originals[key]}
    while True:
        holders: dict[str, str] = {}
        late = None
        for key in sorted(originals, key=lambda k: k in names):  # original names go first
            if key not in names:
                holders.setdefault(originals[key], key)
            elif holders.setdefault(names[key], key) != key:
                late = key
                break
        if late is None:
            return {key: names.get(key) for key in originals}
        del names[late]
