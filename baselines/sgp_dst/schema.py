"""A service's schema as the tracker asks of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

Row = dict[str, Any]
NULL, DONTCARE = "NONE", "dontcare"


@dataclass(frozen=True, eq=False)
class Schema:
    """A service under one variant; made once, and itself, not what it says, is compared."""

    service: str
    description: str
    slots: dict[str, Row]
    intents: dict[str, Row]

    @cached_property
    def tracked(self) -> frozenset[str]:
        """Slots that some intent requires or has among its optional ones."""
        return frozenset(
            slot for intent in self.intents for slot in (*self.required(intent), *self.free(intent))
        )

    def required(self, intent: str) -> list[str]:
        """The slots that an intent requires; none for ``NONE``."""
        return list(self.intents[intent]["required_slots"]) if intent in self.intents else []

    def free(self, intent: str) -> list[str]:
        """An intent's optional slots."""
        given = self.intents[intent]["optional_slots"] if intent in self.intents else []
        return [entry["slot"] for entry in given]

    def is_categorical(self, slot: str) -> bool:
        """Whether a slot has one of its values, else a span of what was said."""
        return bool(self.slots[slot]["is_categorical"])

    def values(self, slot: str) -> list[str]:
        """A categorical slot's values; none of others, whatever they have as examples."""
        return list(self.slots[slot]["possible_values"]) if self.is_categorical(slot) else []

    def options(self, slot: str) -> list[str | None]:
        """What the value of a slot is chosen from: null, ``dontcare``, its values."""
        return [None, DONTCARE, *self.values(slot)]

    def admits(self, slot: str, value: str) -> bool:
        """Whether a slot can have a value."""
        return not self.is_categorical(slot) or value in (*self.values(slot), DONTCARE)


def read_schema(row: Row) -> Schema:
    """The schema of a frame row."""
    return Schema(
        row["service_name"],
        row["description"],
        {slot["name"]: slot for slot in row["slots"]},
        {intent["name"]: intent for intent in row["intents"]},
    )
