"""The columns of a dialogue row and of a frame row, as ``datasets.Features``."""

from __future__ import annotations

from datasets import Features, Value

_STRING = Value("string")
_STRINGS = [_STRING]
_SLOT_VALUE = {"slot": _STRING, "value": _STRING}
_SLOT_VALUES = [{"slot": _STRING, "values": _STRINGS}]
_SPANS = [{"slot": _STRING, "start": Value("int32"), "exclusive_end": Value("int32")}]

SLOT = {
    "name": _STRING,
    "description": _STRING,
    "is_categorical": Value("bool"),
    "possible_values": _STRINGS,
}
INTENT = {
    "name": _STRING,
    "description": _STRING,
    "is_transactional": Value("bool"),
    "required_slots": _STRINGS,
    "optional_slots": [_SLOT_VALUE],
    "result_slots": _STRINGS,
}
SERVICE = {
    "service_name": _STRING,
    "original_name": _STRING,
    "seen": Value("bool"),
    "description": _STRING,
    "slots": [SLOT],
    "intents": [INTENT],
}
ACTION = {"act": _STRING, "slot": _STRING, "values": _STRINGS, "canonical_values": _STRINGS}
STATE = {"active_intent": _STRING, "requested_slots": _STRINGS, "slot_values": _SLOT_VALUES}
FRAME = {
    "service": _STRING,
    "slots": _SPANS,
    "actions": [ACTION],
    "state": STATE,
    "service_call": {"method": _STRING, "parameters": [_SLOT_VALUE]},
    "service_results": [[_SLOT_VALUE]],
}
TURN = {"speaker": _STRING, "utterance": _STRING, "frames": [FRAME]}

DIALOGUE_ROW = Features(
    {
        "dialogue_id": _STRING,
        "variant": _STRING,
        "services": _STRINGS,
        "schemas": [SERVICE],
        "turns": [TURN],
    }
)

FRAME_ROW = Features(
    {
        "frame_id": _STRING,
        "variant": _STRING,
        "dialogue_id": _STRING,
        "turn": Value("int32"),
        "service": _STRING,
        "seen": Value("bool"),
        # What a tracker may read. The history has the turns before this one. Its user turns have no
        # actions, as those would give away what a tracker has to find out.
        "history": [
            {"speaker": _STRING, "utterance": _STRING, "actions": [{"service": _STRING, **ACTION}]}
        ],
        "utterance": _STRING,
        "schema": SERVICE,
        # The gold state that a tracker should predict, and what else the metric needs.
        "active_intent": _STRING,
        "requested_slots": _STRINGS,
        "slot_values": _SLOT_VALUES,
        "slots": _SPANS,
        "schema_slots": [{"name": _STRING, "is_categorical": Value("bool")}],
    }
)
