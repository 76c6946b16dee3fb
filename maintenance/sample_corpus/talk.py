"""How people and the system talk about a service (``talk/*.toml``)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from .wording import Schema, load_wordings, schema

Row = dict[str, str]  # slot -> canonical value

FOLDER = Path(__file__).parent / "talk"
SHARED = tomllib.loads((FOLDER / "shared.toml").read_text(encoding="utf-8"))


class Value(NamedTuple):
    """A slot's value: normal form for service calls, and as it was said."""

    canonical: str
    spoken: str


@dataclass(frozen=True)
class Talk:
    """One service: its schema, the phrases for its slots and intents, and its data base."""

    schema: Schema
    slots: dict[str, Any]
    intents: dict[str, Any]
    items: list[Row]

    @property
    def name(self) -> str:
        return str(self.schema["service_name"])

    def intent(self, name: str) -> Schema:
        return next(i for i in self.schema["intents"] if i["name"] == name)

    def intent_names(self, transactional: bool) -> list[str]:
        intents = self.schema["intents"]
        return [i["name"] for i in intents if i["is_transactional"] is transactional]

    def is_categorical(self, slot: str) -> bool:
        return bool(self._slot(slot)["is_categorical"])

    def state_slots(self) -> set[str]:
        """Slots that some intent takes: only these occur in the dialogue state."""
        takes = (i["required_slots"] + list(i["optional_slots"]) for i in self.schema["intents"])
        return {slot for slots in takes for slot in slots}

    def pool(self, slot: str) -> list[str]:
        """Canonical values that a user may ask for."""
        if self.is_categorical(slot):
            return list(self._slot(slot)["possible_values"])
        if forms := self._forms(slot):
            return list(forms)
        return list(dict.fromkeys(item[slot] for item in self.items if slot in item))

    def user_value(self, rng: Random, slot: str, canonical: str) -> Value:
        forms = self._forms(slot).get(canonical) or [self._format(slot, canonical)]
        return Value(canonical, rng.choice(forms))

    def system_value(self, slot: str, canonical: str) -> Value:
        """The system always uses the first form, and people like their own."""
        forms = self._forms(slot).get(canonical) or [self._format(slot, canonical)]
        return Value(canonical, forms[0])

    def phrases(self, slot: str, kind: str, canonical: str) -> list[str]:
        """Templates of one kind for a slot's value; the value's place is ``{slot}``."""
        templates = self.slots[slot][kind]
        templates = templates[canonical] if isinstance(templates, dict) else templates
        return [phrase.replace("{v}", "{" + slot + "}") for phrase in templates]

    def matches(self, constraints: Mapping[str, str]) -> list[Row]:
        """Rows that agree with every constraint on a column they have."""
        bounds = {s: v for s, v in constraints.items() if v != "dontcare"}
        return [row for row in self.items if all(row.get(s, v) == v for s, v in bounds.items())]

    def _slot(self, slot: str) -> Schema:
        return next(s for s in self.schema["slots"] if s["name"] == slot)

    def _forms(self, slot: str) -> dict[str, list[str]]:
        if self.is_categorical(slot):
            return {}
        slot_talk = self.slots[slot]
        forms: dict[str, list[str]] = slot_talk.get("values") or {}
        return forms or dict(SHARED["kinds"].get(slot_talk.get("kind"), {}))

    def _format(self, slot: str, canonical: str) -> str:
        return str(self.slots[slot].get("format", "{}")).format(canonical)


def load_talks() -> dict[str, Talk]:
    """All services that can be talked about, by original name."""
    return {name: _load(schema(wordings)) for name, wordings in load_wordings().items()}


def _load(original: Schema) -> Talk:
    file = FOLDER / f"{original['service_name'].lower()}.toml"
    parsed = tomllib.loads(file.read_text(encoding="utf-8"))
    return Talk(original, parsed["slots"], parsed["intents"], parsed["items"])
