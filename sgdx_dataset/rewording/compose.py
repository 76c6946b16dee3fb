"""Making variants of the schemas from a pool of paraphrases, as Lee et al. 2022 made SGD-X.

The names and the descriptions of each element are sorted by their distance from the original. The
variant v1 gets the nearest ones of every element, and the last variant the farthest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from ..configs import split_name
from ..io.errors import SgdxError
from ..io.files import read_file
from ..release import Release, write_variants
from ..schema import Intent, Service, Slot
from ..words import check_names, reworded
from .distances import description_distance, name_distance
from .pool import ElementPool, Pool, ServicePool, check_pool, read_pool


def compose(
    release: Release,
    pool_file: Path,
    output: Path,
    splits: Collection[str] | None = None,
    services: Collection[str] | None = None,
) -> list[Path]:
    """Write K variants of a release's schemas as ``output/v1`` to ``output/vK``, in its layout."""
    pool = read_pool(read_file(pool_file), str(pool_file))
    names = [split_name(split) for split in splits or release.schema_splits("original")]
    schemas = {split: release.schema(split, "original") for split in names}
    check_pool(pool, _of_services(release, schemas, services))
    composed = {
        split: compose_schema(schema, pool, release.schema_path(split, "original"))
        for split, schema in schemas.items()
    }
    variants = {
        f"v{i + 1}": {split: schemas_of_split[i] for split, schemas_of_split in composed.items()}
        for i in range(pool.size())
    }
    return write_variants(variants, output)


def _of_services(
    release: Release, schemas: dict[str, list[Service]], services: Collection[str] | None
) -> list[list[Service]]:
    """The schemas with these services alone; ``SgdxError`` where no schema has one of them."""
    if services is None:
        return list(schemas.values())
    names = {service.service_name for schema in schemas.values() for service in schema}
    if unknown := sorted(set(services) - names):
        expected = f"expected one of {', '.join(sorted(names))}"
        raise SgdxError(f"{release.name}: has no service {unknown[0]}, {expected}")
    return [[s for s in schema if s.service_name in services] for schema in schemas.values()]


def compose_schema(original: Sequence[Service], pool: Pool, path: str) -> list[list[Service]]:
    """The variants of a schema, the nearest first; services that the pool lacks stay."""
    # Elements are sorted one by one, so two slots of a service may get one name in a variant. That
    # is an error: any other order would break the promise of increasing distance.
    services = [
        compose_service(service, pool.services[service.service_name])
        if service.service_name in pool.services
        else pool.size() * [service]
        for service in original
    ]
    variants = [
        [variants_of_service[i] for variants_of_service in services] for i in range(pool.size())
    ]
    for number, variant in enumerate(variants, start=1):
        check_names(variant, f"{pool.path}: v{number} of {path}")
    return variants


def compose_service(service: Service, pool: ServicePool) -> list[Service]:
    """Make the variants of a service, the nearest first, with their numbers added to its name."""
    descriptions = nearest_first(service.description, pool.description, description_distance)
    slots = _new_names(service.slots, pool.slots, len(descriptions))
    intents = _new_names(service.intents, pool.intents, len(descriptions))
    return [
        reworded(service, f"{service.service_name}{number}", *words)
        for number, words in enumerate(zip(descriptions, slots, intents), start=1)
    ]


def _new_names(
    elements: Sequence[Slot | Intent], pool: dict[str, ElementPool], size: int
) -> list[dict[str, tuple[str, str]]]:
    """The names and descriptions of elements in each variant."""
    variants: list[dict[str, tuple[str, str]]] = [{} for _ in range(size)]
    for element in elements:
        paraphrases = pool[element.name]
        names = nearest_first(element.name, paraphrases.name, name_distance)
        texts = nearest_first(element.description, paraphrases.description, description_distance)
        for variant, name, text in zip(variants, names, texts):
            variant[element.name] = name, text
    return variants


def nearest_first(
    original: str, paraphrases: Sequence[str], distance: Callable[[str, str], float]
) -> list[str]:
    """Paraphrases sorted by their distance from the original; of equal ones the order is kept."""
    return sorted(paraphrases, key=lambda paraphrase: distance(original, paraphrase))
