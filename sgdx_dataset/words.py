"""Schemas in files, and schemas in other words.

A variant of a schema has its services, slots and intents in the same order under other names and
descriptions; nothing else may differ. It comes as a ``schema.json``, or as a file of new words, by
the original names of services, slots and intents::

    {"Weather_1": {"description": "Forecasts",
                   "slots": {"city": "town",
                             "date": {"name": "day", "description": "Day of the forecast"}},
                   "intents": {"GetWeather": "FindForecast"}}}

An overlay is such a file of what a translation to another language and back changed in the train
schemas. Each of its texts is a pair ``{"pivot": "Wetter", "text": "weather"}``. The slots that an
intent requires, takes or gives follow by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from .configs import CONTROLS, VARIANTS
from .io.errors import SgdxError
from .io.json import parse_json
from .schema import NONE_INTENT, Intent, Service, Slot

NewNames = Mapping[str, tuple[str, str]]  # new name and description, by the original name


# What ``control1`` to ``control5`` make of a description: other marks, and the same meaning.
_EDITS: tuple[Callable[[str], str], ...] = (
    lambda text: text[:-1] if text.endswith(".") else f"{text}.",
    str.lower,
    "The {}".format,
    "{} (value)".format,
    lambda text: text.replace(" ", "  "),
)


def edited(text: str, variant: str) -> str:
    """A description under a control; under a repeat, and where it is blank, as it is."""
    is_control = variant in CONTROLS and bool(text.strip())
    return _EDITS[CONTROLS.index(variant)](text) if is_control else text


def in_same_words(services: Sequence[Service], variant: str) -> list[Service]:
    """The original services under a control or a repeat."""

    def edit(element: Any, **parts: Any) -> Any:
        text = edited(element.description, variant)
        return msgspec.structs.replace(element, description=text, **parts)

    return [
        edit(of, slots=[*map(edit, of.slots)], intents=[*map(edit, of.intents)]) for of in services
    ]


def read_schema(data: bytes, path: str) -> list[Service]:
    """Parse a ``schema.json``."""
    services = parse_json(data, list[Service], path, "a schema.json of the release")
    check_names(services, path)
    return services


def check_names(services: Sequence[Service], path: str) -> None:
    """Refuse a name that two services, or two slots or intents of a service, share."""
    names = {"service": [service.service_name for service in services]}
    for service in services:
        where = f"service {service.service_name}"
        if "/" in service.service_name:  # Frame ids are DIALOGUE/TURN/SERVICE.
            raise SgdxError(f"{path}: {where}: found a '/', expected a name without")
        names[f"{where}: slot"] = [slot.name for slot in service.slots]
        names[f"{where}: intent"] = [intent.name for intent in service.intents]
    for what, listed in names.items():
        if twice := sorted(name for name, count in Counter(listed).items() if count > 1):
            raise SgdxError(f"{path}: {what} {twice[0]} appears twice, expected distinct names")


def check_variant(
    original: Sequence[Service], services: Sequence[Service], variant: str, paths: tuple[str, str]
) -> None:
    """Refuse what is not ``original`` in other words; ``paths`` are of the original and of it."""

    def check(record: str, what: str, found: object, expected: object) -> None:
        if found != expected:
            other = f"expected {expected!r} as in {paths[0]}"
            raise SgdxError(f"{paths[1]}: {record}: {what} is {found!r}, {other}")

    check("schema", "number of services", len(services), len(original))
    for old, new in zip(original, services):
        record = f"service {new.service_name}"
        check(record, "number of slots", len(new.slots), len(old.slots))
        check(record, "number of intents", len(new.intents), len(old.intents))
        slots = {o.name: (n.name, n.description) for o, n in zip(old.slots, new.slots)}
        intents = {o.name: (n.name, n.description) for o, n in zip(old.intents, new.intents)}
        expected = reworded(old, new.service_name, new.description, slots, intents)
        for element, other in zip(new.elements, expected.elements):
            place = f"{record}, {type(element).__name__.lower()} {element.name}"
            for field in element.__struct_fields__:
                check(place, field, getattr(element, field), getattr(other, field))
        # SGD-X names the services of v2 as the original ones with the digit 2 behind them.
        number = new.service_name.removeprefix(old.service_name)
        named = f"v{number}" if number != new.service_name else ""
        if variant in VARIANTS and named in VARIANTS and named != variant:
            found = f"service {new.service_name}: is of {named}"
            raise SgdxError(f"{paths[1]}: {found}, expected {variant}")


def reworded(
    service: Service, name: str, description: str, slots: NewNames, intents: NewNames
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


NewWords = dict[str, ServiceWords]  # what changes, by service


def is_overlay(words: NewWords) -> bool:
    """Whether there are texts in a pivot language."""
    return any(
        isinstance(text, TranslatedText)
        for service in words.values()
        for element in (service, *service.slots.values(), *service.intents.values())
        for text in (element.name, element.description)
    )


def read_words(data: bytes, path: str) -> NewWords:
    """Parse a file of new words."""
    services = {}
    for name, value in parse_json(data, dict[str, Any], path, "a file of new words").items():
        record = f"{path}: service {name}"
        service: ServiceWords = _converted(value, ServiceWords, record)
        for kind, entries in (("slot", service.slots), ("intent", service.intents)):
            for element, entry in entries.items():
                new = {"name": entry} if isinstance(entry, str) else entry
                entries[element] = _converted(new, ElementWords, f"{record}: {kind} {element}")
        services[name] = service
    return services


def _converted(value: Any, kind: type[Any], record: str) -> Any:
    try:
        words = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{record}: {error}") from None
    name = _text(words.name, "old")
    if not name.strip() or name == NONE_INTENT:
        raise SgdxError(f"{record}: name is {name!r}, expected words other than {NONE_INTENT}")
    return words


def _text(new: Text, old: str) -> str:
    if new is None:
        return old
    return new if isinstance(new, str) else new.text


def apply_words(
    words: NewWords, schemas: Mapping[str, Sequence[Service]], path: str
) -> dict[str, list[Service]]:
    """The schemas, by split, in other words; services without new words stay as they are."""
    known = {service.service_name for of_split in schemas.values() for service in of_split}
    _check_known(f"{path}: service", words, known, "the source's schemas")
    made: dict[str, list[Service]] = {}
    for split, services in schemas.items():
        made[split] = []
        for service in services:
            record = f"{path}: service {service.service_name}"
            new = words.get(service.service_name, ServiceWords())
            name = _text(new.name, service.service_name)
            description = _text(new.description, service.description)
            slots = _new_names(service.slots, new.slots, f"{record}: slot")
            intents = _new_names(service.intents, new.intents, f"{record}: intent")
            made[split].append(reworded(service, name, description, slots, intents))
        check_names(made[split], path)
    return made


def _new_names(
    elements: Sequence[Slot | Intent], changes: Mapping[str, ElementWords], record: str
) -> NewNames:
    _check_known(record, changes, [element.name for element in elements], "its schema")
    names = {}
    for element in elements:
        new = changes.get(element.name, ElementWords())
        names[element.name] = (
            _text(new.name, element.name),
            _text(new.description, element.description),
        )
    return names


def _check_known(record: str, names: Iterable[str], known: Iterable[str], where: str) -> None:
    if unknown := sorted({*names} - {*known}):
        expected = f"expected one of {', '.join(sorted(known))}"
        raise SgdxError(f"{record} {unknown[0]} is not in {where}, {expected}")
