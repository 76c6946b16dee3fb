"""Counting what dialogue rows hold, by their Arrow columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Tally = dict[str, Counter[Any]]  # see tally(); tallies of several tables are added up by add()

_SEPARATOR = "\t"


def tally(dialogues: pa.Table) -> Tally:
    """Count the parts of dialogue rows (``DIALOGUE_ROW``).

    Returns:
        Counters of dialogues by ``lengths`` (their turns) and ``services``, of turns by
        ``speakers``, of ``words``, of user frames by ``intents``
        (service, active intent), of ``state_slots`` and ``other_slots`` (service, slot; others are
        requested or have a span), and of the lower-cased texts ``state_values`` and
        ``span_values``.
    """
    turns_of = dialogues["turns"].combine_chunks()
    turns = pc.list_flatten(turns_of)
    frames, turn_of_frame = _flat(pc.struct_field(turns, "frames"))
    of_dialogues = {
        "lengths": _count(pc.list_value_length(turns_of)),
        "services": _count(pc.list_flatten(dialogues["services"].combine_chunks())),
    }
    utterances = pc.struct_field(turns, "utterance").take(turn_of_frame)
    return of_dialogues | _in_turns(turns) | _in_frames(frames, utterances)


def add(total: Tally, tally: Tally) -> Tally:
    """Count ``tally`` into ``total``, which may be empty, and return it."""
    for key, counter in tally.items():
        total.setdefault(key, Counter()).update(counter)
    return total


def _in_turns(turns: pa.StructArray) -> Tally:
    utterances = pc.utf8_lower(pc.struct_field(turns, "utterance"))
    words = pc.list_flatten(pc.utf8_split_whitespace(utterances))
    return {
        "speakers": _count(pc.struct_field(turns, "speaker")),
        "words": _count(words.filter(pc.not_equal(words, ""))),
    }


def _in_frames(frames: pa.StructArray, utterances: pa.StringArray) -> Tally:
    """Count what frames hold; ``utterances`` has that of each frame's turn."""
    services, states = pc.struct_field(frames, "service"), pc.struct_field(frames, "state")
    requested, frame_of_request = _flat(pc.struct_field(states, "requested_slots"))
    values, frame_of_value = _flat(pc.struct_field(states, "slot_values"))
    spans, frame_of_span = _flat(pc.struct_field(frames, "slots"))
    user = pc.is_valid(states)
    intents = pc.struct_field(states, "active_intent")
    state_values = pc.list_flatten(pc.struct_field(values, "values"))
    return {
        "intents": _count_pairs(services.filter(user), intents.filter(user)),
        "state_slots": _count_pairs(services.take(frame_of_value), pc.struct_field(values, "slot")),
        "other_slots": _count_pairs(services.take(frame_of_request), requested)
        + _count_pairs(services.take(frame_of_span), pc.struct_field(spans, "slot")),
        "span_values": Counter(_texts(utterances.take(frame_of_span), spans)),
        "state_values": _count(pc.utf8_lower(state_values)),
    }


def _texts(utterances: pa.StringArray, spans: pa.StructArray) -> list[str]:
    """The lower-cased text of each span; ``utterances`` has each span's utterance."""
    starts = pc.struct_field(spans, "start").to_pylist()
    ends = pc.struct_field(spans, "exclusive_end").to_pylist()
    return [text[a:b].lower() for text, a, b in zip(utterances.to_pylist(), starts, ends)]


def _flat(lists: pa.ListArray) -> tuple[pa.Array, pa.Array]:
    """The lists' items end to end, and the index of each one's list."""
    return pc.list_flatten(lists), pc.list_parent_indices(lists)


def _count(values: pa.Array) -> Counter[Any]:
    """How often each value occurs."""
    unique, counts = pc.value_counts(values).flatten()
    return Counter(dict(zip(unique.to_pylist(), counts.to_pylist())))


def _count_pairs(first: pa.StringArray, second: pa.StringArray) -> Counter[Any]:
    """How often each pair of a value of ``first`` and the one of ``second`` beside it occurs."""
    joined = _count(pc.binary_join_element_wise(first, second, _SEPARATOR))
    return Counter({tuple(key.split(_SEPARATOR, 1)): count for key, count in joined.items()})
