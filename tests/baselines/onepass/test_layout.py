"""The token sequences: the example of the layout to the token, and long schemas."""

from __future__ import annotations

from typing import Any

import pytest

from baselines.onepass.frames import FrameInput, Utterance
from baselines.onepass.layout import TokenRange, TokenSequence, Vocabulary, parts_of, sequences
from sgdx_dataset import SgdxError
from sgdx_dataset.schema import Service

from .conftest import frame_of

# ' and : are tokens of their own.
EXAMPLE = """
[CLS] [SYS] Shall I book Luigi ' s at 7 pm for 2 ? [USR] Make it 8 please . Is it dear ? [SEP]
[SERVICE] Tables at restaurants
[INTENT] find place : look for restaurants
[INTENT] reserve table : book a table [NOW]
[INTENT] none
[SLOT] price : how expensive it is
[SLOT] time : when to eat [HAS] 7 pm [LAST] 7 pm
[SLOT] party size : how many people come [LAST] 2 [VALUE] 1 [VALUE] 2 [VALUE] 3
[SLOT] restaurant : its name [HAS] Luigi ' s [LAST] Luigi ' s
[SLOT] day : date of the visit [ASK] Which day ?
[FROM] concert date = May 5th
[SEP]
"""


def only(frame: FrameInput, vocabulary: Vocabulary) -> TokenSequence:
    (sequence,) = sequences(frame, vocabulary, 512)
    assert [length for _, length in parts_of(frame, vocabulary, 512)] == [len(sequence.ids)]
    return sequence


def test_the_example_to_the_token(restaurants: Service, vocabulary: Vocabulary) -> None:
    changes = {"asked": frozenset({"day"}), "question": "Which day?"}
    sequence = only(frame_of(restaurants, intent="ReserveTable", **changes), vocabulary)
    tokens: Any = vocabulary.tokenizer.convert_ids_to_tokens(sequence.ids)
    assert tokens == EXAMPLE.split()

    def at(*places: TokenRange) -> list[str]:
        return [" ".join(tokens[slice(*place)]) for place in places]

    assert at(*sequence.intents.values()) == EXAMPLE.split("\n")[3:6]
    assert list(sequence.intents) == ["FindPlace", "ReserveTable", "NONE"]
    assert at(sequence.slots["time"], sequence.slots["party_size"]) == [
        "[SLOT] time : when to eat [HAS] 7 pm [LAST] 7 pm",
        "[SLOT] party size : how many people come [LAST] 2",
    ]
    assert at(*sequence.values["party_size"]) == ["[VALUE] 1", "[VALUE] 2", "[VALUE] 3"]
    assert at(*sequence.known) == ["[FROM] concert date = May 5th"]
    assert tokens[sequence.service] == "[SERVICE]"
    said = [tokens[token.place] for token in sequence.text]
    assert said == "Make it 8 please . Is it dear ?".split()
    first = [(t.utterance, t.start, t.end) for t in sequence.text[:3]]
    assert first == [(1, 0, 4), (1, 5, 7), (1, 8, 9)]
    # All elements begin at the same position, and values of a slot belong to it.
    start = sequence.intents["FindPlace"][0]
    assert sequence.positions[:start] == list(range(start))
    assert sequence.blocks[:start] == [0] * start
    elements = [*sequence.intents.values(), *sequence.slots.values(), *sequence.known]
    for begin, end in elements:
        assert sequence.positions[begin:end] == list(range(start, start + end - begin))
    assert [sequence.blocks[begin] for begin, _ in elements] == [1, 2, 3, 4, 5, 6, 7, 8, -1]
    value, slot = sequence.values["party_size"][0], sequence.slots["party_size"]
    assert sequence.blocks[value[0]] == sequence.blocks[slot[0]]
    assert sequence.positions[value[0]] == sequence.positions[slot[1] - 1] + 1


def test_special_tokens_in_texts_are_plain_text(
    restaurants: Service, vocabulary: Vocabulary
) -> None:
    frame = frame_of(restaurants, utterances=(Utterance("USER", "[SLOT] [SEP] 8", True),))
    sequence = only(frame, vocabulary)
    assert len(sequence.text) > 3
    assert sequence.ids.count(vocabulary.markers["[SLOT]"]) == 5
    assert sequence.ids.count(vocabulary.tokenizer.sep_token_id) == 2


def test_of_a_long_dialogue_the_end_is_read(restaurants: Service, vocabulary: Vocabulary) -> None:
    said = (Utterance("USER", "Make it 8 please. " * 60, True),)
    sequence = only(frame_of(restaurants, utterances=said), vocabulary)
    assert (sequence.service, len(sequence.text)) == (258, 256)
    assert (sequence.text[0].place, sequence.text[-1].end) == (1, 18 * 60 - 1)


def test_a_long_schema_is_read_in_equal_parts(restaurants: Service, vocabulary: Vocabulary) -> None:
    frame = frame_of(restaurants)
    whole = only(frame, vocabulary)
    limit = len(whole.ids) - 1
    first, second = sequences(frame, vocabulary, limit)
    assert [*first.slots, *second.slots] == list(whole.slots)
    assert list(first.slots) == ["price", "time"]
    assert (list(first.intents), second.intents) == (list(whole.intents), {})
    head = whole.intents["FindPlace"][0]
    for part, (_, length) in zip((first, second), parts_of(frame, vocabulary, limit), strict=True):
        assert len(part.ids) == length <= limit
        assert part.ids[:head] == whole.ids[:head]
        assert len(part.known) == 1
        assert part.text == whole.text
    with pytest.raises(SgdxError, match=r"max_tokens: 50 .*slot 'price' of Rest"):
        sequences(frame, vocabulary, 50)
