"""Rewording files: a few new names and descriptions, from which a whole variant is made.

A file has only what changes, by the original names of services, slots and intents::

    {"Weather_1": {"description": "Forecasts",
                   "slots": {"city": "town",
                             "date": {"name": "day", "description": "Day of the forecast"}},
                   "intents": {"GetWeather": "FindForecast"}}}

The slots that an intent requires, takes or gives follow by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..io.errors import SgdxError
from ..io.json import parse_json
from ..schema import NONE_INTENT, Intent, Service, Slot
from .schema import Schema, Wording, check_distinct, reworded


class NewWords(msgspec.Struct, forbid_unknown_fields=True):
    """A new name and a new description of a slot or intent; None where the old one stays."""

    name: str | None = None
    description: str | None = None


class ServiceRewording(msgspec.Struct, forbid_unknown_fields=True):
    """What changes in a service; an entry that is a string is a new name."""

    name: str | None = None
    description: str | None = None
    slots: dict[str, Any] = {}
    intents: dict[str, Any] = {}


def read_rewording(data: bytes, path: str) -> dict[str, ServiceRewording]:
    """Parse a rewording file."""
    services = parse_json(data, dict[str, Any], path, "a rewording file")
    return {name: _service(value, f"{path}: service {name}") for name, value in services.items()}


def _service(value: Any, record: str) -> ServiceRewording:
    service: ServiceRewording = _converted(value, ServiceRewording, record)
    for kind, entries in (("slot", service.slots), ("intent", service.intents)):
        for name, entry in entries.items():
            where = f"{record}: {kind} {name}"
            words = (
                NewWords(entry) if isinstance(entry, str) else _converted(entry, NewWords, where)
            )
            _check_name(words.name, where)
            entries[name] = words
    _check_name(service.name, record)
    return service


def _converted(value: Any, kind: type[Any], record: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{record}: {error}") from None


def _check_name(name: str | None, record: str) -> None:
    if name is not None and (not name.strip() or name == NONE_INTENT):
        raise SgdxError(f"{record}: name is {name!r}, expected words other than {NONE_INTENT}")


def apply_rewording(
    schemas: Mapping[str, Schema], rewording: Mapping[str, ServiceRewording], path: str
) -> dict[str, Schema]:
    """Put new words into the schemas of all splits."""
    names = {name for schema in schemas.values() for name in schema.service_names()}
    if unknown := sorted(rewording.keys() - names):
        expected = f"expected one of {', '.join(sorted(names))}"
        raise SgdxError(f"{path}: service {unknown[0]} is not in the source's schemas, {expected}")
    reworded_schemas = {}
    for split, schema in schemas.items():
        services = [
            _reworded(service, rewording.get(service.service_name, ServiceRewording()), path)
            for service in schema.services
        ]
        reworded_schemas[split] = Schema(path, services)
        check_distinct(reworded_schemas[split])
    return reworded_schemas


def _reworded(service: Service, words: ServiceRewording, path: str) -> Service:
    record = f"{path}: service {service.service_name}"
    return reworded(
        service,
        words.name or service.service_name,
        service.description if words.description is None else words.description,
        _wording(f"{record}: slot", service.slots, words.slots),
        _wording(f"{record}: intent", service.intents, words.intents),
    )


def _wording(
    record: str, elements: Sequence[Slot | Intent], changes: Mapping[str, NewWords]
) -> Wording:
    """The names and descriptions of slots or intents after the changes."""
    names = [element.name for element in elements]
    if unknown := sorted(changes.keys() - set(names)):
        raise SgdxError(
            f"{record} {unknown[0]} is not in its schema, expected one of {', '.join(names)}"
        )
    wording = {}
    for element in elements:
        words = changes.get(element.name, NewWords())
        description = words.description
        text = element.description if description is None else description
        wording[element.name] = words.name or element.name, text
    return wording
