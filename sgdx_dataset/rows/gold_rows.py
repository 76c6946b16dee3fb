"""The part of frame rows that scoring reads, made straight from dialogues.

The dialogues of a split are parsed once without what these columns do not need, and then named for
every variant. Rows are those of ``frame_rows``, which makes them from whole dialogue rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..configs import SPLITS
from ..io.progress import advance
from ..release.dialogue import BriefFrame, Dialogue
from ..release.release import Release
from .arrays import code_array, list_array, struct_array
from .canonical_values import of_dialogues
from .columns import FRAME_COLUMNS, STATE
from .dialogue_rows import gathered, names_of, parse_files
from .frame_columns import spans_column, states_column
from .name_codes import Coder, Names

# The columns of frame rows that are made here.
GOLD_COLUMNS = {*FRAME_COLUMNS.names} - {"history", "schema", "service_call"}
Gold = Callable[[Names, Sequence[str]], pa.Table]


def gold_tables(
    release: Release, split: str, config: str, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """Make some of ``GOLD_COLUMNS`` for each dialogue file of a split under a config, in order."""
    for names in names_of(release, split, config):
        for _, gold in _read_gold(release, split):
            yield gold(names, columns)
            advance()


@lru_cache(maxsize=len(SPLITS))
def _read_gold(release: Release, split: str) -> list[tuple[str, Gold]]:
    """Parse a split's dialogue files; the result is kept, as every variant is made from it."""
    return list(parse_files(release, split, BriefFrame, gold_columns))


def gold_columns(dialogues: Sequence[Dialogue[BriefFrame]], coder: Coder, path: str) -> Gold:
    """Gather the frames of users into columns."""
    return gathered(_frames_of_users, dialogues, coder, path)


def _frames_of_users(dialogues: Sequence[Dialogue[BriefFrame]], coder: Coder) -> Gold:
    # Looking up a service that the schema lacks raises the error.
    all(coder.services[name] >= 0 for dialogue in dialogues for name in dialogue.services)
    tracked = [
        (dialogue.dialogue_id, index, turn.utterance, frame)
        for dialogue in dialogues
        for index, turn in enumerate(dialogue.turns)
        if turn.speaker == "USER"
        for frame in turn.frames
        if frame.state is not None
    ]
    frames = [frame for _, _, _, frame in tracked]
    codes = [coder.services[frame.service] for frame in frames]
    states = states_column([frame.state for frame in frames], codes, coder)
    spans = spans_column([frame.slots for frame in frames], codes, coder)
    services = code_array(codes)
    # Frames of users alone have states, so that these are the slots of all states in their order.
    canonical = of_dialogues(dialogues)
    has_canonical = np.flatnonzero(canonical.value_lengths().to_numpy() > 0)
    ends = np.cumsum([0, *(len(frame.state.slot_values) for frame in frames if frame.state)])
    canonical_offsets = pa.array(np.searchsorted(has_canonical, ends), pa.int32())
    canonical = canonical.take(pa.array(has_canonical))
    unnamed = {
        # Dialogues have the original names of services, as frame ids do.
        "frame_id": _strings([f"{name}/{i}/{frame.service}" for name, i, _, frame in tracked]),
        "dialogue_id": _strings([name for name, _, _, _ in tracked]),
        "turn": code_array([index for _, index, _, _ in tracked]),
        "utterance": _strings([utterance for _, _, utterance, _ in tracked]),
    }

    def table(names: Names, columns: Sequence[str]) -> pa.Table:
        state = states(names)
        slots = pc.struct_field(state.field("slot_values").flatten(), "slot")
        with_canonical = struct_array(slot=slots.take(pa.array(has_canonical)), values=canonical)
        arrays = {
            **unnamed,
            "variant": pa.repeat(names.variant, len(services)),
            "service": names.services.take(services),
            "seen": names.are_seen.take(services),
            "slots": spans(names),
            "schema_slots": names.schema_slots.take(services),
            "canonical_values": list_array(canonical_offsets, with_canonical),
            **{gold.name: state.field(gold.name) for gold in STATE},
        }
        schema = pa.schema([FRAME_COLUMNS.field(name) for name in columns])
        return pa.table([arrays[name].cast(schema.field(name).type) for name in columns], schema)

    return table


def _strings(texts: list[str]) -> pa.StringArray:
    return pa.array(texts, pa.string())
