"""Back-translated schemas: overlays that hold only what the way there and back has changed."""

from __future__ import annotations

import msgspec

from .errors import SgdxError
from .schema import Intent, Schema, Service, Slot, check_distinct


class Text(msgspec.Struct, forbid_unknown_fields=True):
    """A name or description in the pivot language, and translated back from it."""

    pivot: str
    text: str


class Element(msgspec.Struct, forbid_unknown_fields=True):
    """A slot's or intent's changed texts."""

    name: Text | None = None
    description: Text | None = None


class ServiceOverlay(msgspec.Struct, forbid_unknown_fields=True):
    """A service's changed texts, by the original names of its slots and intents."""

    description: Text | None = None
    slots: dict[str, Element] = {}
    intents: dict[str, Element] = {}


class Overlay(msgspec.Struct):
    """One pivot language's changes, by original service; a service's own name never changes."""

    path: str
    services: dict[str, ServiceOverlay]


def read_overlay(data: bytes, path: str) -> Overlay:
    """Parse an overlay file; ``SgdxError`` when it is malformed."""
    try:
        return Overlay(path, msgspec.json.decode(data, type=dict[str, ServiceOverlay]))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: not an overlay: {error}") from None


def apply_overlay(schema: Schema, overlay: Overlay) -> Schema:
    """The schema with the overlay's texts in place of the original ones.

    Raises:
        SgdxError: The overlay names what the schema lacks, or makes two names of a service equal.
    """
    unknown = overlay.services.keys() - set(schema.service_names())
    if unknown:
        raise SgdxError(f"{overlay.path}: service {min(unknown)} is not in {schema.path}")
    services = [
        _translated(service, overlay.services.get(service.service_name, ServiceOverlay()), overlay)
        for service in schema.services
    ]
    made = Schema(f"{overlay.path} over {schema.path}", services)
    check_distinct(made)
    return made


def _translated(service: Service, changes: ServiceOverlay, overlay: Overlay) -> Service:
    slot_name = _names(service, "slot", [s.name for s in service.slots], changes.slots, overlay)
    intents = [intent.name for intent in service.intents]
    intent_name = _names(service, "intent", intents, changes.intents, overlay)
    return Service(
        service.service_name,
        _text(changes.description, service.description),
        [
            Slot(
                slot_name[slot.name],
                _text(changes.slots.get(slot.name, Element()).description, slot.description),
                slot.is_categorical,
                slot.possible_values,
            )
            for slot in service.slots
        ],
        [
            Intent(
                intent_name[intent.name],
                _text(changes.intents.get(intent.name, Element()).description, intent.description),
                intent.is_transactional,
                [slot_name[slot] for slot in intent.required_slots],
                {slot_name[slot]: value for slot, value in intent.optional_slots.items()},
                [slot_name[slot] for slot in intent.result_slots],
            )
            for intent in service.intents
        ],
    )


def _names(
    service: Service, what: str, names: list[str], changes: dict[str, Element], overlay: Overlay
) -> dict[str, str]:
    """Old to new names."""
    unknown = changes.keys() - set(names)
    if unknown:
        record = f"service {service.service_name}: {what} {min(unknown)}"
        raise SgdxError(f"{overlay.path}: {record} is not in its schema, expected one of {names}")
    return {name: _text(changes.get(name, Element()).name, name) for name in names}


def _text(change: Text | None, original: str) -> str:
    return change.text if change else original
