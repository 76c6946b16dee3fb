"""The command ``reword``: new variants, by a model, of a pool, by translation, or from a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.rewording.phrases import identifier, one_line, phrase
from sgdx_dataset.rewording.translations import read_settings, translate_round_trip
from sgdx_llm.asking import ask, open_answers
from sgdx_llm.options import SendingOptions, ServerOptions

from .asking import settings_of
from .data import ElementId, Tool, ToolSet, Variant
from .folder import check_variant, read_tool_set, read_tools, read_variant, write_variant
from .json_schema import NAME
from .model_words import FUNCTION, PARAMETERS, IncompleteError, RewordPlan, ask_model
from .options import RewordOptions
from .pool import ElementPool, Pool, compose_variants, read_pool
from .review import read_review, write_review
from .rivals import rival_variant
from .versions import variant_between

_COMMAND = "command:"  # before a program that translates


class NewWords(NamedTuple):
    """What a way of rewording gives: a pool to compose variants of, or a finished variant."""

    # Empty where there is a variant.
    pool: Pool
    made_by: str
    variant: Variant | None = None
    # What could not be done, or is not measured, a line for each.
    notes: Sequence[str] = ()


def reword(
    folder: Path, options: RewordOptions, server: ServerOptions, sending: SendingOptions
) -> int:
    """Make variants as the options say, and print the paths of what was written.

    The exit status is 1 where answers of a model are missing still.
    """
    tool_set = read_tool_set(folder)
    tools = tool_set.tools
    words = new_words(options, tool_set, server, sending)
    if words is None:
        return 1
    pool = words.pool
    if options.keep_names:
        pool = {element: ElementPool((), part.description) for element, part in pool.items()}
    if words.variant:
        variants = [words.variant]
    elif any(part.name or part.description for part in pool.values()):
        variants = compose_variants(tools, pool, options.count, words.made_by)
    else:
        way = f"--with {options.by}" if options.by else str(options.review)
        answers = options.output / "answers.jsonl"
        said = f"; what the model said is in {answers}; the same command asks it again"
        hint = said if answers.exists() else ""
        raise SgdxError(f"{way}: found no new words for any tool, expected some{hint}")
    variants = _without_equal(variants)
    if options.one_at_a_time:
        variants = [part for variant in variants for part in one_at_a_time(variant, tool_set)]
    for variant in variants:
        check_variant(variant, tools, tool_set.cases, f"variant {variant.name}")
        path = options.output / f"{variant.name}.json"
        if path.exists() and options.review is None:
            raise SgdxError(f"{path}: exists already, expected a new variant")
    if pool and options.review is None:
        print(*write_review(options.output, tools, pool, words.made_by), sep="\n")
    for variant in variants:
        print(write_variant(options.output / f"{variant.name}.json", variant))
    return 0


def _without_equal(variants: Sequence[Variant]) -> list[Variant]:
    """Variants of which no two have the same words, as a model may say the same again."""
    first: dict[bytes, Variant] = {}
    for variant in variants:
        words = msgspec.json.encode([variant.tools, variant.version], order="deterministic")
        kept = first.setdefault(words, variant)
        if kept is not variant:
            same = f"{variant.name} has the same words as {kept.name}, and is left out"
            print(f"note: {same}", file=sys.stderr)
    return list(first.values())


def new_words(
    options: RewordOptions,
    tool_set: ToolSet,
    server: ServerOptions,
    sending: SendingOptions,
    goal: str = FUNCTION,
) -> NewWords | None:
    """New words, with notes printed; None where answers of a model are missing still."""
    try:
        words = _new_words(options, tool_set, server, sending, goal)
    except IncompleteError as error:
        print(
            f"{error} answers are missing: give the same command again to continue", file=sys.stderr
        )
        return None
    for note in words.notes:
        print(f"note: {note}", file=sys.stderr)
    return words


def _new_words(
    options: RewordOptions,
    tool_set: ToolSet,
    server: ServerOptions,
    sending: SendingOptions,
    goal: str,
) -> NewWords:
    tools = tool_set.tools
    if options.review is not None:
        return NewWords(*read_review(options.review, tools))
    way, _, what = (options.by or "").partition(":")
    if what and way == "model":
        omitted = server.known_provider().omitted
        defaults = {name: value for name, value in PARAMETERS.items() if name not in omitted}
        settings, host = settings_of(server, what, defaults)
        with open_answers(options.output) as answers:

            def ask_plan(plan: RewordPlan, count: int) -> None:
                ask(plan, count, answers, server, sending)

            pool, notes = ask_model(tools, options.count, settings, host, answers, ask_plan, goal)
        return NewWords(pool, f"model:{what}", notes=notes)
    if what and way == "pool":
        return NewWords(read_pool(Path(what), tools), f"pool:{Path(what).name}")
    if what and way == "file":
        variant = read_variant(Path(what), tools, tool_set.cases)
        return NewWords({}, variant.made_by, variant)
    if what and way == "tools":
        return NewWords({}, "", *variant_between(tools, read_tools(Path(what))))
    if what and way == "backtranslate":
        pool = backtranslated(tools, what, options.count, options.output, options.languages)
        return NewWords(pool, f"backtranslate:{what}")
    if way == "rivals":
        return NewWords({}, "", rival_variant(tool_set, what))
    expected = (
        "expected model:NAME, pool:FILE, backtranslate:F,B, file:FILE, tools:FILE or rivals:KIND"
    )
    raise SgdxError(f"--with {options.by}: {expected}")


def backtranslated(
    tools: Mapping[str, Tool],
    translators: str,
    count: int,
    output: Path,
    languages: Sequence[str] | None = None,
) -> dict[ElementId, ElementPool]:
    """Paraphrases by translating names and descriptions ``count`` times to a language and back.

    ``FORWARD,BACKWARD`` are two models, or programs after ``command:``; models are sampled where
    they translate several times. Unfinished translations are kept in the output folder.
    """
    forward, _, backward = translators.partition(",")
    programs = [t.startswith(_COMMAND) for t in (forward, backward)]
    if not (forward and backward):
        raise SgdxError(f"--with backtranslate:{translators}: expected FORWARD,BACKWARD")
    if any(programs) and count > 1:
        raise SgdxError(f"--count {count}: programs translate in one way, expected --count 1")
    elements = {i: tool.elements for i, tool in tools.items()}
    texts = {
        text: None
        for of_tool in elements.values()
        for element in of_tool.values()
        for text in (phrase(element.name), one_line(element.description))
        if any(character.isalpha() for character in text)
    }
    rounds = []
    batches = [output / f".backtranslate-{seed}.partial.jsonl" for seed in range(count)]
    for seed, unfinished in enumerate(batches):
        settings = read_settings(
            **_translator("forward", forward),
            **_translator("backward", backward),
            languages=languages,
            sample=count > 1,
            seed=seed,
        )
        rounds.append(translate_round_trip(list(texts), settings, unfinished))
    for unfinished in batches:
        unfinished.unlink(missing_ok=True)
    pool = {}
    for i, of_tool in elements.items():
        for path, element in of_tool.items():
            name, description = phrase(element.name), one_line(element.description)
            names = [identifier(r[name].text, element.name) for r in rounds if name in r]
            descriptions = [r[description].text for r in rounds if description in r]
            pool[i, path] = ElementPool(
                _new(names, element.name, NAME.fullmatch),
                _new(descriptions, description, str.strip),
            )
    return pool


def _translator(way: str, translator: str) -> dict[str, str]:
    if translator.startswith(_COMMAND):
        return {f"{way}_command": translator.removeprefix(_COMMAND)}
    return {way: translator}


def _new(
    texts: Iterable[str], original: str, is_usable: Callable[[str], object]
) -> tuple[str, ...]:
    """The distinct texts that are usable and not the original."""
    return tuple(t for t in dict.fromkeys(texts) if t != original and is_usable(t))


def one_at_a_time(variant: Variant, tool_set: ToolSet) -> list[Variant]:
    """A variant for each element that a variant changes, in which it is the only one.

    An element whose new name is another one's old name cannot stand alone, and gets none. Names
    are ``VARIANT.TOOL.PATH``, with ``-`` in place of what a file's name should not have.
    """
    parts: dict[str, Variant] = {}
    for (tool, path), words in variant.elements().items():
        ending = "".join(c if (c.isalnum() and c.isascii()) or c == "_" else "-" for c in path)
        name = ".".join(filter(None, [variant.name, tool.replace("#", "-"), ending.strip("-")]))
        name = name[:90]
        while name in parts:
            name += "-"
        part = Variant.of(name, {(tool, path): words}, variant.made_by)
        try:
            check_variant(part, tool_set.tools, tool_set.cases, name)
        except SgdxError:
            continue
        parts[name] = part
    return list(parts.values())
