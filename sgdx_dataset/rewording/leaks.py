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
Key = tuple[str, str]  # the kind of a text (see Location.kind) and the text


class Location(NamedTuple):
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
        Overlap(location, text, released[location.kind, text])
        for variant, schema in variants.items()
        for location, text in texts(variant, original, schema)
        if (location.kind, text) in released
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
    """Where v1..v5 have texts that the original lacks, by kind (``Location.kind``) and text."""
    original = {(location.kind, text) for location, text in _all_texts(release, "original")}
    locations: dict[Key, list[Location]] = {}
    for variant in VARIANTS:
        for location, text in _all_texts(release, variant):
            if (location.kind, text) not in original:
                locations.setdefault((location.kind, text), []).append(location)
    return locations


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
    """Every name and description of ``schema``, which lines up with ``original``, and its place.

    The names of services are left out: back-translations keep them, and v1..v5 add a number.
    """
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
