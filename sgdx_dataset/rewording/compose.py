"""Making variants of the schemas from a pool of paraphrases, as Lee et al. 2022 made SGD-X.

The names and the descriptions of each element are sorted by their distance from the original. The
variant v1 gets the nearest ones of every element, and the last variant the farthest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from ..configs import split_name
from ..io.errors import SgdxError
from ..io.files import read_file
from ..io.json import parse_json
from ..release import Release, write_variants
from ..schema import NONE_INTENT, Intent, Service, Slot
from ..words import NewNames, check_names, reworded
from .distances import description_distance, name_distance

_STYLES = {
    "snake_case": re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*"),
    "CamelCase": re.compile(r"[A-Z][A-Za-z0-9]*"),
    "an identifier": re.compile(r"[A-Za-z]\w*", re.ASCII),
}
_SIZES = range(2, 10)  # the last digit of a service's name tells the variant


class ElementPool(msgspec.Struct, forbid_unknown_fields=True):
    """The paraphrases of a slot or intent, in any order."""

    name: list[str]
    description: list[str]


class ServicePool(msgspec.Struct, forbid_unknown_fields=True):
    """The paraphrases of a service; slots and intents go by their original names."""

    description: list[str]
    slots: dict[str, ElementPool]
    intents: dict[str, ElementPool]


Pool = dict[str, ServicePool]  # by the services' original names


def empty_pool(release: Release, splits: Collection[str] | None = None) -> Pool:
    """A pool to fill in, with room for two paraphrases of every text."""
    names = [split_name(split) for split in splits or release.schema_splits("original")]

    def elements(of: Iterable[Slot | Intent]) -> dict[str, ElementPool]:
        return {element.name: ElementPool(["", ""], ["", ""]) for element in of}

    services = (service for split in names for service in release.schema(split, "original"))
    return {
        of.service_name: ServicePool(["", ""], elements(of.slots), elements(of.intents))
        for of in services
    }


def compose(
    release: Release, pool_file: Path, output: Path, splits: Collection[str] | None = None
) -> list[Path]:
    """Write K variants of a release's schemas as ``output/v1`` to ``output/vK``, in its layout."""
    pool = read_pool(read_file(pool_file), str(pool_file))
    names = [split_name(split) for split in splits or release.schema_splits("original")]
    schemas = {split: release.schema(split, "original") for split in names}
    check_pool(pool, schemas.values(), str(pool_file))
    variants: dict[str, dict[str, list[Service]]] = {}
    for split, schema in schemas.items():
        original = release.files[release.schema_file(split, "original")]
        made = compose_schema(schema, pool, f"{pool_file}: {original.shown}")
        for number, services in enumerate(made, start=1):
            variants.setdefault(f"v{number}", {})[split] = services
    return write_variants(variants, output)


def compose_schema(original: Sequence[Service], pool: Pool, where: str) -> list[list[Service]]:
    """The variants of a schema, the nearest first."""
    # Elements are sorted one by one, so two slots of a service may get one name in a variant. That
    # is an error: any other order would break the promise of increasing distance.
    services = [compose_service(service, pool[service.service_name]) for service in original]
    variants = [list(variant) for variant in zip(*services)]
    for number, variant in enumerate(variants, start=1):
        check_names(variant, f"{where}: v{number}")
    return variants


def compose_service(service: Service, pool: ServicePool) -> list[Service]:
    """Make the variants of a service, the nearest first, with their numbers added to its name."""
    descriptions = nearest_first(service.description, pool.description, description_distance)

    def new_names(
        elements: Sequence[Slot | Intent], pools: dict[str, ElementPool]
    ) -> list[NewNames]:
        variants: list[dict[str, tuple[str, str]]] = [{} for _ in descriptions]
        for element in elements:
            words = pools[element.name]
            names = nearest_first(element.name, words.name, name_distance)
            texts = nearest_first(element.description, words.description, description_distance)
            for variant, name, text in zip(variants, names, texts):
                variant[element.name] = name, text
        return [*variants]

    slots, intents = new_names(service.slots, pool.slots), new_names(service.intents, pool.intents)
    return [
        reworded(service, f"{service.service_name}{number}", *words)
        for number, words in enumerate(zip(descriptions, slots, intents), start=1)
    ]


def nearest_first(
    original: str, paraphrases: Sequence[str], distance: Callable[[str, str], float]
) -> list[str]:
    """Paraphrases sorted by their distance from the original; of equal ones the order is kept."""
    return sorted(paraphrases, key=lambda paraphrase: distance(original, paraphrase))


def read_pool(data: bytes, path: str) -> Pool:
    """Parse a pool file."""
    pool = parse_json(data, Pool, path, "a pool of paraphrases")
    if not pool:
        raise SgdxError(f"{path}: has no service, expected paraphrases by service")
    return pool


def check_pool(pool: Pool, schemas: Iterable[Sequence[Service]], path: str) -> None:
    """Raise ``SgdxError`` unless the pool has what variants of these schemas need."""
    services = {service.service_name: service for schema in schemas for service in schema}
    first, size = next((name, len(words.description)) for name, words in pool.items())

    def check_keys(where: str, names: Collection[str], expected: Collection[str]) -> None:
        if lacking := sorted({*expected} - {*names}):
            raise SgdxError(f"{where} {lacking[0]} is not there, expected paraphrases of it")
        if unknown := sorted({*names} - {*expected}):
            one_of = ", ".join(sorted(expected))
            raise SgdxError(f"{where} {unknown[0]} is not in the source, expected one of {one_of}")

    def check_texts(record: str, texts: list[str]) -> None:
        if len(texts) != size or size not in _SIZES:
            expected = f"expected as many as of service {first}, {_SIZES[0]} to {_SIZES[-1]}"
            raise SgdxError(f"{record}: {len(texts)} paraphrases, {expected}")
        for i, text in enumerate(texts):
            if not text.strip() or text in texts[:i]:
                expected = "expected other words in each"
                raise SgdxError(f"{record}: paraphrase {i} is {text!r}, {expected}")

    check_keys(f"{path}: service", pool, services)
    for name, service in services.items():
        words, where = pool[name], f"{path}: service {name}"
        check_texts(f"{where}: description", words.description)
        for kind, own, pools in (
            ("slot", service.slots_by_name, words.slots),
            ("intent", service.intents_by_name, words.intents),
        ):
            check_keys(f"{where}: {kind}", pools, own)
            for original, element in pools.items():
                record = f"{where}: {kind} {original}"
                check_texts(f"{record}: name", element.name)
                check_texts(f"{record}: description", element.description)
                style = next(
                    (s for s, p in _STYLES.items() if p.fullmatch(original)), "an identifier"
                )
                for new in element.name:
                    if not _STYLES[style].fullmatch(new) or new == NONE_INTENT:
                        expected = f"expected {style} as in {original}"
                        raise SgdxError(f"{record}: name is {new!r}, {expected}")
