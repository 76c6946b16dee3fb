"""``python -m sgdx_dataset corrupt``: variants of the train schemas with words replaced and moved.

The negative control of Lee et al. 2022 (arXiv 2110.06800, on data augmentation): random replacement
of words and perturbation of their order, which did not help trackers as back-translation did.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np

from ..errors import SgdxError
from ..release.release import Release, write_variants
from ..release.schema import Intent, Schema, Service, Slot, Wording, reworded
from .leaks import DESCRIPTION, Key, released_texts, texts

_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")
_DRAWS = 1000  # of one text before it is given up


def corrupt(
    release: Release,
    output: Path,
    variants: int = 3,
    seed: int = 0,
    replace: float = 0.3,
    window: int = 3,
) -> list[Path]:
    """Write ``output/corrupt-1``..``output/corrupt-K``, each with a corrupted train schema alone.

    v1..v5 are read for nothing but an exclusion: no text becomes one of theirs that the original
    lacks. Of a release that has none of them nothing is excluded.

    Args:
        release: Where the original train schema is.
        output: A new folder; it appears whole.
        variants: How many to write, K.
        seed: Together with a variant's number it seeds that variant's draws, so that more variants
            change none of the first.
        replace, window: See ``corrupt_schema``.

    Returns:
        The variants' folders.

    Raises:
        SgdxError: ``output`` exists, an argument is out of range, or a text has no corruption.
    """
    _check("variants", variants, variants >= 1, "1 or more")
    _check("seed", seed, seed >= 0, "0 or more")
    _check("replace", replace, 0 <= replace <= 1, "a probability")
    _check("window", window, window >= 1, "1 or more places")
    original, excluded = release.schema("train", "original"), released_texts(release)
    made = {}
    for number in range(1, variants + 1):
        random = np.random.default_rng([seed, number])
        schema = corrupt_schema(original, random, replace, window, excluded)
        made[f"corrupt-{number}"] = {"train": schema}
    return write_variants(made, output)


def _check(what: str, found: float, right: bool, expected: str) -> None:
    if not right:
        raise SgdxError(f"{what} is {found}, expected {expected}")


def corrupt_schema(
    schema: Schema,
    random: np.random.Generator,
    replace: float,
    window: int,
    excluded: Container[Key] = (),
) -> Schema:
    """The schema with each of its names and descriptions corrupted; services keep their names.

    A text becomes the same wherever it is. Names keep their style (CamelCase, or words between
    underscores) and are distinct within a service: what is not so, or is in ``excluded``, is drawn
    again.

    Args:
        schema: The original.
        random: What to draw from; the draws follow the order of the schema's distinct texts.
        replace, window: See ``corrupt_words``. A name's words are replaced by words of other names,
            a description's by words of other descriptions, the more likely the more of these
            texts have them.
        excluded: Texts that must not come out, by kind (see ``overlaps.Place``).

    Raises:
        SgdxError: No usable corruption of a text was drawn.
    """
    services = _services(schema)
    words = {key: _words(*key) for key in services}
    made: dict[Key, str] = {}
    for (kind, text), own in services.items():
        pool = _pool(words, (kind, text))
        barred = {made[key] for key in made if key[0] == kind and services[key] & own}
        for _ in range(_DRAWS):
            drawn = corrupt_words(words[kind, text], pool, random, replace, window)
            new = _joined(drawn, kind, text)
            usable = kind == DESCRIPTION or (new not in barred and _in_style(new, text))
            if usable and (kind, new) not in excluded:
                made[kind, text] = new
                break
        else:
            raise SgdxError(
                f"{schema.path}: {kind} {text!r}: {_DRAWS} draws gave nothing to use, expected a"
                " text in its style, distinct within its services and none of v1..v5"
            )
    return Schema(f"corrupted {schema.path}", [_reworded(s, made) for s in schema.services])


def corrupt_words(
    words: Sequence[str],
    pool: Sequence[str],
    random: np.random.Generator,
    replace: float,
    window: int,
) -> list[str]:
    """Replace each word by one of ``pool`` with probability ``replace``, then move the words.

    Each word moves by less than ``window`` places: they are sorted by position plus a uniform draw
    from [0, window). An empty pool replaces nothing.
    """
    drawn = [
        pool[int(random.integers(len(pool)))] if pool and random.random() < replace else word
        for word in words
    ]
    order = np.argsort(np.arange(len(words)) + random.uniform(0, window, len(words)))
    return [drawn[i] for i in order]


def _services(schema: Schema) -> dict[Key, set[str]]:
    """The names of the services that have a text, by kind and text, in the schema's order."""
    services: dict[Key, set[str]] = {}
    for place, text in texts("original", schema, schema):
        services.setdefault((place.kind, text), set()).add(place.service)
    return services


def _pool(words: dict[Key, list[str]], of: Key) -> list[str]:
    """The words of the other names for a name, of the other descriptions for a description."""
    described = of[0] == DESCRIPTION
    others = [key for key in words if key != of and (key[0] == DESCRIPTION) == described]
    pool = [word for key in others for word in words[key]]
    return pool if described else [word.lower() for word in pool]


def _words(kind: str, text: str) -> list[str]:
    if kind == DESCRIPTION:
        return text.split()
    if _CAMEL_CASE.fullmatch(text):
        return re.findall(r"[A-Z][^A-Z]*", text)
    return text.split("_")


def _joined(words: list[str], kind: str, like: str) -> str:
    if kind == DESCRIPTION:
        return " ".join(words)
    if _CAMEL_CASE.fullmatch(like):
        return "".join(word[:1].upper() + word[1:] for word in words)
    return "_".join(words)


def _in_style(name: str, original: str) -> bool:
    if _CAMEL_CASE.fullmatch(original):
        return bool(_CAMEL_CASE.fullmatch(name))
    return name.isidentifier() or not original.isidentifier()


def _reworded(service: Service, made: dict[Key, str]) -> Service:
    def wording(kind: str, elements: Sequence[Slot | Intent]) -> Wording:
        return {
            element.name: (made[kind, element.name], made[DESCRIPTION, element.description])
            for element in elements
        }

    return reworded(
        service,
        service.service_name,
        made[DESCRIPTION, service.description],
        wording("slot name", service.slots),
        wording("intent name", service.intents),
    )
