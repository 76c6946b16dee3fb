"""The columns of a dialogue row, of a frame row and of a turn row, as Arrow types."""

from __future__ import annotations

import pyarrow as pa

# The version of the rows; it rises when what is made of the same release changes, frame rows and
# turn rows too, as caches go by it.
VERSION = "1.0.0"

_STRING = pa.string()
_STRINGS = pa.list_(_STRING)
SLOT_VALUE = pa.struct({"slot": _STRING, "value": _STRING})
SLOT_VALUES = pa.list_(pa.struct({"slot": _STRING, "values": _STRINGS}))
_SPANS = pa.list_(
    pa.struct({"slot": _STRING, "start": pa.int32(), "exclusive_end": pa.int32()}),
)

SLOT = pa.struct(
    {
        "name": _STRING,
        "description": _STRING,
        "is_categorical": pa.bool_(),
        "possible_values": _STRINGS,
    }
)
INTENT = pa.struct(
    {
        "name": _STRING,
        "description": _STRING,
        "is_transactional": pa.bool_(),
        "required_slots": _STRINGS,
        "optional_slots": pa.list_(SLOT_VALUE),
        "result_slots": _STRINGS,
    }
)
SERVICE = pa.struct(
    {
        "service_name": _STRING,
        "original_name": _STRING,
        "seen": pa.bool_(),
        "description": _STRING,
        "slots": pa.list_(SLOT),
        "intents": pa.list_(INTENT),
    }
)
# The part of a slot that scoring needs.
BRIEF_SLOT = pa.struct({"name": _STRING, "is_categorical": pa.bool_()})
ACTION = pa.struct(
    {"act": _STRING, "slot": _STRING, "values": _STRINGS, "canonical_values": _STRINGS}
)
SERVICE_CALL = pa.struct({"method": _STRING, "parameters": pa.list_(SLOT_VALUE)})
STATE = pa.struct(
    {"active_intent": _STRING, "requested_slots": _STRINGS, "slot_values": SLOT_VALUES}
)
FRAME = pa.struct(
    {
        "service": _STRING,
        "slots": _SPANS,
        "actions": pa.list_(ACTION),
        "state": STATE,
        "service_call": SERVICE_CALL,
        "service_results": pa.list_(pa.list_(SLOT_VALUE)),
    }
)
TURN = pa.struct({"speaker": _STRING, "utterance": _STRING, "frames": pa.list_(FRAME)})

DIALOGUE_COLUMNS = pa.schema(
    {
        "dialogue_id": _STRING,
        "variant": _STRING,
        "services": _STRINGS,
        "schemas": pa.list_(SERVICE),
        "turns": pa.list_(TURN),
    }
)

_PAST_TURN = pa.struct(
    {
        "speaker": _STRING,
        "utterance": _STRING,
        "actions": pa.list_(pa.struct([("service", _STRING), *ACTION])),
    }
)
FRAME_COLUMNS = pa.schema(
    {
        "frame_id": _STRING,
        "variant": _STRING,
        "dialogue_id": _STRING,
        "turn": pa.int32(),
        "service": _STRING,
        "seen": pa.bool_(),
        # What a tracker may read. The history has the turns before this one. Its user turns have no
        # actions, as those would give away what a tracker has to find out.
        "history": pa.list_(_PAST_TURN),
        "utterance": _STRING,
        "schema": SERVICE,
        # The gold state that a tracker should predict, and what else the metric needs.
        "active_intent": _STRING,
        "requested_slots": _STRINGS,
        "slot_values": SLOT_VALUES,
        "slots": _SPANS,
        # The call of the service that the system makes next, as gold; null where it makes none.
        "service_call": SERVICE_CALL,
        "schema_slots": pa.list_(BRIEF_SLOT),
        # What values of the state are to the API, where that is not among the state's own values.
        "canonical_values": SLOT_VALUES,
    }
)

TURN_COLUMNS = pa.schema(
    {
        "turn_id": _STRING,
        "variant": _STRING,
        # The service of the turn's first frame; most turns have no other.
        "service": _STRING,
        "seen": pa.bool_(),
        "seen_domain": pa.bool_(),
        # What a generator may read: the actions and the words of their services.
        "actions": pa.list_(pa.struct([("service", _STRING), *ACTION])),
        "intent": _STRING,
        "schemas": pa.list_(SERVICE),
        # What the user said before, and what the system should say.
        "prompt": _STRING,
        "utterance": _STRING,
    }
)
