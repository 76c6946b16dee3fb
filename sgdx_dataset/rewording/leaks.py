"""Texts of schemas for training that equal some of the benchmark's own: a check against leaks.

Who trains on reworded schemas and then scores on v1..v5 wants to know which of their words the
training has seen. Nothing is filtered here: a translation may well come upon the same word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..release.release import Release
from ..release.schema import BACKTRANS, SPLITS, VARIANTS, Intent, Schema, Slot

DESCRIPTION = "description"
Key = tuple[str, str]  # a text's kind (see Place) and the text


class Place(NamedTuple):
    """Where a text is; by the original names, whatever things are called under the variant."""

    variant: str
    service: str
    element: str  # "service", "slot" or "intent"
    name: str  # of the slot, intent or service
    part: str  # "name" or "description"

    @property
    def kind(self) -> str:
        """What it can be compared with: ``slot name``, ``intent name`` or ``description``."""
        return f"{self.element} name" if self.part == "name" else DESCRIPTION


class Overlap(NamedTuple):
    """A text for training that equals one of v1..v5's which the original schemas lack."""

    place: Place
    text: str
    equals: list[Place]  # in v1..v5

    @property
    def same_element(self) -> bool:
        """Whether v1..v5 have the text of this very element, not only of others."""
        return any(place[1:] == self.place[1:] for place in self.equals)


def overlaps(release: Release, variants: Mapping[str, Schema]) -> list[Overlap]:
    """Which texts of schemas for training equal one of v1..v5's that the original lacks.

    Names are compared with names of their kind, slots' or intents'; descriptions with all
    descriptions; character by character. v1..v5 and the original count with all their splits.

    Args:
        release: Has v1..v5; of one that has none of them nothing can be said, and nothing is.
        variants: Wordings of the train schema by variant, as ``train_variants`` gives them.

    Returns:
        The texts in the order of ``variants`` and of their schemas, one for every element that
        has it: a name of ten services' slots is there ten times.
    """
    released = released_texts(release)
    original = release.schema("train", "original")
    return [
        Overlap(place, text, released[place.kind, text])
        for variant, schema in variants.items()
        for place, text in texts(variant, original, schema)
        if (place.kind, text) in released
    ]


def train_variants(release: Release) -> dict[str, Schema]:
    """The train schemas of the back-translations and of the user's own variants, by variant."""
    names = [*release.variants(BACKTRANS), *release.own_variants]
    return {
        name: release.schema("train", name)
        for name in names
        if "train" in release.schema_splits(name)
    }


def released_texts(release: Release) -> dict[Key, list[Place]]:
    """The places of v1..v5's texts that the original lacks, by kind (see ``Place``) and text."""
    original = {(place.kind, text) for place, text in _all_texts(release, "original")}
    found: dict[Key, list[Place]] = {}
    for variant in VARIANTS:
        for place, text in _all_texts(release, variant):
            if (place.kind, text) not in original:
                found.setdefault((place.kind, text), []).append(place)
    return found


def _all_texts(release: Release, variant: str) -> list[tuple[Place, str]]:
    """A variant's texts of all splits; of a service in two splits once, unless they differ."""
    found = (
        text
        for split in SPLITS
        if split in release.schema_splits(variant)
        for text in texts(
            variant, release.schema(split, "original"), release.schema(split, variant)
        )
    )
    return list(dict.fromkeys(found))


def texts(variant: str, original: Schema, schema: Schema) -> Iterator[tuple[Place, str]]:
    """Every name and description of ``schema``, which lines up with ``original``.

    Services' names are not among them: back-translations keep them, v1..v5 add a number.
    """
    for old, new in zip(original.services, schema.services, strict=True):
        name = old.service_name
        yield Place(variant, name, "service", name, "description"), new.description
        elements: list[tuple[str, Slot | Intent, Slot | Intent]] = [
            *(("slot", *pair) for pair in zip(old.slots, new.slots, strict=True)),
            *(("intent", *pair) for pair in zip(old.intents, new.intents, strict=True)),
        ]
        for element, before, after in elements:
            place = variant, name, element, before.name
            yield Place(*place, "name"), after.name
            yield Place(*place, "description"), after.description
