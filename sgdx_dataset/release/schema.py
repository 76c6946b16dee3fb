"""Schemas of the release: reading them, and checking a variant against the original."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..configs import VARIANTS
from ..io.errors import SgdxError
from ..io.json import parse_json
from ..schema import NONE_INTENT, Intent, Service, Slot
from .archives import digest
from .checksums import is_released

Variant = dict[str, tuple[str, str]]  # new name and description, by the original name


@dataclass(frozen=True)
class Schema:
    """The services of a split under a variant, in the order of the original schema."""

    path: str
    services: list[Service]

    def service_names(self) -> list[str]:
        """The services' names; a service's code is its position in this list."""
        return [service.service_name for service in self.services]

    def slot_names(self) -> list[str]:
        """All services' slot names in order; a slot's code is its position in this list."""
        return [slot.name for service in self.services for slot in service.slots]

    def intent_names(self) -> list[str]:
        """``NONE``, then all services' intent names; an intent's code is its position here."""
        names = [intent.name for service in self.services for intent in service.intents]
        return [NONE_INTENT, *names]


def read_schema(data: bytes, path: str) -> Schema:
    """Parse a ``schema.json``."""
    what, verified = "a schema.json of the release", is_released(digest(data))
    schema = Schema(path, parse_json(data, list[Service], path, what, verified=verified))
    check_distinct(schema)
    return schema


def check_distinct(schema: Schema) -> None:
    """Refuse a name that two services, or two slots or intents of a service, share."""
    _check_names(schema, "service", schema.service_names())
    for name in schema.service_names():
        if "/" in name:  # Frame ids are DIALOGUE/TURN/SERVICE.
            raise SgdxError(f"{schema.path}: service {name}: found a '/', expected a name without")
    for service in schema.services:
        where = f"service {service.service_name}"
        _check_names(schema, f"{where}: slot", [slot.name for slot in service.slots])
        _check_names(schema, f"{where}: intent", [intent.name for intent in service.intents])


def _check_names(schema: Schema, what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SgdxError(f"{schema.path}: {what} {twice[0]} appears twice, expected distinct names")


def reworded(
    service: Service, name: str, description: str, slots: Variant, intents: Variant
) -> Service:
    """A service in other words."""
    new = {old: slot_name for old, (slot_name, _) in slots.items()}
    return Service(
        name,
        description,
        [Slot(*slots[s.name], s.is_categorical, s.possible_values) for s in service.slots],
        [
            Intent(
                *intents[intent.name],
                intent.is_transactional,
                [new.get(slot, slot) for slot in intent.required_slots],
                {new.get(slot, slot): value for slot, value in intent.optional_slots.items()},
                [new.get(slot, slot) for slot in intent.result_slots],
            )
            for intent in service.intents
        ],
    )


def check_aligned(original: Schema, variant: Schema) -> None:
    """Raise ``SgdxError`` unless ``variant`` is ``original`` in other words."""
    shapes = zip(_shape(variant), _shape(original), strict=False)
    for (record, what, value), (_, _, expected) in shapes:
        if value != expected:
            raise SgdxError(
                f"{variant.path}: {record}: {what} is {value!r}, expected {expected!r}"
                f" as in {original.path}"
            )


def check_variant(original: Schema, variant: Schema, expected: str) -> None:
    """Raise ``SgdxError`` where a schema of SGD-X is another variant's than ``expected``."""
    # SGD-X names the services of v2 as the original ones with the digit 2 behind them.
    for old, new in zip(original.services, variant.services):
        number = new.service_name.removeprefix(old.service_name)
        if number != new.service_name and f"v{number}" in VARIANTS and f"v{number}" != expected:
            raise SgdxError(
                f"{variant.path}: service {new.service_name}: is of v{number}, expected {expected}"
            )


def _shape(schema: Schema) -> Iterator[tuple[str, str, object]]:
    """What other words must not change, as (record, property, value)."""
    # Lengths come before items, so that schemas of different lengths differ there.
    yield "schema", "number of services", len(schema.services)
    for service in schema.services:
        record = f"service {service.service_name}"
        yield record, "number of slots", len(service.slots)
        yield record, "number of intents", len(service.intents)
        for slot in service.slots:
            yield f"{record}, slot {slot.name}", "is_categorical", slot.is_categorical
            yield f"{record}, slot {slot.name}", "possible_values", slot.possible_values
        for intent in service.intents:
            element = f"{record}, intent {intent.name}"
            yield element, "is_transactional", intent.is_transactional
            yield element, "slots by their positions in the service", _positions(service, intent)


def _positions(service: Service, intent: Intent) -> dict[str, object]:
    """An intent's slots as positions in the service; slots that the service lacks, by name."""
    index = {slot.name: i for i, slot in enumerate(service.slots)}
    optional = {index.get(name, name): value for name, value in intent.optional_slots.items()}
    return {
        "required": [index.get(name, name) for name in intent.required_slots],
        "optional": optional,
        "result": [index.get(name, name) for name in intent.result_slots],
    }
