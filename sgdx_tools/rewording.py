"""The command ``reword``: new wordings, by a model, of a pool, by translation, or from a file."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from baselines.llm.asking import ask, open_answers
from baselines.llm.endpoint import base_url, host_of
from baselines.llm.options import read_headers, read_limits, read_parameters
from baselines.llm.providers import PROVIDERS
from baselines.llm.requests import RequestSettings
from sgdx_dataset import SgdxError
from sgdx_dataset.rewording.phrases import identifier, one_line, phrase
from sgdx_dataset.rewording.translations import read_settings, translate_round_trip

from .data import Tool, ToolSet, ToolWords, Wording, Words
from .elements import reworded_elements
from .folder import check_wording, read_tool_set, read_tools, read_wording, write_wording
from .json_schema import NAME, Layout, Renaming, elements_of
from .model_words import PARAMETERS, IncompleteError, RewordPlan, ask_model
from .pool import ElementPool, Pool, ToolPool, compose_wordings, pool_elements, read_pool
from .review import read_review, review_lines, write_review

WAYS = ("model", "pool", "backtranslate", "file", "tools")
_COMMAND = "command:"  # before a program that translates


class NewWords(NamedTuple):
    """What a way of rewording gives: a pool to compose wordings of, or a finished wording.

    Attributes:
        pool: The paraphrases; empty where there is a wording.
        made_by: Who found the words.
        wording: The finished wording, if there is one.
        notes: What could not be done, a line for each.
    """

    pool: Pool
    made_by: str
    wording: Wording | None = None
    notes: tuple[str, ...] = ()


def reword(options: Namespace) -> int:
    """Make wordings as the options say, and print the paths of what was written.

    Args:
        options: Those of ``options.parser`` for ``reword``.

    Returns:
        How many answers of a model are missing still.

    Raises:
        SgdxError: An option, a file or the tools are at fault, or a wording is there already.
    """
    if not 1 <= options.count <= 9:
        raise SgdxError(f"--count {options.count}: expected 1 to 9")
    tool_set = read_tool_set(options.tools)
    try:
        words = _new_words(options, tool_set)
    except IncompleteError as error:
        print(
            f"{error} answers are missing: give the same command again to continue", file=sys.stderr
        )
        return int(str(error))
    for note in words.notes:
        print(f"note: {note}", file=sys.stderr)
    pool = without_names(words.pool) if options.keep_names else words.pool
    if not words.wording and not any(pool_elements(pool)):
        way = f"--with {options.by}" if options.by else str(options.review)
        answers = options.output / "answers.jsonl"
        hint = f"; what the model said is in {answers}" if answers.exists() else ""
        raise SgdxError(f"{way}: found no new words for any tool, expected some{hint}")
    wordings = (
        [words.wording]
        if words.wording
        else compose_wordings(tool_set.tools, pool, options.count, words.made_by)
    )
    if options.one_at_a_time:
        wordings = [part for wording in wordings for part in one_at_a_time(wording, tool_set)]
    for wording in wordings:
        check_wording(wording, tool_set.tools, tool_set.cases, f"wording {wording.name}")
        path = options.output / f"{wording.name}.json"
        if path.exists() and options.review is None:
            raise SgdxError(f"{path}: exists already, expected a new wording")
    if pool and options.review is None:
        lines = list(review_lines(tool_set.tools, pool, words.made_by))
        print(*write_review(options.output, lines), sep="\n")
    for wording in wordings:
        print(write_wording(options.output / f"{wording.name}.json", wording))
    return 0


def _new_words(options: Namespace, tool_set: ToolSet) -> NewWords:
    if options.review is not None:
        pool, made_by = read_review(options.review, tool_set.tools)
        return NewWords(pool, made_by)
    way, _, what = (options.by or "").partition(":")
    if way not in WAYS or not what:
        expected = "expected model:NAME, pool:FILE, backtranslate:F,B, file:FILE or tools:FILE"
        raise SgdxError(f"--with {options.by}: {expected}")
    if way == "pool":
        return NewWords(read_pool(Path(what), tool_set.tools), f"pool:{Path(what).name}")
    if way == "file":
        wording = read_wording(Path(what), tool_set.tools, tool_set.cases)
        return NewWords({}, wording.made_by, wording)
    if way == "tools":
        return NewWords({}, "", wording_between(tool_set.tools, Path(what)))
    if way == "backtranslate":
        pool = backtranslated(
            tool_set.tools, what, options.count, options.output, options.languages
        )
        return NewWords(pool, f"backtranslate:{what}")
    return _model_words(options, tool_set, what)


def _model_words(options: Namespace, tool_set: ToolSet, model: str) -> NewWords:
    settings = RequestSettings(
        model=model,
        task="calls",
        parameters={
            **{k: v for k, v in PARAMETERS.items() if k not in PROVIDERS[options.provider].omitted},
            **read_parameters(options.set),
        },
        omitted=tuple(dict.fromkeys(options.omit)),
        provider=PROVIDERS[options.provider],
    )
    host = host_of(base_url(options.base_url, settings.provider))
    limits = read_limits(options)
    read_headers(options)
    options.command = None  # models alone reword
    with open_answers(options.output) as answers:

        def ask_plan(plan: RewordPlan) -> None:
            ask(options, plan, plan.count(), answers, settings.provider, limits)

        pool, notes = ask_model(tool_set.tools, options.count, settings, host, answers, ask_plan)
    return NewWords(pool, f"model:{model}", notes=tuple(notes))


def backtranslated(
    tools: Mapping[str, Tool],
    translators: str,
    count: int,
    output: Path,
    languages: Sequence[str] | None = None,
) -> dict[str, ToolPool]:
    """Paraphrases by translating names and descriptions to another language and back.

    Args:
        tools: The tools by id.
        translators: ``FORWARD,BACKWARD``, each a model, or ``command:`` and a program.
        count: How often to translate; models are sampled where it is more than once.
        output: The folder in which unfinished translations are kept.
        languages: The language codes of models that know several.

    Raises:
        SgdxError: A translator fails, or programs are asked for more than one translation.
    """
    forward, _, backward = translators.partition(",")
    programs = [t.startswith(_COMMAND) for t in (forward, backward)]
    if not (forward and backward):
        raise SgdxError(f"--with backtranslate:{translators}: expected FORWARD,BACKWARD")
    if any(programs) and count > 1:
        raise SgdxError(f"--count {count}: programs translate in one way, expected --count 1")
    texts = {
        text: None
        for tool in tools.values()
        for element in elements_of(tool).values()
        for text in (phrase(element.name), one_line(element.description))
        if any(character.isalpha() for character in text)
    }
    rounds = []
    for seed in range(count):
        settings = read_settings(
            {
                **_translator("forward", forward),
                **_translator("backward", backward),
                "languages": languages,
                "sample": count > 1,
                "seed": seed,
            }
        )
        batches = output / f".backtranslate-{seed}.partial.jsonl"
        rounds.append(translate_round_trip(list(texts), settings, batches))
    for seed in range(count):
        (output / f".backtranslate-{seed}.partial.jsonl").unlink(missing_ok=True)
    pool = {}
    for tool in tools.values():
        parts = {}
        for path, element in elements_of(tool).items():
            name, description = phrase(element.name), one_line(element.description)
            names = [identifier(r[name].text, element.name) for r in rounds if name in r]
            descriptions = [r[description].text for r in rounds if description in r]
            parts[path] = ElementPool(
                tuple(_new(names, element.name, NAME.fullmatch)),
                tuple(_new(descriptions, description, str.strip)),
            )
        head = parts.pop("")
        pool[tool.id] = ToolPool(head.name, head.description, parts)
    return pool


def _translator(way: str, translator: str) -> dict[str, str]:
    if translator.startswith(_COMMAND):
        return {f"{way}_command": translator.removeprefix(_COMMAND)}
    return {way: translator}


def _new(texts: Iterable[str], original: str, is_usable: Callable[[str], object]) -> Iterator[str]:
    """The distinct texts that are usable and not the original."""
    yield from (t for t in dict.fromkeys(texts) if t != original and is_usable(t))


def wording_between(tools: Mapping[str, Tool], file: Path) -> Wording:
    """The wording ``new`` that turns tools into those of another ``tools.json``.

    Tools of one id belong together where all ids are there; else they do in their order.

    Args:
        tools: The tools by id.
        file: Another version of them, which differs in words alone, and may have further tools.

    Raises:
        SgdxError: It lacks a tool, or one differs in more than its words.
    """
    others = read_tools(file)
    if set(tools) <= set(others):
        pairs = [(tool, others[i]) for i, tool in tools.items()]
    elif len(tools) == len(others):
        pairs = list(zip(tools.values(), others.values()))
    else:
        lacking = next(i for i in tools if i not in others)
        expected = "expected all ids, or as many tools in the same order"
        raise SgdxError(f"{file}: found no tool {lacking}, {expected}")
    words = {tool.id: _words_between(tool, other, file) for tool, other in pairs}
    return Wording("new", {tool: new for tool, new in words.items() if new != ToolWords()})


def _words_between(tool: Tool, other: Tool, file: Path) -> ToolWords:
    layout, new_layout = (Layout(t.parameters, f"tool {t.id}") for t in (tool, other))
    names: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    for node, new in zip(layout.nodes.values(), new_layout.nodes.values()):
        if node.name and new.name != node.name:
            names[node.path] = new.name
        old_text, text = (n.schema.get("description", "") for n in (node, new))
        if text != old_text and node.pointer in layout.element_paths:
            descriptions[layout.element_paths[node.pointer]] = text
    parts = {
        path: Words(names.get(path), descriptions.get(path))
        for path in dict.fromkeys([*names, *descriptions])
    }
    schema = Renaming(layout, parts).schema()
    if _without_titles(schema) != _without_titles(other.parameters):
        raise SgdxError(f"{file}: tool {other.id} differs from {tool.id} in more than its words")
    return ToolWords(
        other.name if other.name != tool.name else None,
        other.description if other.description != tool.description else None,
        parts,
    )


def _without_titles(schema: Any) -> Any:
    """A schema without its titles, which repeat names."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def without_names(pool: Pool) -> dict[str, ToolPool]:
    """A pool without its names."""
    return {
        tool: ToolPool(
            (),
            words.description,
            {path: ElementPool((), part.description) for path, part in words.parameters.items()},
        )
        for tool, words in pool.items()
    }


def one_at_a_time(wording: Wording, tool_set: ToolSet) -> list[Wording]:
    """A wording for each element that a wording changes, in which it is the only one.

    An element whose new name is another one's old name cannot stand alone, and gets none. Names
    are ``WORDING.TOOL.PATH``, with ``-`` in place of what a file's name should not have.
    """
    parts: dict[str, Wording] = {}
    elements = reworded_elements(wording)
    for tool, path in [(tool, path) for tool, of_tool in elements.items() for path in of_tool]:
        words = elements[tool][path]
        own = Words(words.name, words.description)
        tool_words = (
            ToolWords(parameters={path: own}) if path else ToolWords(own.name, own.description)
        )
        ending = "".join(c if (c.isalnum() and c.isascii()) or c == "_" else "-" for c in path)
        name = ".".join(filter(None, [wording.name, tool.replace("#", "-"), ending.strip("-")]))
        name = name[:90]
        while name in parts:
            name += "-"
        part = Wording(name, {tool: tool_words}, wording.made_by)
        try:
            check_wording(part, tool_set.tools, tool_set.cases, name)
        except SgdxError:
            continue
        parts[name] = part
    return list(parts.values())
