"""Finding texts of the benchmark's v1..v5 in schemas for training: a check against leaks.

To train on reworded schemas and then score on v1..v5, one has to know which of their words the
training has seen. Nothing is filtered here, as a translation may well find the same word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..release.release import Release
from ..release.schema import BACKTRANS, SPLITS, VARIANTS, Schema
from ..schema import Intent, Slot

DESCRIPTION = "description"
Key = tuple[str, str]  # the kind of a text (see Place.kind) and the text


class Place(NamedTuple):
    """Where a text occurs; services, slots and intents go by their original names."""

    variant: str
    service: str
    element: str  # "service", "slot" or "intent"
    name: str  # of the slot, intent or service
    part: str  # "name" or "description"

    @property
    def kind(self) -> str:
        """The kind of text: ``slot name``, ``intent name`` or ``description``.

        Only texts of the same kind are compared.
        """
        return f"{self.element} name" if self.part == "name" else DESCRIPTION


class Overlap(NamedTuple):
    """A text of a schema for training that one of v1..v5 has and the original schemas lack."""

    place: Place
    text: str
    equals: list[Place]  # in v1..v5

    @property
    def same_element(self) -> bool:
        """Whether v1..v5 use the text for this very element, and not only for others."""
        return any(place[1:] == self.place[1:] for place in self.equals)


def overlaps(release: Release, variants: Mapping[str, Schema]) -> list[Overlap]:
    """Find texts of schemas for training that v1..v5 have and the original schemas lack.

    Names of slots are compared with names of slots, names of intents with names of intents, and
    descriptions with descriptions, character by character. Of v1..v5 and the original, the schemas
    of all splits count.

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
    """Where v1..v5 have texts that the original lacks, by kind (``Place.kind``) and text."""
    original = {(place.kind, text) for place, text in _all_texts(release, "original")}
    found: dict[Key, list[Place]] = {}
    for variant in VARIANTS:
        for place, text in _all_texts(release, variant):
            if (place.kind, text) not in original:
                found.setdefault((place.kind, text), []).append(place)
    return found


def _all_texts(release: Release, variant: str) -> list[tuple[Place, str]]:
    """A variant's texts in all splits; what a service has in two splits alike is there once."""
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
    """Every name and description of ``schema``, which lines up with ``original``, and its place.

    The names of services are left out: back-translations keep them, and v1..v5 add a number.
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
