"""Frame rows: one for each user turn and service, which is what is tracked and scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..io.errors import SgdxError
from ..io.progress import progress
from ..release.release import Release
from ..release.schema import split_name
from . import canonical_values
from .arrays import list_array, struct_array
from .columns import FRAME_COLUMNS, STATE
from .dialogue_rows import dialogue_tables, steps
from .gold_rows import GOLD_COLUMNS, gold_tables
from .map_rows import code_of, map_rows


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

    made_by = code_of(__file__, canonical_values.__file__)
    return map_rows(dialogues, frame_table, "frame rows", FRAME_ROW, made_by)


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
    check_columns(columns)
    split = split_name(split)
    release.check_dialogues(config, split)
    with progress("Making frame rows", steps(release, [config], [split])):
        if columns is not None and GOLD_COLUMNS.issuperset(columns):
            return pa.concat_tables(gold_tables(release, split, config, columns))
        dialogues = dialogue_tables(release, split, config)
        return pa.concat_tables([frame_table(table, columns) for _, table in dialogues])


def frame_parts(release: Release, split: str, config: str) -> Iterator[pa.Table]:
    """The frame rows of ``frame_tables``, with all columns, in one table per dialogue file."""
    split = split_name(split)
    release.check_dialogues(config, split)
    for _, table in dialogue_tables(release, split, config):
        yield frame_table(table)


def check_columns(columns: Sequence[str] | None) -> None:
    """Raise ``SgdxError`` unless every one of ``columns`` is a column of ``FRAME_COLUMNS``."""
    for column in columns or ():
        if column not in FRAME_COLUMNS.names:
            names = ", ".join(FRAME_COLUMNS.names)
            raise SgdxError(f"unknown column {column!r}, expected one of {names}")


def frame_table(dialogues: pa.Table, columns: Sequence[str] | None = None) -> pa.Table:
    """The frame rows (``FRAME_COLUMNS``) of a table of dialogue rows (``DIALOGUE_COLUMNS``)."""
    # All turns of the dialogues are laid end to end, and so are all frames of these turns. The
    # parent index of an item is the position of its turn, or of its dialogue, in the level above.
    turn_lists = dialogues["turns"].combine_chunks()
    turns = turn_lists.flatten()
    frame_lists = pc.struct_field(turns, "frames")
    all_frames = frame_lists.flatten()
    users = pc.equal(pc.struct_field(turns, "speaker"), "USER").to_numpy(zero_copy_only=False)

    turn_of_frame = pc.list_parent_indices(frame_lists).to_numpy()
    has_state = pc.struct_field(all_frames, "state").is_valid().to_numpy(zero_copy_only=False)
    tracked_frames = np.flatnonzero(users[turn_of_frame] & has_state)
    turn = turn_of_frame[tracked_frames]
    owner = pc.list_parent_indices(turn_lists).to_numpy()
    dialogue = owner[turn]
    # Offsets of a slice do not begin at 0, while the flattened turns do.
    first_turn = (turn_lists.offsets.to_numpy() - turn_lists.offsets[0].as_py())[dialogue]

    rows = all_frames.take(pa.array(tracked_frames))
    ids = dialogues["dialogue_id"].combine_chunks().take(pa.array(dialogue))
    all_schemas = dialogues["schemas"].combine_chunks()
    schemas = all_schemas.flatten()
    schema = schema_index(all_schemas, dialogue, rows.field("service"))
    original = pc.struct_field(schemas, "original_name")
    index = pa.array(turn - first_turn, pa.int32())
    make: dict[str, Callable[[], pa.Array]] = {
        "frame_id": lambda: pc.binary_join_element_wise(
            ids,
            index.cast(pa.string()),
            original.take(schema),
            "/",
        ),
        "variant": lambda: dialogues["variant"].combine_chunks().take(pa.array(dialogue)),
        "dialogue_id": lambda: ids,
        "turn": lambda: index,
        "service": lambda: rows.field("service"),
        "seen": lambda: pc.struct_field(schemas, "seen").take(schema),
        "history": lambda: _history(turns, users, first_turn, turn),
        "utterance": lambda: pc.struct_field(turns, "utterance").take(pa.array(turn)),
        "schema": lambda: schemas.take(schema),
        **{gold.name: partial(rows.field("state").field, gold.name) for gold in STATE},
        "slots": lambda: rows.field("slots"),
        "service_call": lambda: _next_calls(turns, owner, turn, rows.field("service")),
        "schema_slots": lambda: _schema_slots(pc.struct_field(schemas, "slots")).take(schema),
        "canonical_values": lambda: _canonical_values(turn_lists, all_frames, tracked_frames),
    }
    schema_of_rows = pa.schema([FRAME_COLUMNS.field(n) for n in columns or FRAME_COLUMNS.names])
    arrays = [make[column.name]().cast(column.type) for column in schema_of_rows]
    return pa.table(arrays, schema=schema_of_rows)


def schema_index(
    schema_lists: pa.ListArray, dialogue: np.ndarray, services: pa.StringArray
) -> pa.Int32Array:
    """The index in the flattened ``schema_lists`` of each row's schema, from its own dialogue."""
    # Two dialogues may have the same service, so the key is the dialogue with the service.
    names = pc.struct_field(schema_lists.flatten(), "service_name")
    owner = pc.list_parent_indices(schema_lists).cast(pa.string())
    schema_keys = pc.binary_join_element_wise(owner, names, "/")
    keys = pc.binary_join_element_wise(pa.array(dialogue).cast(pa.string()), services, "/")
    return pc.index_in(keys, value_set=schema_keys)


