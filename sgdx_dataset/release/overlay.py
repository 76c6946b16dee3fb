"""Overlays: back-translated schemas, stored as nothing but what the translation changed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..io.errors import SgdxError
from ..io.json import parse_json
from ..schema import Intent, Service, Slot
from .schema import Schema, Wording, check_distinct, reworded


class TranslatedText(msgspec.Struct, forbid_unknown_fields=True):
    """A name or description in the pivot language, and its translation back to English."""

    pivot: str
    text: str


class ElementOverlay(msgspec.Struct, forbid_unknown_fields=True):
    """The texts of a slot or intent that the translation changed."""

    name: TranslatedText | None = None
    description: TranslatedText | None = None


class ServiceOverlay(msgspec.Struct, forbid_unknown_fields=True):
    """The texts of a service that changed; slots and intents go by their original names."""

    description: TranslatedText | None = None
    slots: dict[str, ElementOverlay] = {}
    intents: dict[str, ElementOverlay] = {}


class Overlay(msgspec.Struct):
    """The changes of one pivot language, by the services' names, which never change."""

    path: str
    services: dict[str, ServiceOverlay]


def is_overlay(data: bytes) -> bool:
    """Whether a file of changes is an overlay: one with texts in a pivot language."""
    try:
        services = msgspec.json.decode(data, type=dict[str, ServiceOverlay])
    except (ValueError, RecursionError):
        return False
    elements = [e for s in services.values() for e in (*s.slots.values(), *s.intents.values())]
    texts = [text for element in elements for text in (element.name, element.description)]
    return any([*texts, *(service.description for service in services.values())])


def read_overlay(data: bytes, path: str) -> Overlay:
    """Parse an overlay file."""
    return Overlay(path, parse_json(data, dict[str, ServiceOverlay], path, "an overlay"))


def apply_overlay(schema: Schema, overlay: Overlay) -> Schema:
    """Put the overlay's texts in place of the original ones."""
    unknown = overlay.services.keys() - set(schema.service_names())
    if unknown:
        raise SgdxError(f"{overlay.path}: service {min(unknown)} is not in {schema.path}")
    services = [
        _translated(service, overlay.services.get(service.service_name, ServiceOverlay()), overlay)
        for service in schema.services
    ]
    overlaid = Schema(f"{overlay.path} over {schema.path}", services)
    check_distinct(overlaid)
    return overlaid


def _translated(service: Service, changes: ServiceOverlay, overlay: Overlay) -> Service:
    where = f"{overlay.path}: service {service.service_name}"
    return reworded(
        service,
        service.service_name,
        changes.description.text if changes.description else service.description,
        _wording(f"{where}: slot", service.slots, changes.slots),
        _wording(f"{where}: intent", service.intents, changes.intents),
    )


def _wording(
    record: str, elements: Sequence[Slot | Intent], changes: dict[str, ElementOverlay]
) -> Wording:
    """The names and descriptions of slots or intents after the changes."""
    names = [element.name for element in elements]
    if unknown := changes.keys() - set(names):
        raise SgdxError(f"{record} {min(unknown)} is not in its schema, expected one of {names}")
    wording = {}
    for element in elements:
        change = changes.get(element.name, ElementOverlay())
        name = change.name.text if change.name else element.name
        description = change.description.text if change.description else element.description
        wording[element.name] = name, description
    return wording
