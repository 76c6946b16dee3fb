"""The schema of a service: its slots and its intents, in words, and what each slot may hold.

It is written in two forms. A release's ``schema.json`` is a list of services, which
``release.schema.read_schema`` reads. Rows have a service in their column ``schema`` or ``schemas``,
which ``read_service`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

NONE_INTENT = "NONE"  # the active intent where the user wants nothing of the service
DONTCARE = "dontcare"  # the value of a slot where the user accepts any value


class Slot(msgspec.Struct, forbid_unknown_fields=True):
    """A slot of a service."""

    name: str
    description: str
    is_categorical: bool  # else it takes any text, most often a span of an utterance
    possible_values: list[str] = []  # of a slot that is not categorical, perhaps some examples

    @property
    def values(self) -> list[str]:
        """The possible values of a categorical slot; none for others, which may list examples."""
        return self.possible_values if self.is_categorical else []

    @property
    def is_boolean(self) -> bool:
        """Whether the slot is categorical with the possible values ``True`` and ``False``."""
        return set(self.values) == {"True", "False"}

    @property
    def options(self) -> list[str | None]:
        """The classes for the slot's value: None (no value), ``dontcare``, the possible values."""
        return [None, DONTCARE, *self.values]

    def admits(self, value: str) -> bool:
        """Whether the slot can have a value."""
        return not self.is_categorical or value == DONTCARE or value in self.possible_values


class Intent(msgspec.Struct, forbid_unknown_fields=True):
    """An intent of a service."""

    name: str
    description: str
    is_transactional: bool  # its call changes something, as a reservation does
    required_slots: list[str]  # have to have a value before the call
    optional_slots: dict[str, str]  # default values by name
    result_slots: list[str] = []  # MultiWOZ 2.2 has none


class Service(msgspec.Struct, forbid_unknown_fields=True, eq=False, dict=True):
    """The schema of a service; compared by identity, so that texts made from it can be cached."""

    service_name: str
    description: str
    slots: list[Slot]
    intents: list[Intent]

    @cached_property
    def slots_by_name(self) -> dict[str, Slot]:
        """The slots by their names, in the schema's order."""
        return {slot.name: slot for slot in self.slots}

    @cached_property
    def intents_by_name(self) -> dict[str, Intent]:
        """The intents by their names, in the schema's order."""
        return {intent.name: intent for intent in self.intents}

    @property
    def elements(self) -> list[Slot | Intent]:
        """The slots, and then the intents."""
        return [*self.slots, *self.intents]

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of the service, its slots and its intents."""
        return [self.description, *(element.description for element in self.elements)]

    def slot(self, name: str) -> Slot:
        """The slot of a name; ``KeyError`` where the service has none."""
        return self.slots_by_name[name]

    @cached_property
    def tracked(self) -> frozenset[str]:
        """The slots of intents, which alone have values in states; others occur in results."""
        return frozenset(
            slot
            for intent in self.intents
            for slot in (*intent.required_slots, *intent.optional_slots)
        )

    def required(self, intent: str) -> list[str]:
        """Names of the slots that an intent requires; none for ``NONE``."""
        intents = self.intents_by_name
        return intents[intent].required_slots if intent in intents else []

    def optional(self, intent: str) -> list[str]:
        """Names of the optional slots of an intent; none for ``NONE``."""
        intents = self.intents_by_name
        return list(intents[intent].optional_slots) if intent in intents else []


def read_service(schema: Mapping[str, Any]) -> Service:
    """Read a service as rows have it, in ``schema`` or ``schemas``."""
    intents = [
        {**intent, "optional_slots": {x["slot"]: x["value"] for x in intent["optional_slots"]}}
        for intent in schema["intents"]
    ]
    fields = {name: schema[name] for name in ("service_name", "description", "slots")}
    return msgspec.convert({**fields, "intents": intents}, Service)


def allowed_value(text: str, values: Sequence[str]) -> str | None:
    """The one of ``values`` that equals ``text``, if need be up to case and punctuation."""
    if text in values:
        return text
    for normalise in (str.casefold, _words):
        matches = [v for v in values if normalise(v) == normalise(text)]
        if normalise(text) and len(matches) == 1:
            return matches[0]
    return None


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
