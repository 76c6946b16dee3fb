"""Rows: the system's turns, and the utterances that a generator predicts for them."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from sgdx_dataset.schema import Intent, Service, Slot, read_service
from sgdx_metric.errors import ScoreError
from sgdx_metric.rows import given_rows, row_dicts
from sgdx_metric.variants import own_variants, schema_digest

# Acts whose slot `intent` is not a slot: its value is the name of an intent. A service may have a
# slot of that name too (Homes_2), so the act has to be looked at first.
INTENT_ACTS = ("OFFER_INTENT", "INFORM_INTENT")
Row = TypeVar("Row")


class Action(msgspec.Struct, frozen=True):
    """A dialogue action of the system: an act, perhaps with a slot and values as they are said."""

    service: str
    act: str
    slot: str
    values: list[str]
    canonical_values: list[str] = []  # the normalised form of each value, or nothing


class Turn(msgspec.Struct, frozen=True):
    """A turn of the system: what it has to say, and the gold utterance."""

    turn_id: str  # `<dialogue_id>/<turn index>`, the same under every variant
    variant: str
    service: str  # of the first frame; whether it and its domain are in the train split:
    seen: bool
    seen_domain: bool
    actions: list[Action]
    utterance: str
    schemas: list[Service]  # of the actions' services, at least what of them the actions name
    intent: str = ""  # whose call the turn reports
    prompt: str = ""  # what the user said before
    words: str | None = None  # the digest of the schemas, where the variant is the user's own

    @property
    def dialogue_id(self) -> str:
        """The dialogue that the turn is of."""
        return self.turn_id.rpartition("/")[0]

    def slot(self, action: Action) -> Slot | None:
        """The slot in the schema that an action is about; None where there is none."""
        service = None if action.act in INTENT_ACTS else self._service_of(action)
        return service.slots_by_name.get(action.slot) if service else None

    def intent_of(self, action: Action) -> Intent | None:
        """The intent that an action names, or whose call it reports; None where there is none."""
        names = action.values if action.act in INTENT_ACTS else [self.intent]
        service = self._service_of(action)
        return service.intents_by_name.get(names[0]) if service and names else None

    def _service_of(self, action: Action) -> Service | None:
        return next((s for s in self.schemas if s.service_name == action.service), None)


class Prediction(msgspec.Struct, frozen=True):
    """The utterance that a generator predicts for a turn, given the schemas of one variant."""

    turn_id: str
    variant: str
    utterance: str


def read_turn(row: Any, where: str) -> Turn:
    """Read a turn row, with no more of the schemas than the actions name."""

    def convert(row: Any) -> Turn:
        return msgspec.convert({**row, "schemas": [*map(read_service, row["schemas"])]}, Turn)

    turn = _checked(convert, row, where)
    if own_variants([turn.variant]) and turn.words is None:
        digests = (schema_digest(msgspec.to_builtins(schema)) for schema in turn.schemas)
        turn = msgspec.structs.replace(turn, words="+".join(sorted(digests)))
    return trimmed(turn)


def trimmed(turn: Turn) -> Turn:
    """The turn with no more slots and intents in its schemas than its actions name."""
    named = {id(of(action)) for action in turn.actions for of in (turn.slot, turn.intent_of)}
    schemas = [
        msgspec.structs.replace(
            schema,
            slots=[slot for slot in schema.slots if id(slot) in named],
            intents=[intent for intent in schema.intents if id(intent) in named],
        )
        for schema in turn.schemas
    ]
    return msgspec.structs.replace(turn, schemas=schemas)


def read_turn_rows(rows: Any) -> list[Turn]:
    """Read turn rows of any form that `row_dicts` takes."""
    listed = enumerate(row_dicts(given_rows(rows, "turns"), Turn, "references"))
    return [read_turn(row, f"references[{i}]") for i, row in listed]


def read_prediction_rows(rows: Any) -> list[Prediction]:
    """Read prediction rows of any form that `row_dicts` takes."""

    def convert(row: Any) -> Prediction:
        return msgspec.convert(row, Prediction)

    listed = enumerate(row_dicts(given_rows(rows), Prediction, "predictions"))
    return [_checked(convert, row, f"predictions[{i}]") for i, row in listed]


def _checked(convert: Callable[[Any], Row], row: Any, where: str) -> Row:
    try:
        converted = convert(row)
        msgspec.json.encode(converted)  # it refuses a lone surrogate, which is no text
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        raise ScoreError(f"{where}: {error}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise ScoreError(
            f"{where}: found no turn row ({error!r:.100}), expected one as sgdx_dataset makes it"
        ) from None
    return converted
