"""Frame rows: one for each user turn and service, which is what is tracked and scored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..configs import split_name
from ..io.progress import progress
from ..release.release import Release
from .arrays import check_columns, lists_of, struct_array, table_of
from .canonical_values import of_turns
from .columns import FRAME_COLUMNS, STATE
from .dialogue_rows import dialogue_tables, steps
from .gold_rows import GOLD_COLUMNS, gold_tables
from .levels import Levels
from .map_rows import map_rows


def frames(dialogues: Any) -> Any:
    """The frame rows of dialogue rows, in the dialogues' order.

    A row has what a tracker may read, and then the gold state and what else scoring needs. A
    tracker may read ``history`` (the turns before this one, with the actions of the system),
    ``utterance`` and ``schema`` (that of the service).
    ``frame_id`` is ``<dialogue_id>/<turn index>/<original service>``, the same in every variant.
    Frames of user turns that carry no state (unannotated data) are left out.

    Args:
        dialogues: Dialogue rows, with the columns of ``DIALOGUE_COLUMNS``: a ``Dataset`` or
            ``IterableDataset``, a dictionary of them by split (``DatasetDict``), one row, or a list
            of rows.

    Returns:
        Rows with the columns of ``FRAME_COLUMNS``: the same kind of dataset, or of dictionary of
        datasets, which as with any ``map`` is cached on disk where the dataset is; of one row or a
        list of rows, a list.

    Raises:
        SgdxError: It is none of these, or lacks columns of dialogue rows.
    """
    from .features import FRAME_ROW

    return map_rows(dialogues, frame_table, "frame rows", FRAME_ROW)


def frame_tables(
    release: Release, split: str, config: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """The frame rows of a split under a config, made in memory from an open release.

    The rows are those of ``frames(load(config, split))``, in the same order, but the Hugging Face
    cache is neither read nor written, and no other split is read. Each split is parsed once for
    all configs of a release.

    Args:
        release: What ``open_release`` returned.
        split: ``train``, ``validation`` or ``test``.
        config: One of ``CONFIGS``, or of the release's own variants.
        columns: Names of the columns to make, in the order of the result; None for all columns of
            ``FRAME_COLUMNS``. Leaving out ``history`` and ``schema`` saves most of the work.

    Returns:
        One row per user turn and service, with the types of ``FRAME_COLUMNS``.

    Raises:
        SgdxError: The config, the split or a column is unknown, the split has no dialogues under
            the config, or the release is at fault.
    """
    check_columns(columns, FRAME_COLUMNS)
    split = split_name(split)
    release.check_dialogues(config, split)
    with progress("Making frame rows", steps(release, [config], [split])):
        if columns is not None and GOLD_COLUMNS.issuperset(columns):
            return pa.concat_tables(gold_tables(release, split, config, columns))
        dialogues = dialogue_tables(release, split, config)
        return pa.concat_tables([frame_table(table, columns) for _, table in dialogues])


def frame_parts(
    release: Release, split: str, config: str, dialogue_ids: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """The frame rows of some dialogues, or all, with all columns: one table per dialogue file."""
    split = split_name(split)
    release.check_dialogues(config, split)
    for _, table in dialogue_tables(release, split, config, dialogue_ids):
        yield frame_table(table)


def frame_table(dialogues: pa.Table, columns: Sequence[str] | None = None) -> pa.Table:
    """The frame rows (``FRAME_COLUMNS``) of a table of dialogue rows (``DIALOGUE_COLUMNS``)."""
    levels = Levels(dialogues)
    has_state = levels.of_frames("state").is_valid().to_numpy(zero_copy_only=False)
    tracked = np.flatnonzero((levels.speaker[levels.turn] == "USER") & has_state)
    turn = levels.turn[tracked]
    dialogue = levels.dialogue[turn]
    first_turn = levels.first_turn[dialogue]
    rows = levels.frames.take(pa.array(tracked))
    ids = levels.ids.take(pa.array(dialogue))
    index = pa.array(turn - first_turn, pa.int32())
    schema = levels.schema_of(dialogue, rows.field("service"))

    def of_schema(field: str) -> pa.Array:
        return pc.struct_field(levels.schemas, field).take(schema)

    make: dict[str, Callable[[], pa.Array]] = {
        "frame_id": lambda: pc.binary_join_element_wise(
            ids, index.cast(pa.string()), of_schema("original_name"), "/"
        ),
        "variant": lambda: levels.variants.take(pa.array(dialogue)),
        "dialogue_id": lambda: ids,
        "turn": lambda: index,
        "service": lambda: rows.field("service"),
        "seen": lambda: of_schema("seen"),
        "history": lambda: _history(levels, first_turn, turn),
        "utterance": lambda: levels.of_turns("utterance").take(pa.array(turn)),
        "schema": lambda: levels.schemas.take(schema),
        **{gold.name: partial(rows.field("state").field, gold.name) for gold in STATE},
        "slots": lambda: rows.field("slots"),
        "service_call": lambda: _next_calls(levels, turn, rows.field("service")),
        "schema_slots": lambda: _schema_slots(levels).take(schema),
        "canonical_values": lambda: _canonical_values(levels, tracked),
    }
    return table_of(make, FRAME_COLUMNS, columns)


def _history(levels: Levels, first: np.ndarray, end: np.ndarray) -> pa.ListArray:
    """Each row's turns from ``first`` up to ``end``, excluded, with the system's actions [rows]."""
    lengths = end - first
    starts = np.cumsum(lengths) - lengths
    # Row i has the turns first[i], first[i] + 1, ..., end[i] - 1: its place in the result, shifted.
    positions = np.arange(lengths.sum()) - np.repeat(starts - first, lengths)
    past = struct_array(
        speaker=levels.of_turns("speaker"),
        utterance=levels.of_turns("utterance"),
        actions=levels.system_actions(),
    )
    return lists_of(lengths, past.take(pa.array(positions)))


def _next_calls(levels: Levels, turn: np.ndarray, services: pa.StringArray) -> pa.StructArray:
    """The call of each row's service in the turn after, the system's; null without one [rows]."""
    calls = levels.of_frames("service_call")
    calling = np.flatnonzero(calls.is_valid().to_numpy(zero_copy_only=False))
    names = levels.of_frames("service").take(pa.array(calling))
    call_keys = _keys(levels.dialogue, levels.turn[calling], 0, names)
    # A row without a call has a null index, and taking by it gives null.
    call = pc.index_in(_keys(levels.dialogue, turn, 1, services), value_set=call_keys)
    return calls.take(pa.array(calling)).take(call)


def _keys(
    dialogue: np.ndarray, turn: np.ndarray, after: int, services: pa.StringArray
) -> pa.StringArray:
    """A dialogue, the turn so many turns later, and a service, as one key each."""
    numbers = (pa.array(part).cast(pa.string()) for part in (dialogue[turn], turn + after))
    return pc.binary_join_element_wise(*numbers, services, "/")


def _canonical_values(levels: Levels, tracked: np.ndarray) -> pa.ListArray:
    """The canonical values of the slots in each row's state, where there are any to name [rows]."""
    assigned, rows = pc.struct_field(levels.of_frames("state"), "slot_values"), pa.array(tracked)
    lengths = assigned.value_lengths().fill_null(0).to_numpy()
    canonical = lists_of(lengths, of_turns(levels.turn_lists)).take(rows)
    assigned, values = assigned.take(rows), canonical.flatten()
    has_value = np.flatnonzero(values.value_lengths().to_numpy() > 0)
    row = pc.list_parent_indices(canonical).to_numpy()[has_value]
    slots = pc.struct_field(assigned.flatten(), "slot").take(pa.array(has_value))
    named = struct_array(slot=slots, values=values.take(pa.array(has_value)))
    return lists_of(np.bincount(row, minlength=len(rows)), named)


def _schema_slots(levels: Levels) -> pa.ListArray:
    """What scoring reads of the slots: their names and ``is_categorical`` [schemas]."""
    slot_lists = pc.struct_field(levels.schemas, "slots")
    slots = slot_lists.flatten()
    brief = {name: pc.struct_field(slots, name) for name in ("name", "is_categorical")}
    return lists_of(slot_lists.value_lengths().to_numpy(), struct_array(**brief))
