"""Rows: the system's turns, and the utterances that a generator predicts for them."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from sgdx_metric.errors import ScoreError
from sgdx_metric.rows import row_dicts
from sgdx_metric.variants import own_variants, schema_digest

# Acts whose slot `intent` is not a slot: its value is the name of an intent. A service may have a
# slot of that name too (Homes_2), so the act has to be looked at first.
INTENT_ACTS = ("OFFER_INTENT", "INFORM_INTENT")
Row = TypeVar("Row")


class Slot(msgspec.Struct, frozen=True):
    """A slot of a service's schema."""

    name: str
    description: str
    is_categorical: bool
    possible_values: list[str]

    @property
    def is_boolean(self) -> bool:
        """Whether the slot is true or false and has no other value."""
        return bool(self.possible_values) and {*self.possible_values} <= {"True", "False"}


class Intent(msgspec.Struct, frozen=True):
    """An intent of a service's schema."""

    name: str
    description: str


class Service(msgspec.Struct, frozen=True):
    """The part of a service's schema that this metric reads; it goes through `evaluate`."""

    service_name: str
    description: str
    slots: list[Slot]
    intents: list[Intent]


class Action(msgspec.Struct, frozen=True):
    """A dialogue action of the system: an act, perhaps with a slot and values as they are said."""

    service: str
    act: str
    slot: str
    values: list[str]
    # The normalised form of each value, or nothing.
    canonical_values: list[str] = []


class Turn(msgspec.Struct, frozen=True):
    """A turn of the system: what it has to say, and the gold utterance."""

    # `<dialogue_id>/<turn index>`, the same under every variant.
    turn_id: str
    variant: str
    # The service of the first frame, and whether it and its domain are in the train split.
    service: str
    seen: bool
    seen_domain: bool
    actions: list[Action]
    utterance: str
    # The schemas of the actions' services, at least what of them the actions name.
    schemas: list[Service]
    # The name of the intent whose call the turn reports, or "".
    intent: str = ""
    # The user's utterance before, or "".
    prompt: str = ""
    # The digest of the schemas, where the variant is the user's own.
    words: str | None = None

    @property
    def dialogue_id(self) -> str:
        """The dialogue that the turn is of."""
        return self.turn_id.rpartition("/")[0]

    def slot(self, action: Action) -> Slot | None:
        """The slot in the schema that an action is about; None where there is none."""
        if action.act in INTENT_ACTS:
            return None
        slots = (slot for schema in self._schemas_of(action) for slot in schema.slots)
        return next((slot for slot in slots if slot.name == action.slot), None)

    def intent_of(self, action: Action) -> Intent | None:
        """The intent that an action names, or whose call it reports; None where there is none."""
        name = self.intent
        if action.act in INTENT_ACTS:
            name = action.values[0] if action.values else ""
        intents = (intent for schema in self._schemas_of(action) for intent in schema.intents)
        return next((intent for intent in intents if intent.name == name), None)

    def _schemas_of(self, action: Action) -> Iterable[Service]:
        return (schema for schema in self.schemas if schema.service_name == action.service)


class Prediction(msgspec.Struct, frozen=True):
    """The utterance that a generator predicts for a turn, given the schemas of one variant."""

    turn_id: str
    variant: str
    utterance: str


def read_turn_rows(rows: Any) -> list[Turn]:
    """Read turn rows, with no more of the schemas than the actions name."""
    turns = []
    for i, row in enumerate(row_dicts(rows, Turn, "references")):
        turn = _convert(row, Turn, f"references[{i}]")
        if own_variants([turn.variant]) and turn.words is None:
            turn = msgspec.structs.replace(turn, words=words_digest(turn.schemas))
        turns.append(trimmed(turn))
    return turns


def read_prediction_rows(rows: Any) -> list[Prediction]:
    """Read prediction rows."""
    return [
        _convert(row, Prediction, f"predictions[{i}]")
        for i, row in enumerate(row_dicts(rows, Prediction, "predictions"))
    ]


def words_digest(schemas: Sequence[Service]) -> str:
    """The digest of the words of some services, which marks a variant of one's own."""
    digests = (schema_digest(msgspec.to_builtins(schema)) for schema in schemas)
    return "+".join(sorted(digests))


def trimmed(turn: Turn) -> Turn:
    """The turn with no more slots and intents in its schemas than its actions name."""
    slots = {id(slot) for action in turn.actions if (slot := turn.slot(action))}
    intents = {id(intent) for action in turn.actions if (intent := turn.intent_of(action))}
    schemas = [
        Service(
            schema.service_name,
            schema.description,
            [slot for slot in schema.slots if id(slot) in slots],
            [intent for intent in schema.intents if id(intent) in intents],
        )
        for schema in turn.schemas
    ]
    return msgspec.structs.replace(turn, schemas=schemas)


def _convert(row: Any, kind: type[Row], where: str) -> Row:
    try:
        converted = msgspec.convert(row, kind)
        msgspec.json.encode(converted)  # It refuses a lone surrogate, which is no text.
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        raise ScoreError(f"{where}: {error}") from None
    return converted
