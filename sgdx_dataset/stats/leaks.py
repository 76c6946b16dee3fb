"""Texts that schemas for training share with the benchmark's v1..v5, counted and listed."""

from __future__ import annotations

from typing import Any

from ..release.release import Release
from ..release.schema import VARIANTS, Schema
from ..rewording.leaks import Location, Overlap, new_texts, overlaps, train_variants


def overlap_statistics(release: Release) -> dict[str, Any]:
    """Find the overlaps of each back-translation, and of each own variant with a train schema.

    Returns:
        By variant: ``names`` and ``descriptions``, each with their ``count`` and how many of them
        are ``of_same_element``, and how many are ``new``: those that the original schemas lack,
        whether v1..v5 have them or not; and ``texts``, every overlap with the places in v1..v5 that
        it ``equals``. Services, slots and intents go by their original names. It is empty where the
        release has none of v1..v5, as there is nothing to compare with.
    """
    if not any(release.schema_splits(variant) for variant in VARIANTS):
        return {}
    return {
        variant: _of_variant(release, variant, schema)
        for variant, schema in train_variants(release).items()
    }


def _of_variant(release: Release, variant: str, schema: Schema) -> dict[str, Any]:
    variant_overlaps = overlaps(release, {variant: schema})
    new = new_texts(release, variant, schema)
    return {
        "names": _counts(variant_overlaps, new, "name"),
        "descriptions": _counts(variant_overlaps, new, "description"),
        "texts": [_entry(overlap) for overlap in variant_overlaps],
    }


def _counts(variant_overlaps: list[Overlap], new: list[Location], part: str) -> dict[str, int]:
    same = [overlap.same_element for overlap in variant_overlaps if overlap.location.part == part]
    new_of_part = sum(location.part == part for location in new)
    return {"count": len(same), "of_same_element": sum(same), "new": new_of_part}


def _entry(overlap: Overlap) -> dict[str, Any]:
    location = overlap.location._asdict()
    del location["variant"]
    return {
        **location,
        "text": overlap.text,
        "same_element": overlap.same_element,
        "equals": [released._asdict() for released in overlap.equals],
    }