def _history(
    turns: pa.StructArray, users: np.ndarray, first: np.ndarray, end: np.ndarray
) -> pa.ListArray:
    """Each row's turns from ``first`` up to ``end``, excluded, with the system's actions."""
    lengths = end - first
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # Row i has the turns first[i], first[i] + 1, ..., end[i] - 1: its place in the result, shifted.
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, lengths)
    speakers, utterances = pc.struct_field(turns, "speaker"), pc.struct_field(turns, "utterance")
    past = pa.StructArray.from_arrays(
        [speakers, utterances, _system_actions(turns, users)],
        ["speaker", "utterance", "actions"],
    )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), past.take(pa.array(positions)))


def _system_actions(turns: pa.StructArray, users: np.ndarray) -> pa.ListArray:
    """The actions of each turn's frames, with their service; an empty list for user turns."""
    frame_lists = pc.struct_field(turns, "frames")
    all_frames = frame_lists.flatten()
    action_lists = pc.struct_field(all_frames, "actions")
    actions = action_lists.flatten()
    frame = pc.list_parent_indices(action_lists).to_numpy()
    turn = pc.list_parent_indices(frame_lists).to_numpy()[frame]
    system_actions = np.flatnonzero(~users[turn])
    counts = np.bincount(turn[system_actions], minlength=len(turns))
    services = pc.struct_field(all_frames, "service").take(pa.array(frame[system_actions]))
    own_actions = actions.take(pa.array(system_actions))
    fields = [field.name for field in own_actions.type]
    with_service = pa.StructArray.from_arrays(
        [services, *(own_actions.field(name) for name in fields)], ["service", *fields]
    )
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, with_service)


def _next_calls(
    turns: pa.StructArray, owner: np.ndarray, turn: np.ndarray, services: pa.StringArray
) -> pa.StructArray:
    """The call of each row's service in the turn after, which is the system's; null without one."""
    frame_lists = pc.struct_field(turns, "frames")
    all_frames = frame_lists.flatten()
    calls = pc.struct_field(all_frames, "service_call")
    calling = np.flatnonzero(calls.is_valid().to_numpy(zero_copy_only=False))
    turn_of_call = pc.list_parent_indices(frame_lists).to_numpy()[calling]
    names = pc.struct_field(all_frames, "service").take(pa.array(calling))
    call_keys = _joined(owner[turn_of_call], turn_of_call, names)
    # A row without a call has a null index, and taking by it gives null.
    call = pc.index_in(_joined(owner[turn], turn + 1, services), value_set=call_keys)
    return calls.take(pa.array(calling)).take(call)


def _joined(dialogue: np.ndarray, turn: np.ndarray, services: pa.StringArray) -> pa.StringArray:
    """Dialogues, turns and services as one key each."""
    numbers = (pa.array(part).cast(pa.string()) for part in (dialogue, turn))
    return pc.binary_join_element_wise(*numbers, services, "/")


def _canonical_values(
    turn_lists: pa.ListArray, all_frames: pa.StructArray, tracked_frames: np.ndarray
) -> pa.ListArray:
    """The canonical values of the slots in each row's state, where there are any to name."""
    assigned = pc.struct_field(pc.struct_field(all_frames, "state"), "slot_values")
    rows = pa.array(tracked_frames)
    lengths = assigned.value_lengths().fill_null(0).to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    canonical = pa.ListArray.from_arrays(offsets, canonical_values.of_turns(turn_lists))
    assigned, canonical = assigned.take(rows), canonical.take(rows)
    values = canonical.flatten()
    has_value = np.flatnonzero(values.value_lengths().to_numpy() > 0)
    row = pc.list_parent_indices(canonical).to_numpy()[has_value]
    slots = pc.struct_field(assigned.flatten(), "slot").take(pa.array(has_value))
    offsets = pa.array(np.searchsorted(row, np.arange(len(rows) + 1)), pa.int32())
    return list_array(offsets, struct_array(slot=slots, values=values.take(pa.array(has_value))))


def _schema_slots(slot_lists: pa.ListArray) -> pa.ListArray:
    """What scoring reads of the slots in ``slot_lists``: their names and ``is_categorical``."""
    slots = slot_lists.flatten()
    brief = pa.StructArray.from_arrays(
        [pc.struct_field(slots, "name"), pc.struct_field(slots, "is_categorical")],
        ["name", "is_categorical"],
    )
    lengths = slot_lists.value_lengths().to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, brief)
