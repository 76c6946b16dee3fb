"""A turn's utterance while it is put together, with its actions and spans by service."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .talk import Talk, Value

Action = dict[str, Any]


@dataclass
class Draft:
    """The part of the turn that goes into the frame of one service."""

    actions: list[Action] = field(default_factory=list)
    spans: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Line:
    """A growing utterance; services come in the order in which they are first spoken of."""

    text: str = ""
    drafts: dict[str, Draft] = field(default_factory=dict)

    def draft(self, talk: Talk) -> Draft:
        return self.drafts.setdefault(talk.name, Draft())

    def act(self, talk: Talk, act: str, slot: str = "", *values: Value) -> None:
        action = {
            "act": act,
            "canonical_values": [value.canonical for value in values],
            "slot": slot,
            "values": [value.spoken for value in values],
        }
        self.draft(talk).actions.append(action)

    def say(self, talk: Talk, template: str, values: Mapping[str, Value] | None = None) -> None:
        """Append a sentence; ``{slot}`` becomes the spoken value and, if free-form, a span."""
        self.text += " " if self.text else ""
        for index, piece in enumerate(re.split(r"\{(\w+)\}", template)):
            if index % 2 == 0:
                self.text += piece
            else:
                self._say_value(talk, piece, (values or {})[piece])

    def _say_value(self, talk: Talk, slot: str, value: Value) -> None:
        start = len(self.text)
        self.text += value.spoken
        if not talk.is_categorical(slot):
            span = {"exclusive_end": len(self.text), "slot": slot, "start": start}
            self.draft(talk).spans.append(span)
