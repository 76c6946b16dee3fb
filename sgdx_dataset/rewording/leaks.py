"""What a training has seen of the words that it is judged on: those of v1..v5, and of controls.

Texts are compared as tokenizers read them: without regard to case, accents, blanks and punctuation,
so that ``VisitFlat``, ``visit_flat`` and ``Visit flát.`` are one text, be it a name or a
description. Nothing is filtered here, as a translation may well find the same word: only from a
certain share on (``LIMITS``) is it a leak. Controls have the original texts with other marks: only
they are compared letter by letter, and are a leak where most descriptions of a schema are theirs.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..configs import CONTROLS, SPLITS, VARIANTS
from ..release import Release, open_release
from ..schema import Service
from ..words import edited

# The largest share of the texts that the original schemas lack that v1..v5 may have. Of this
# project's back-translations of SGD they have at most 67 % of the names and 4 % of the
# descriptions; of a copy of v1..v5 they have all. Fewer texts than MIN_EQUAL are no leak.
LIMITS = {"name": 0.8, "description": 0.1}
MIN_EQUAL = 5

_SGD_WORDS = Path(__file__).with_name("sgd_words.txt")


class Words(NamedTuple):
    """The words of a corpus, as digests, because the sentences of SGD are not in this project."""

    original: frozenset[str]  # digests of the texts of the original schemas
    variants: frozenset[str]  # digests of the texts of v1..v5 that the original schemas lack
    # The descriptions of controls that the original schemas lack, of a corpus at hand.
    controls: frozenset[str] = frozenset()


class Leak(NamedTuple):
    """What a corpus for training has in common with what models are judged on."""

    overlaps: int  # number of its schemas' texts that v1..v5 have and the original schemas lack
    oracle: bool  # whether these are more than rewording without a look at v1..v5 yields
    copied: str = ""  # what its dialogues have of test splits, in words; empty for nothing


def find_leak(schemas: Mapping[str, Sequence[Service]], corpora: Sequence[Words]) -> Leak:
    """Whether schemas for training have the words of the v1..v5 of some corpora.

    ``overlaps`` is the number in the first corpus, or the largest number that is a leak.
    """
    parts = [list(digests(services)) for services in schemas.values()]
    together = [text for part in parts for text in part]
    counts, leaks = list[int](), list[int]()
    for words in corpora:
        counts.append(sum(text in words.variants for _, text in together))
        for services in schemas.values():
            texts = [text for service in services for text in service.descriptions]
            edits = sum(text in words.controls for text in texts)
            if edits >= MIN_EQUAL and edits > len(texts) / 2:
                leaks.append(edits)
        for group in (*parts, together):  # as a leak may hide among other schemas
            for part, limit in LIMITS.items():
                new = [t for kind, t in group if kind == part and t not in words.original]
                equal = sum(text in words.variants for text in new)
                if equal >= MIN_EQUAL and equal > limit * len(new):
                    leaks.append(counts[-1])
    return Leak(max([counts[0], *leaks]), bool(leaks))


def release_words(release: Release, splits: Collection[str] = tuple(SPLITS)) -> Words:
    """The words of a release's schemas of some splits, or all."""
    services = {
        variant: [
            service
            for split in release.schema_splits(variant)
            if split in splits
            for service in release.schema(split, variant)
        ]
        for variant in ("original", *VARIANTS)
    }
    original, *variants = ({text for _, text in digests(of)} for of in services.values())
    new = frozenset().union(*variants) - original - {digest("")}
    said = {text for service in services["original"] for text in service.descriptions}
    controls = {edited(text, control) for text in said for control in CONTROLS} - said
    return Words(frozenset(original), new, frozenset(controls))


@cache
def published_words() -> tuple[Words, ...]:
    """The words of SGD, whose digests ``sgd_words.txt`` has, and those of the sample."""
    lines = [line.split() for line in _SGD_WORDS.read_text(encoding="utf-8").splitlines()]
    groups = (frozenset(d for d, group in lines if group == name) for name in Words._fields)
    return Words(*groups), release_words(open_release("sample"))


def judging_words(release: Release) -> list[Words]:
    """The words that a training for this release is compared with; its own come first."""
    # SGD and the sample count whatever the release is: a source that was made from them may have
    # v1..v5 in the place of the original schemas, or other schemas in the place of v1..v5. Those of
    # test alone show where another split's original schema has the words of v1..v5.
    return [release_words(release), release_words(release, ["test"]), *published_words()]


def copied_variants(release: Release) -> list[str]:
    """Those of v1..v5 most of whose texts are the original schemas': no other words at all."""
    copied = []
    for variant in VARIANTS:
        same: list[bool] = []
        for split in release.schema_splits(variant):
            schemas = (release.schema(split, name) for name in (variant, "original"))
            same += [new == old for new, old in zip(*map(digests, schemas))]
        if sum(same) > len(same) / 2:
            copied.append(variant)
    return copied


def train_variants(release: Release) -> dict[str, list[Service]]:
    """The train schemas of the back-translations and of the user's own variants, by variant."""
    names = [*release.variants("backtrans"), *release.own_variants]
    return {n: release.schema("train", n) for n in names if "train" in release.schema_splits(n)}


def digests(services: Iterable[Service]) -> Iterator[tuple[str, str]]:
    """A digest of every text of schemas, with what it is: a ``name`` or a ``description``."""
    # Not the names of services: back-translations keep them, and v1..v5 add a number.
    for service in services:
        yield "description", digest(service.description)
        for element in service.elements:
            yield "name", digest(element.name)
            yield "description", digest(element.description)


def digest(text: str) -> str:
    """A digest of a text's letters and digits alone, without accents and in lower case."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(character for character in folded if character.isalnum())
    return hashlib.sha256(letters.encode()).hexdigest()[:12]
