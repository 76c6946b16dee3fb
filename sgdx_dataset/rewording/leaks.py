"""Finding texts of the benchmark's v1..v5 in schemas for training: a check against leaks.

To train on reworded schemas and then score on v1..v5, one has to know which of their words the
training has seen. Texts are compared without regard to case, blanks and punctuation, so that
``VisitFlat``, ``visit_flat`` and ``Visit flat.`` are one text. Nothing is filtered here, as a
translation may well find the same word: only from a certain share on (``LIMITS``) is it a leak.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..configs import BACKTRANS, SPLITS, VARIANTS
from ..release.open import open_release
from ..release.release import Release
from ..release.schema import Schema
from ..schema import Intent, Slot

# The largest share of the texts that the original schemas lack that v1..v5 may have. Of this
# project's back-translations of SGD they have at most 66 % of the names and 3 % of the
# descriptions; of a copy of v1..v5 they have all. Fewer texts than MIN_EQUAL are no leak.
LIMITS = {"name": 0.8, "description": 0.1}
MIN_EQUAL = 5

_SGD_WORDS = Path(__file__).with_name("sgd_words.txt")

DESCRIPTION = "description"
Key = tuple[str, str]  # the kind of a text (see Location.kind) and the normalised text
Digests = Sequence[tuple[str, str]]  # of texts: "name" or "description", and the digest of the key


class Location(NamedTuple):
    """Where a text occurs; services, slots and intents go by their original names."""

    variant: str
    service: str
    element: str  # "service", "slot" or "intent"
    name: str  # of the slot, intent or service
    part: str  # "name" or "description"

    @property
    def kind(self) -> str:
        """The kind of text: ``slot name``, ``intent name`` or ``description``."""
        return f"{self.element} name" if self.part == "name" else DESCRIPTION


class Overlap(NamedTuple):
    """A text of a schema for training that one of v1..v5 has and the original schemas lack."""

    location: Location
    text: str
    equals: list[Location]  # in v1..v5

    @property
    def same_element(self) -> bool:
        """Whether v1..v5 use the text for this very element, and not only for others."""
        return any(location[1:] == self.location[1:] for location in self.equals)


def overlaps(release: Release, variants: Mapping[str, Schema]) -> list[Overlap]:
    """Find texts of schemas for training that v1..v5 have and the original schemas lack.

    Names of slots are compared with names of slots, names of intents with names of intents, and
    descriptions with descriptions, each as ``normalised`` makes it. Of v1..v5 and the original, the
    schemas of all splits count.

    Args:
        release: The release that has v1..v5. Where it has none of them, nothing is found.
        variants: Train schemas by variant, as ``train_variants`` returns them.

    Returns:
        The texts in the order of ``variants`` and of their schemas, one for each element that has
        it: a name that slots of ten services have is there ten times.
    """
    released = released_texts(release)
    original = release.schema("train", "original")
    return [
        Overlap(location, text, released[key])
        for variant, schema in variants.items()
        for location, text in texts(variant, original, schema)
        if (key := text_key(location.kind, text)) in released
    ]


class Leak(NamedTuple):
    """What schemas for training have in common with v1..v5."""

    overlaps: int  # number of their texts that v1..v5 have and the original schemas lack
    oracle: bool  # whether these are more than rewording without a look at v1..v5 yields


def find_leak(release: Release, schemas: Mapping[str, Schema]) -> Leak:
    """Whether schemas for training have the words of v1..v5: of the release, SGD or the sample."""
    # SGD and the sample count whatever the release is: a source that was made from them may have
    # v1..v5 in the place of the original schemas, or other schemas in the place of v1..v5.
    return _find_leak(release, schemas, [release_words(release), *published_words()])


def find_published_leak(release: Release, schemas: Mapping[str, Schema]) -> Leak:
    """Whether schemas of another corpus, its own v1..v5 too, have the words of SGD's v1..v5."""
    return _find_leak(release, schemas, published_words())


def _find_leak(release: Release, schemas: Mapping[str, Schema], corpora: Sequence[Words]) -> Leak:
    original = release.schema("train", "original")
    digests = {
        variant: [
            (place.part, _digest(text_key(place.kind, text)))
            for place, text in texts(variant, original, schema)
        ]
        for variant, schema in schemas.items()
    }
    together = list(chain.from_iterable(digests.values()))
    leak = Leak(_count_equal(together, corpora[0]), oracle=False)
    for words in corpora:
        if any(_is_leak(group, words) for group in (*digests.values(), together)):
            leak = Leak(max(leak.overlaps, _count_equal(together, words)), oracle=True)
    return leak


