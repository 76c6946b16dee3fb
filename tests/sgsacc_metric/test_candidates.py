"""The sentences of appendix B, and those that the extended rules add, as a literal table."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sgdx_dataset.schema import Slot
from sgsacc_metric.candidates import candidates

from .turns import HOTELS, act, turn

# A slot called intent is a slot, and an intent that is offered is none; `private_visibility` has
# the letters of "is" inside a word; `street_name` is not in the schema.
LINES = Path(__file__).with_name("candidates.tsv").read_text().splitlines()[1:]
NETWORK = Slot("wifi_name", "WIFI network of the hotel", False, [])


@pytest.mark.parametrize("line", LINES)
def test_sentences(line: str) -> None:
    rules, name, slot, values, listed = line.split("\t")
    action = act(name, slot, *filter(None, values.split("|")))
    sentences = [*filter(None, listed.split("|"))]
    if rules == "appendix-b":
        assert candidates(turn(action), action) == sentences
        return
    schema = msgspec.structs.replace(HOTELS, slots=[*HOTELS.slots, NETWORK])
    of = turn(action, intent="FindHotel", schemas=[schema])
    assert candidates(of, action, "extended") == [*candidates(of, action), *sentences]
