"""Making variants of the train schemas with words replaced and moved at random.

This is the negative control of Lee et al. 2022 (arXiv 2110.06800, on data augmentation): random
replacement of words and perturbation of their order, which did not help trackers as
back-translation did.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
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
    for name, value, least, most in (("variants", variants, 1, 1000), ("seed", seed, 0, 2**64)):
        if not least <= value <= most:
            raise SgdxError(f"--{name} {value}: expected {least} to {most}")
    original, excluded = release.schema("train", "original"), release_words(release).variants
    schemas = {}
    for number in range(1, variants + 1):
        random = np.random.default_rng([seed, number])
        try:
            schema = corrupt_schema(original, random, replace, window, excluded)
        except SgdxError as error:
            file = release.files[release.schema_file("train", "original")]
            raise SgdxError(f"{file.shown}: {error}") from None
        schemas[f"corrupt-{number}"] = {"train": schema}
    return write_variants(schemas, output)


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
    services: dict[KindAndText, set[str]] = {}  # those in which each text occurs
    for service in schema:
        texts = [(DESCRIPTION, service.description)]
        for element in service.elements:
            kind = f"{'slot' if isinstance(element, Slot) else 'intent'} name"
            texts += [(kind, element.name), (DESCRIPTION, element.description)]
        for found in texts:
            services.setdefault(found, set()).add(service.service_name)
    words = {key: _words(*key) for key in services}
    new: dict[KindAndText, str] = {}
    for (kind, text), own in services.items():
        # Words may be replaced by those of all other names, or of all other descriptions.
        others = [key for key in words if key != (kind, text)]
        if kind == DESCRIPTION:
            pool = [w for key in others if key[0] == DESCRIPTION for w in words[key]]
        else:
            pool = [w.lower() for key in others if key[0] != DESCRIPTION for w in words[key]]
        barred = {new[key] for key in new if key[0] == kind and services[key] & own}
        for _ in range(_DRAWS):
            drawn = corrupt_words(words[kind, text], pool, random, replace, window)
            made = _joined(drawn, kind, text)
            usable = kind == DESCRIPTION or (made not in barred and _in_style(made, text))
            if usable and digest(made) not in excluded:
                new[kind, text] = made
                break
        else:
            raise SgdxError(
                f"{kind} {text!r}: {_DRAWS} draws gave nothing to use, expected a"
                " text in its style, distinct within its services and none of v1..v5"
            )

    def changed(kind: str, elements: Sequence[Slot | Intent]) -> NewNames:
        return {e.name: (new[kind, e.name], new[DESCRIPTION, e.description]) for e in elements}

    return [
        reworded(
            service,
            service.service_name,
            new[DESCRIPTION, service.description],
            changed("slot name", service.slots),
            changed("intent name", service.intents),
        )
        for service in schema
    ]


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
