"""Turn rows and prediction rows."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest

from sgdx_metric.errors import ScoreError
from sgdx_metric.variants import schema_digest
from sgsacc_metric.rows import read_prediction_rows, read_turn_rows, trimmed

from .turns import CITY, HOTELS, KIND, act, turn


def test_what_an_action_is_about() -> None:
    rows = turn(intent="BookHotel")
    assert rows.slot(act("CONFIRM", "city", "Rome")) == CITY
    assert rows.slot(act("CONFIRM", "intent", "rent")) == KIND
    assert rows.slot(act("OFFER_INTENT", "intent", "FindHotel")) is None
    assert rows.slot(act("INFORM_COUNT", "count", "3")) is None
    offered = rows.intent_of(act("OFFER_INTENT", "intent", "FindHotel"))
    reported = rows.intent_of(act("NOTIFY_SUCCESS"))
    assert offered and offered.name == "FindHotel"
    assert reported and reported.name == "BookHotel"
    assert turn().intent_of(act("NOTIFY_SUCCESS")) is None
    assert rows.dialogue_id == "1_00000"


def test_schemas_keep_what_the_actions_name() -> None:
    (schema,) = trimmed(turn(act("CONFIRM", "city", "Rome"), act("OFFER", "city", "Pisa"))).schemas
    assert (schema.slots, schema.intents) == ([CITY], [])
    (schema,) = trimmed(turn(act("OFFER_INTENT", "intent", "BookHotel"))).schemas
    assert schema.slots == [] and [intent.name for intent in schema.intents] == ["BookHotel"]


def test_a_words_digest_one_s_own_is_marked_by_all_its_words() -> None:
    (original,) = read_turn_rows([msgspec.to_builtins(turn())])
    assert original.words is None
    (own,) = read_turn_rows([msgspec.to_builtins(turn(variant="mine"))])
    assert own.words == schema_digest(msgspec.to_builtins(HOTELS))
    assert len(own.schemas[0].slots) == 1


def test_forms_and_faults_of_rows() -> None:
    row: dict[str, Any] = {"turn_id": "a/1", "variant": "v1", "utterance": "Hi", "score": 1.0}
    (prediction,) = read_prediction_rows([row])
    assert (prediction.turn_id, prediction.variant, prediction.utterance) == ("a/1", "v1", "Hi")
    assert read_prediction_rows(pa.Table.from_pylist([row])) == [prediction]
    assert read_prediction_rows(None) == []
    with pytest.raises(ScoreError, match=r"predictions\[1\]: .* missing required field `turn_id`"):
        read_prediction_rows([row, {}])
    with pytest.raises(ScoreError, match=r"references\[0\]: .*'schemas'"):
        read_turn_rows([row])
    with pytest.raises(ScoreError, match=r"predictions\[0\]: .* surrogates not allowed"):
        read_prediction_rows([{**row, "utterance": "\ud800"}])
