"""Making variants of the train schemas with words replaced and moved at random.

This is the negative control of Lee et al. 2022 (arXiv 2110.06800, on data augmentation): random
replacement of words and perturbation of their order, which did not help trackers as
back-translation did.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..io.errors import SgdxError
from ..release import Release, write_variants
from ..schema import Intent, Service, Slot
from ..words import NewNames, reworded
from .leaks import digest, release_words

_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")
DESCRIPTION = "description"
KindAndText = tuple[str, str]  # ``slot name``, ``intent name`` or ``description``, and the text
_DRAWS = 1000  # how many corruptions of a text are drawn before it is given up


def corrupt(
    release: Release,
    output: Path,
    variants: int = 3,
    seed: int = 0,
    replace: float = 0.3,
    window: int = 3,
) -> list[Path]:
    """Write K variants, ``output/corrupt-1`` to ``output/corrupt-K``, of the train schema alone."""
    _check("variants", variants, variants >= 1, "1 or more")
    _check("seed", seed, seed >= 0, "0 or more")
    _check("replace", replace, 0 <= replace <= 1, "a probability")
    _check("window", window, window >= 1, "1 or more places")
    original, excluded = release.schema("train", "original"), release_words(release).variants
    schemas = {}
    for number in range(1, variants + 1):
        random = np.random.default_rng([seed, number])
        try:
            schema = corrupt_schema(original, random, replace, window, excluded)
        except SgdxError as error:
            raise SgdxError(f"{release.schema_path('train', 'original')}: {error}") from None
        schemas[f"corrupt-{number}"] = {"train": schema}
    return write_variants(schemas, output)


def _check(what: str, value: float, right: bool, expected: str) -> None:
    if not right:
        raise SgdxError(f"{what} is {value}, expected {expected}")


def corrupt_schema(
    schema: Sequence[Service],
    random: np.random.Generator,
    replace: float,
    window: int,
    excluded: Container[str] = (),
) -> list[Service]:
    """Corrupt each name and description of a schema; services keep their names."""
    # The same text is corrupted in the same way wherever it occurs. Names keep their style and stay
    # distinct within a service. A text for which that fails, or whose digest is excluded, is drawn
    # again.
    services = _services(schema)
    words = {key: _words(*key) for key in services}
    corruption_of: dict[KindAndText, str] = {}
    for (kind, text), own in services.items():
        pool = _pool(words, (kind, text))
        barred = {
            corruption_of[key] for key in corruption_of if key[0] == kind and services[key] & own
        }
        for _ in range(_DRAWS):
            drawn = corrupt_words(words[kind, text], pool, random, replace, window)
            new = _joined(drawn, kind, text)
            usable = kind == DESCRIPTION or (new not in barred and _in_style(new, text))
            if usable and digest(new) not in excluded:
                corruption_of[kind, text] = new
                break
        else:
            raise SgdxError(
                f"{kind} {text!r}: {_DRAWS} draws gave nothing to use, expected a"
                " text in its style, distinct within its services and none of v1..v5"
            )
    return [_reworded(service, corruption_of) for service in schema]


def corrupt_words(
    words: Sequence[str],
    pool: Sequence[str],
    random: np.random.Generator,
    replace: float,
    window: int,
) -> list[str]:
    """Replace each word by one of ``pool`` with probability ``replace``, then move the words."""
    drawn = [
        pool[int(random.integers(len(pool)))] if pool and random.random() < replace else word
        for word in words
    ]
    # By its place plus a draw from [0, window), each moves by less than ``window`` places.
    order = np.argsort(np.arange(len(words)) + random.uniform(0, window, len(words)))
    return [drawn[i] for i in order]


def _services(schema: Sequence[Service]) -> dict[KindAndText, set[str]]:
    """The names of the services in which each text occurs, in the schema's order."""
    services: dict[KindAndText, set[str]] = {}
    for service in schema:
        for text in _texts(service):
            services.setdefault(text, set()).add(service.service_name)
    return services


def _texts(service: Service) -> Iterator[KindAndText]:
    yield DESCRIPTION, service.description
    for element in service.elements:
        yield f"{'slot' if isinstance(element, Slot) else 'intent'} name", element.name
        yield DESCRIPTION, element.description


def _pool(words: dict[KindAndText, list[str]], key: KindAndText) -> list[str]:
    """The words that may replace those of a text: of all other names, or other descriptions."""
    described = key[0] == DESCRIPTION
    others = [other for other in words if other != key and (other[0] == DESCRIPTION) == described]
    pool = [word for other in others for word in words[other]]
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


def _reworded(service: Service, corruption_of: dict[KindAndText, str]) -> Service:
    def variant(kind: str, elements: Sequence[Slot | Intent]) -> NewNames:
        return {
            element.name: (
                corruption_of[kind, element.name],
                corruption_of[DESCRIPTION, element.description],
            )
            for element in elements
        }

    return reworded(
        service,
        service.service_name,
        corruption_of[DESCRIPTION, service.description],
        variant("slot name", service.slots),
        variant("intent name", service.intents),
    )