class Words(NamedTuple):
    """The words of a corpus, as digests, because the sentences of SGD are not in this project."""

    original: frozenset[str]  # digests of the texts of the original schemas
    variants: frozenset[str]  # digests of the texts of v1..v5 that the original schemas lack


def release_words(release: Release) -> Words:
    """The words of a release's schemas of all splits."""
    keys = _original_keys(release), released_texts(release)
    return Words(*(frozenset(map(_digest, of_group)) for of_group in keys))


@cache
def published_words() -> tuple[Words, ...]:
    """The words of SGD, whose digests ``sgd_words.txt`` has, and those of the sample."""
    lines = [line.split() for line in _SGD_WORDS.read_text(encoding="utf-8").splitlines()]
    groups = (frozenset(d for d, group in lines if group == name) for name in Words._fields)
    return Words(*groups), release_words(open_release("sample"))


def copied_variants(release: Release) -> list[str]:
    """Those of v1..v5 most of whose texts are the original schemas': no other words at all."""
    copied = []
    for variant in VARIANTS:
        same: list[bool] = []
        for split in release.schema_splits(variant):
            original, schema = release.schema(split, "original"), release.schema(split, variant)
            pairs = zip(texts(variant, original, schema), texts(variant, original, original))
            same += [normalised(new) == normalised(old) for (_, new), (_, old) in pairs]
        if sum(same) > len(same) / 2:
            copied.append(variant)
    return copied


def _is_leak(digests: Digests, words: Words) -> bool:
    """Whether the share of texts that v1..v5 have is over the limit, of names or descriptions."""
    for part, limit in LIMITS.items():
        new = [text for text in digests if text[0] == part and text[1] not in words.original]
        equal = _count_equal(new, words)
        if equal >= MIN_EQUAL and equal > limit * len(new):
            return True
    return False


def _count_equal(digests: Digests, words: Words) -> int:
    return sum(digest in words.variants for _, digest in digests)


def _digest(key: Key) -> str:
    return hashlib.sha256(" ".join(key).encode()).hexdigest()[:12]


def new_texts(release: Release, variant: str, schema: Schema) -> list[Location]:
    """The places of the texts of a train schema that the original schemas of all splits lack."""
    words = _original_keys(release)
    return [
        place
        for place, text in texts(variant, release.schema("train", "original"), schema)
        if text_key(place.kind, text) not in words
    ]


def train_variants(release: Release) -> dict[str, Schema]:
    """The train schemas of the back-translations and of the user's own variants, by variant."""
    names = [*release.variants(BACKTRANS), *release.own_variants]
    return {
        name: release.schema("train", name)
        for name in names
        if "train" in release.schema_splits(name)
    }


def released_texts(release: Release) -> dict[Key, list[Location]]:
    """Where v1..v5 have texts that the original lacks, by kind and normalised text."""
    original = _original_keys(release)
    locations: dict[Key, list[Location]] = {}
    for variant in VARIANTS:
        for location, text in _all_texts(release, variant):
            if (key := text_key(location.kind, text)) not in original and key[1]:
                locations.setdefault(key, []).append(location)
    return locations


def _original_keys(release: Release) -> set[Key]:
    return {text_key(place.kind, text) for place, text in _all_texts(release, "original")}


def normalised(text: str) -> str:
    """The letters and digits of a text alone, in lower case."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def text_key(kind: str, text: str) -> Key:
    """The key by which a text is compared with others of its kind (``Location.kind``)."""
    return kind, normalised(text)


def _all_texts(release: Release, variant: str) -> list[tuple[Location, str]]:
    """A variant's texts in all splits; what a service has in two splits alike is there once."""
    pairs = (
        text
        for split in SPLITS
        if split in release.schema_splits(variant)
        for text in texts(
            variant, release.schema(split, "original"), release.schema(split, variant)
        )
    )
    return list(dict.fromkeys(pairs))


def texts(variant: str, original: Schema, schema: Schema) -> Iterator[tuple[Location, str]]:
    """Every name and description of ``schema``, which lines up with ``original``, and its place."""
    # Not the names of services: back-translations keep them, and v1..v5 add a number.
    for old, new in zip(original.services, schema.services, strict=True):
        name = old.service_name
        yield Location(variant, name, "service", name, "description"), new.description
        elements: list[tuple[str, Slot | Intent, Slot | Intent]] = [
            *(("slot", *pair) for pair in zip(old.slots, new.slots, strict=True)),
            *(("intent", *pair) for pair in zip(old.intents, new.intents, strict=True)),
        ]
        for element, before, after in elements:
            named = variant, name, element, before.name
            yield Location(*named, "name"), after.name
            yield Location(*named, "description"), after.description
