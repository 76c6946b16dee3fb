"""The schema of a service: its slots and its intents, in words, and what each slot may hold.

It is written in two forms. A release's ``schema.json`` is a list of services, which
``release.schema.read_schema`` reads. Rows have a service in their column ``schema`` or ``schemas``,
which ``read_service`` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

NONE_INTENT = "NONE"  # the active intent where the user wants nothing of the service
DONTCARE = "dontcare"  # the value of a slot where the user accepts any value


class Slot(msgspec.Struct, forbid_unknown_fields=True):
    """A slot of a service.

    Attributes:
        name: Name of the slot.
        description: What the slot means, in words.
        is_categorical: Whether the slot takes one of ``possible_values``. Other slots take any
            text, most often a span of an utterance.
        possible_values: The values of a categorical slot; of other slots, perhaps some examples.
    """

    name: str
    description: str
    is_categorical: bool
    possible_values: list[str]

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
    """An intent of a service.

    Attributes:
        name: Name of the intent.
        description: What the intent does, in words.
        is_transactional: Whether its call changes something, as a reservation does and a search
            does not.
        required_slots: Names of the slots that have to have a value before the call.
        optional_slots: Default values of the slots that may have a value, by the slots' names.
        result_slots: Names of the slots that the call's results have.
    """

    name: str
    description: str
    is_transactional: bool
    required_slots: list[str]
    optional_slots: dict[str, str]
    result_slots: list[str]


class Service(msgspec.Struct, forbid_unknown_fields=True, eq=False, dict=True):
    """The schema of a service under one variant.

    Services are compared by identity, so that texts made from one can be cached by it.

    Attributes:
        service_name: Name of the service.
        description: What the service does, in words.
        slots: The slots, in the schema's order.
        intents: The intents, in the schema's order.
    """

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

    def slot(self, name: str) -> Slot:
        """The slot of a name; ``KeyError`` where the service has none."""
        return self.slots_by_name[name]

    @cached_property
    def tracked(self) -> frozenset[str]:
        """Names of the slots that an intent requires or has as optional.

        Only these have values in a dialogue state. Other slots occur in results alone: users ask
        for them.
        """
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
    """Read a service as rows have it: ``schema`` of a frame row, an entry of a row's ``schemas``.

    Args:
        schema: The service, with its optional slots as ``{"slot": ..., "value": ...}``. The fields
            ``original_name`` and ``seen`` are not read.
    """
    intents = [
        {**intent, "optional_slots": {x["slot"]: x["value"] for x in intent["optional_slots"]}}
        for intent in schema["intents"]
    ]
    fields = {name: schema[name] for name in ("service_name", "description", "slots")}
    return msgspec.convert({**fields, "intents": intents}, Service)
