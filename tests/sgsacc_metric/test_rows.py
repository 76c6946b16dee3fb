"""What an action of a turn is about, and what is kept of a turn's schemas."""

from __future__ import annotations

import msgspec
import pytest

from sgdx_metric.variants import schema_digest
from sgsacc_metric.rows import Action, read_turn_rows, trimmed
from sgsacc_metric.ser import checked_values, contains, contains_words

from .turns import CITY, HOTELS, act, turn


@pytest.mark.parametrize(
    ("actions", "slots", "intents"),
    [
        ([act("CONFIRM", "city", "Rome"), act("OFFER", "city", "Pisa")], [CITY], []),
        ([act("OFFER_INTENT", "intent", "BookHotel")], [], HOTELS.intents[1:]),
    ],
)
def test_schemas_keep_what_the_actions_name(
    actions: list[Action], slots: object, intents: object
) -> None:
    (schema,) = trimmed(turn(*actions)).schemas
    assert (schema.slots, schema.intents) == (slots, intents)


def test_a_variant_of_ones_own_is_marked_by_all_its_words() -> None:
    rows = [msgspec.to_builtins(turn(variant=name)) for name in ("original", "mine")]
    original, own = read_turn_rows(rows)
    assert (original.words, own.words) == (None, schema_digest(msgspec.to_builtins(HOTELS)))
    assert len(own.schemas[0].slots) == 1


def test_which_values_are_looked_for() -> None:
    of = turn(
        act("CONFIRM", "city", "Rome"),
        act("OFFER", "star_rating", "3"),
        act("INFORM", "has_wifi", "True"),
        act("INFORM_COUNT", "count", "9"),
        act("OFFER_INTENT", "intent", "BookHotel"),
        act("CONFIRM", "intent", "rent"),
        act("REQUEST", "city", "Pisa", "Siena"),
        act("REQUEST", "city"),
        act("INFORM", "street", "Via Roma"),
    )
    assert checked_values(of) == ["Rome", "Pisa", "Siena"]


@pytest.mark.parametrize(
    ("utterance", "value", "inside", "as_words"),
    [
        ("I found ROME for you", "Rome", True, True),
        ("It leaves at 12:30", "2", True, False),
        ("It leaves at 12:30", "30", True, True),
        ("That is $45 a day", "$45", True, True),
        ("It leaves at half past six", "6:30 pm", False, False),
    ],
)
def test_values_in_utterances(utterance: str, value: str, inside: bool, as_words: bool) -> None:
    assert contains(utterance, value) == inside
    assert contains_words(utterance, value) == as_words
