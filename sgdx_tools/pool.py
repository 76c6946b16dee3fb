"""Pools of paraphrases of tools, and the variants ``v1``, ``v2``, and so on that are made of them.

As in SGD-X (Lee et al. 2022), the names and the descriptions of each element are sorted by their
distance from the original: ``v1`` gets the nearest ones of every element, the last variant the
farthest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import first_repeated, parse_json
from sgdx_dataset.rewording.compose import nearest_first
from sgdx_dataset.rewording.distances import description_distance, name_distance
from sgdx_llm.options import SendingOptions, ServerOptions

from .data import ElementId, Project, Tool, ToolWords, Variant, Words
from .json_schema import check_name
from .keys import NewWords


class ElementPool(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Paraphrases of a name and of a description, in any order; empty where there are none."""

    name: tuple[str, ...] = ()
    description: tuple[str, ...] = ()


class _ToolPool(ElementPool, frozen=True, forbid_unknown_fields=True):
    """The paraphrases of a tool, and those of its parameters by path."""

    parameters: Mapping[str, ElementPool] = {}


Pool = Mapping[ElementId, ElementPool]
KINDS = ("name", "description")


def read_pool(path: Path, tools: Mapping[str, Tool]) -> Pool:
    """Read ``{tool id: {"name": [...], "description": [...], "parameters": {path: {...}}}}``."""
    by_tool = parse_json(read_input(path), dict[str, _ToolPool], str(path), "a pool of paraphrases")
    pool = {
        (tool, place): ElementPool(element.name, element.description)
        for tool, paraphrases in by_tool.items()
        for place, element in {"": paraphrases, **paraphrases.parameters}.items()
    }
    check_pool(pool, tools, str(path))
    return pool


def check_pool(pool: Pool, tools: Mapping[str, Tool], where: str) -> None:
    """Refuse a pool that is empty or does not fit the tools."""
    if not any(element.name or element.description for element in pool.values()):
        raise SgdxError(f"{where}: found no paraphrases, expected some by tool")
    elements = {tool: tools[tool].elements for tool, _ in pool if tool in tools}
    for (tool, path), element in pool.items():
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
            if repeated := first_repeated(texts):
                raise SgdxError(f"{record}: {repeated!r} appears twice, expected once")


def new_pool(project: Project, words: NewWords, output: Path, goal: str) -> tuple[Pool, str] | None:
    """Paraphrases, and who found them; None where answers of a model are missing still."""
    tools, (way, what) = project.tools, words.way()
    made_by = f"{way}:{what}"
    if way == "review":
        from .review import read_review

        pool, made_by = read_review(Path(what), tools)
    elif way == "model":
        from .model_words import ask_model

        found = ask_model(what, tools, words.count, output, _server(project, what), goal)
        if found is None:
            return None
        pool = found
    else:
        pool, made_by = read_pool(Path(what), tools), f"pool:{Path(what).name}"
    if words.keep_names:
        pool = {element: ElementPool((), part.description) for element, part in pool.items()}
    return pool, made_by


def _server(project: Project, model: str) -> tuple[ServerOptions, SendingOptions]:
    """Where a model is asked for words: as `variants` says, or as one that is tested is asked."""
    if project.file is None:
        return ServerOptions(), SendingOptions()
    keys = project.file.keys
    same = [i for i, of in enumerate(keys.models) if of.model == model]
    if same and (keys.variants is None or keys.variants.base_url is None):
        return project.file.options("models", same[0])
    return project.file.options("variants" if keys.variants else "asking")


def compose_variants(
    tools: Mapping[str, Tool], pool: Pool, count: int, made_by: str
) -> list[Variant]:
    """Make ``v1`` to ``v<count>`` of a pool, the nearest to the original first.

    Of an element with fewer paraphrases than variants, some stand for two variants; of one with
    more, the nearest, the farthest and those evenly between are taken. A name that another element
    beside it has in the same variant is left out of that variant, as names must differ.
    """
    changes: list[dict[ElementId, Words]] = [{} for _ in range(count)]
    originals = {tool: tools[tool].elements for tool, _ in pool}
    for (tool, path), element in pool.items():
        original = originals[tool][path]
        names = _spread(nearest_first(original.name, element.name, name_distance), count)
        texts = _spread(
            nearest_first(original.description, element.description, description_distance), count
        )
        for variant, name, text in zip(changes, names, texts):
            if name or text:
                variant[tool, path] = Words(name, text)
    return [
        distinct(tools, Variant.of(f"v{number}", words, made_by))
        for number, words in enumerate(changes, 1)
    ]


def _spread(paraphrases: Sequence[str], count: int) -> list[str | None]:
    """One paraphrase for each of ``count`` variants, in order; None where there are none."""
    if not paraphrases:
        return [None] * count
    last = len(paraphrases) - 1
    return [paraphrases[round(i * last / max(count - 1, 1))] for i in range(count)]


def distinct(tools: Mapping[str, Tool], variant: Variant) -> Variant:
    """A variant without names that would not be distinct."""
    new_names = {tool: words.name for tool, words in variant.tools.items()}
    names = distinct_names({i: tool.name for i, tool in tools.items()}, new_names)
    words = {
        i: ToolWords(names[i], new.description, _distinct_parameters(tools[i], new.parameters))
        for i, new in variant.tools.items()
    }
    return Variant(variant.name, words, variant.made_by)


def _distinct_parameters(tool: Tool, words: Mapping[str, Words]) -> dict[str, Words]:
    """New words of parameters, without names that would not be distinct in their object."""
    names: dict[str, str | None] = {}
    for members in tool.layout.members.values():
        # One property in several places has one name, that of its first place which has one.
        new_names = {
            name: next((new for p in paths if p in words and (new := words[p].name)), None)
            for name, paths in members.items()
        }
        kept = distinct_names({name: name for name in members}, new_names)
        names |= {path: kept[name] for name, paths in members.items() for path in paths}
    new_words = {
        path: Words(names.get(path), words[path].description if path in words else None)
        for path in dict.fromkeys([*names, *words])
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
