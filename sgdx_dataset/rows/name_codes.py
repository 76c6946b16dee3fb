"""Names of services, slots and intents as codes, which are the same in every variant.

Codes are positions in ``Schema.service_names()``, ``.slot_names()`` and ``.intent_names()``.
Renaming is then one ``take`` per column, of all keys at once: there is no moment at which an old
and a new name can be mistaken for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import pyarrow as pa
from msgspec.structs import asdict

from ..io.errors import SgdxError
from ..release.schema import Schema
from ..schema import NONE_INTENT
from .columns import BRIEF_SLOT, SERVICE

# Actions may have a slot that is no slot of the service: none, "count", or "intent". But a service
# may have a slot called "intent" (Homes_2 has one), which is renamed like any other slot. Only
# beside these acts does "intent" stand for the service's intents.
INTENT_ACTS = frozenset({"INFORM_INTENT", "OFFER_INTENT"})
FREE_SLOTS = ("", "count", "intent")


class _Codes(dict[str, int]):
    """Codes by name; looking up an unknown name raises ``SgdxError``."""

    def __init__(self, what: str, codes: Iterable[tuple[str, int]]) -> None:
        super().__init__(codes)
        self.what = what

    def __missing__(self, name: str) -> NoReturn:
        raise SgdxError(f"{name!r} is no {self.what}, expected one of {sorted(self)}")


class Coder:
    """The codes of the names of a schema, the original one, which the dialogues use."""

    def __init__(self, schema: Schema) -> None:
        names, slot_names = schema.service_names(), schema.slot_names()
        self.services = _Codes(f"service in {schema.path}", zip(names, range(len(names))))
        self.slots: list[_Codes] = []  # by the code of their service
        self.action_slots: list[_Codes] = []  # what an action may have as its slot, by service code
        self.intents: list[_Codes] = []  # those of a service and ``NONE``, by service code
        # The last is the code of an action's slot ``intent`` that stands for the intents.
        *free, self.intent_slot = range(len(slot_names), len(slot_names) + len(FREE_SLOTS))
        slot_code, intent_code = 0, 1  # intent 0 is NONE
        for service in schema.services:
            of_service = f"of service {service.service_name} in {schema.path}"
            own = [(slot.name, slot_code + i) for i, slot in enumerate(service.slots)]
            named = [(intent.name, intent_code + i) for i, intent in enumerate(service.intents)]
            self.slots.append(_Codes(f"slot {of_service}", own))
            self.action_slots.append(_Codes(f"slot {of_service}", [*zip(FREE_SLOTS, free), *own]))
            self.intents.append(_Codes(f"intent {of_service}", [(NONE_INTENT, 0), *named]))
            slot_code, intent_code = slot_code + len(own), intent_code + len(named)


@dataclass(frozen=True)
class Names:
    """The names that the codes stand for under a variant."""

    variant: str
    schema: Schema  # the split's schema under the variant
    original: Schema  # the split's original schema, which ``schema`` lines up with
    seen: set[str]  # original names of the services that the train split has

    @cached_property
    def services(self) -> pa.StringArray:
        """The services' names."""
        return pa.array(self.schema.service_names())

    @cached_property
    def slots(self) -> pa.StringArray:
        """The slots' names, and then those of ``FREE_SLOTS``."""
        return pa.array([*self.schema.slot_names(), *FREE_SLOTS])

    @cached_property
    def intents(self) -> pa.StringArray:
        """The intents' names."""
        return pa.array(self.schema.intent_names())

    @cached_property
    def are_seen(self) -> pa.BooleanArray:
        """Whether each service is in the train split."""
        return pa.array([name in self.seen for name in self.original.service_names()])

    @cached_property
    def schema_slots(self) -> pa.ListArray:
        """The slots of each service, with their names and kinds alone."""
        slots = [
            [{"name": slot.name, "is_categorical": slot.is_categorical} for slot in service.slots]
            for service in self.schema.services
        ]
        return pa.array(slots, pa.list_(BRIEF_SLOT))

    @cached_property
    def schemas(self) -> pa.StructArray:
        """The services as rows have them."""
        rows = [
            {
                **asdict(service),
                "original_name": source.service_name,
                "seen": source.service_name in self.seen,
                "slots": [asdict(slot) for slot in service.slots],
                "intents": [
                    {**asdict(intent), "optional_slots": _pairs(intent.optional_slots)}
                    for intent in service.intents
                ],
            }
            for service, source in zip(self.schema.services, self.original.services, strict=True)
        ]
        return pa.array(rows, SERVICE)


def _pairs(mapping: dict[str, str]) -> list[dict[str, str]]:
    return [{"slot": slot, "value": value} for slot, value in mapping.items()]
