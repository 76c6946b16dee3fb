"""Prompt formats: literal texts, and answers back to a state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from baselines.data.dialogues import State
from baselines.t5dst.formats import (
    FORMATS,
    gold_state,
    restore_case,
    shown_schema,
    spoken,
)
from baselines.t5dst.settings import FormatName
from sgdx_dataset import frames, load
from sgdx_dataset.schema import Intent, Service, Slot


def slot(name: str, description: str, *values: str) -> Slot:
    return Slot(name, description, bool(values), [*values])


SCHEMA = Service(
    "Media_21",
    "Films to rent",
    [
        slot("film", "Title of the film"),
        slot("subtitles", "Language of subtitles", "None", "English", "Sign language"),
        slot("viewers", "How many watch", "1", "2", "3"),
    ],
    [
        Intent("FindFilm", "Look for a Film", False, [], {}, []),
        Intent("Play", "Start it", False, [], {}, []),
    ],
)
HISTORY = [
    {"speaker": "USER", "utterance": "Rent Up for me."},
    {"speaker": "SYSTEM", "utterance": "With subtitles?"},
]
UTTERANCE = "No subtitles. We are Two."
GOLD = State(
    "Play", {"film": ["Up", "up film"], "subtitles": ["None"], "viewers": ["2"]}, ("film",)
)
SAID = "Rent Up for me. With subtitles? No subtitles. We are Two."

T5DST = [
    "[domain] Media Films to rent [slot] film Title of the film",
    "[domain] Media Films to rent [slot] subtitles Language of subtitles "
    '[PVs] "None", English, Sign language',
    "[domain] Media Films to rent [slot] viewers How many watch [PVs] 1, 2, 3",
]
D3ST = [
    '0=title of the film 1=language of subtitles 1a) "none" 1b) english 1c) sign language '
    "2=how many watch i0=look for a film i1=start it"
]


TALK = "[USER] Rent Up for me. [SYSTEM] With subtitles? [USER] No subtitles. We are Two."
ENDS = "1=1a 2=2 [intents] i1 [req_slots] 0"


@pytest.mark.parametrize(
    ("name", "history", "parts", "targets"),
    [
        ("t5dst", TALK, T5DST, ["Up", '"None"', "2"]),
        ("d3st", TALK.lower(), D3ST, [f"[states] 0=up {ENDS}"]),
    ],
)
def test_literal_texts(
    name: FormatName, history: str, parts: list[str], targets: list[str]
) -> None:
    prompt = FORMATS[name]
    assert prompt.history(HISTORY, UTTERANCE) == history
    assert prompt.parts(SCHEMA) == parts
    assert prompt.targets(SCHEMA, GOLD) == targets
    state, invalid = prompt.decode(SCHEMA, SAID, targets)
    assert state.values == {"film": ["Up"], "subtitles": ["None"], "viewers": ["2"]}
    assert invalid == 0
    if "active_intent" in prompt.TRACKS:
        assert (state.intent, state.requested) == ("Play", ("film",))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("shuffle", [None, 3])
def test_targets_decode_to_the_gold_state_of_every_frame(
    name: FormatName, shuffle: int | None
) -> None:
    """Their first values, in some case: there are no others, and d3st has no capitals."""
    prompt, moved = FORMATS[name], 0
    for row in frames(load("original", "test", "sample")):
        schema, gold = shown_schema(row, prompt, shuffle), gold_state(row)
        said = spoken(row["history"], row["utterance"], "[USER]", "[SYSTEM]")
        state, invalid = prompt.decode(schema, said, prompt.targets(schema, gold))
        first, expected = (
            {slot: values[0].lower() for slot, values in each.values.items()}
            for each in (state, gold)
        )
        assert (first, invalid) == (expected, 0)
        if "active_intent" in prompt.TRACKS:
            assert state.intent == gold.intent
            assert state.requested == gold.requested  # in the annotation's order
        own = [slot["name"] for slot in row["schema"]["slots"]]
        moved += [slot.name for slot in schema.slots] != own
    assert (moved > 200) is (prompt.SHUFFLED and shuffle is not None)


@pytest.mark.parametrize(
    ("name", "outputs", "values", "invalid"),
    [
        ("t5dst", ["up", "sign  LANGUAGE", "four"],
         {"film": "Up", "subtitles": "Sign language"}, 1),
        ("t5dst", ["", "none", "None"], {}, 0),  # without its quotes a None is no value
        ("t5dst", ['"dontcare"', '"NONE"', "2."],
         {"film": "dontcare", "subtitles": "None", "viewers": "2"}, 0),
        ("d3st", ["[states] 0=up 1=1b 2=9 [intents] [req_slots]"],
         {"film": "Up", "subtitles": "English"}, 1),
        ("d3st", ["[states] 0=we are two 7=x 1=1z [intents] i5 [req_slots] 9"],
         {"film": "We are Two"}, 4),
        ("d3st", ["[states] 0=up | down [intents] [req_slots]"], {"film": "up | down"}, 0),
        ("d3st", ["0=up"], {}, 1),
        ("d3st", ["[intents] [states] [req_slots]"], {}, 1),
        ("d3st", ["[states] 0=0=up 99999999999=1 [intents] [req_slots]"], {"film": "0=up"}, 1),
    ],
)  # fmt: skip
def test_what_models_write(
    name: FormatName, outputs: list[str], values: dict[str, str], invalid: int
) -> None:
    state, unread = FORMATS[name].decode(SCHEMA, SAID, outputs)
    assert {slot: given[0] for slot, given in state.values.items()} == values
    assert unread == invalid


# Spaces within a value are one space; what a value may not hold is the layouts' own punctuation.
_VALUE = st.one_of(
    st.sampled_from(
        ["none", "None", "NONE", "Dontcare", '"none"', '""None""', '"none', "dontcare"]
    ),
    st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="=[]"), min_size=1),
)


@pytest.mark.parametrize("name", FORMATS)
@given(value=_VALUE, categorical=st.booleans())
def test_no_real_value_is_taken_for_unset(name: FormatName, value: str, categorical: bool) -> None:
    """Every value comes back as it was, in the case in which the dialogue has it."""
    prompt = FORMATS[name]
    values = [value, "another value"] if categorical else []
    schema = replace(SCHEMA, slots=[slot("film", "Title", *values)])
    targets = prompt.targets(schema, State(values={"film": [value]}))
    state, invalid = prompt.decode(schema, f"Take {value} please", targets)
    assert invalid == 0
    if name == "d3st" and not categorical:  # in lower case, as long as it matches
        assert [v.lower() for v in state.values["film"]] == [value.lower()]
    else:
        assert state.values == {"film": [value]}


def test_case_is_restored_from_whole_words() -> None:
    assert restore_case("la rosa", "To La  Rosa, not La Rosalia") == "La  Rosa"
    assert restore_case("rome", "Romeo waits") == "rome"
    assert restore_case("a (b", "see A (B") == "A (B"
    assert restore_case("san jose", "San Jose? No: to SAN JOSE, from san joseph") == "SAN JOSE"
