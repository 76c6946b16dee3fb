"""Files of new words for schemas, by the original names of services, slots and intents.

A rewording file has a few new names and descriptions, which make a variant of every split::

    {"Weather_1": {"description": "Forecasts",
                   "slots": {"city": "town",
                             "date": {"name": "day", "description": "Day of the forecast"}},
                   "intents": {"GetWeather": "FindForecast"}}}

An overlay has what a translation to a pivot language and back changed in the train schemas. Each of
its texts is a pair ``{"pivot": "Wetter", "text": "weather"}``.

The slots that an intent requires, takes or gives follow by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..io.errors import SgdxError
from ..io.json import parse_json
from ..schema import NONE_INTENT, Intent, Service, Slot
from .schema import Schema, Variant, check_distinct, reworded


class TranslatedText(msgspec.Struct, forbid_unknown_fields=True):
    """A name or description in the pivot language, and its translation back to English."""

    pivot: str
    text: str


Text = str | TranslatedText | None  # None where the old text stays


class ElementWords(msgspec.Struct, forbid_unknown_fields=True):
    """What changes in a slot or intent."""

    name: Text = None
    description: Text = None


class ServiceWords(ElementWords, forbid_unknown_fields=True):
    """What changes in a service; the entries of ``slots`` and ``intents`` are ``ElementWords``."""

    slots: dict[str, Any] = {}
    intents: dict[str, Any] = {}


class NewWords(msgspec.Struct):
    """What changes, by service; ``path`` is for error messages."""

    path: str
    services: dict[str, ServiceWords]

    @property
    def is_overlay(self) -> bool:
        """Whether there are texts in a pivot language."""
        return any(
            isinstance(text, TranslatedText)
            for service in self.services.values()
            for words in (service, *service.slots.values(), *service.intents.values())
            for text in (words.name, words.description)
        )


def read_words(data: bytes, path: str) -> NewWords:
    """Parse a file of new words."""
    services = parse_json(data, dict[str, Any], path, "a file of new words")
    return NewWords(path, {n: _service(v, f"{path}: service {n}") for n, v in services.items()})


def _service(value: Any, record: str) -> ServiceWords:
    service: ServiceWords = _converted(value, ServiceWords, record)
    for kind, entries in (("slot", service.slots), ("intent", service.intents)):
        for name, entry in entries.items():
            new = {"name": entry} if isinstance(entry, str) else entry
            entries[name] = _converted(new, ElementWords, f"{record}: {kind} {name}")
    return service


def _converted(value: Any, kind: type[Any], record: str) -> Any:
    try:
        words = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{record}: {error}") from None
    name = _text(words.name, "old")
    if not name.strip() or name == NONE_INTENT:
        raise SgdxError(f"{record}: name is {name!r}, expected words other than {NONE_INTENT}")
    return words


def apply_words(words: NewWords, schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """The schemas, by split, in other words; services without new words stay as they are."""
    names = {name for schema in schemas.values() for name in schema.service_names()}
    _check_known(f"{words.path}: service", words.services, sorted(names), "the source's schemas")
    reworded_schemas = {}
    for split, schema in schemas.items():
        services = [_reworded(service, words) for service in schema.services]
        reworded_schemas[split] = Schema(words.path, services)
        check_distinct(reworded_schemas[split])
    return reworded_schemas


def _reworded(service: Service, words: NewWords) -> Service:
    record = f"{words.path}: service {service.service_name}"
    new = words.services.get(service.service_name, ServiceWords())
    return reworded(
        service,
        _text(new.name, service.service_name),
        _text(new.description, service.description),
        _variant(f"{record}: slot", service.slots, new.slots),
        _variant(f"{record}: intent", service.intents, new.intents),
    )


def _variant(
    record: str, elements: Sequence[Slot | Intent], changes: Mapping[str, ElementWords]
) -> Variant:
    """The names and descriptions of slots or intents after the changes."""
    _check_known(record, changes, [element.name for element in elements], "its schema")
    variant = {}
    for element in elements:
        new = changes.get(element.name, ElementWords())
        texts = _text(new.name, element.name), _text(new.description, element.description)
        variant[element.name] = texts
    return variant


def _text(new: Text, old: str) -> str:
    if new is None:
        return old
    return new if isinstance(new, str) else new.text


def _check_known(record: str, names: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if unknown := sorted(names.keys() - set(known)):
        expected = f"expected one of {', '.join(known)}"
        raise SgdxError(f"{record} {unknown[0]} is not in {where}, {expected}")
