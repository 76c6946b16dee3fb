"""Frame rows: one per user turn and service, which is what is tracked and scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, Features, IterableDataset

from .corpus import tables
from .errors import SgdxError
from .features import FRAME_ROW, STATE
from .release import Release

_Split = TypeVar("_Split", Dataset, IterableDataset)


def frames(split: _Split) -> _Split:
    """The frame rows of a split of dialogue rows, in the dialogues' order.

    A row holds what a tracker may read (``history``: the turns before this one with the system's
    acts; ``utterance``; ``schema``: the service's), then the gold state and what scoring needs.
    ``frame_id`` is ``<dialogue_id>/<turn index>/<original service>``, the same in every variant.
    Frames of user turns that carry no state (unannotated data) are left out.

    Args:
        split: A ``Dataset`` or ``IterableDataset`` with the columns of ``DIALOGUE_ROW``.

    Returns:
        The same kind of dataset with the columns of ``FRAME_ROW``; as with any ``map``, cached on
        disk where the split is.
    """
    replaced = [column for column in split.column_names if column not in FRAME_ROW]
    options = {} if isinstance(split, IterableDataset) else {"desc": "Making frame rows"}
    rows = split.with_format("arrow").map(
        frame_table,
        batched=True,
        batch_size=256,
        features=FRAME_ROW,
        remove_columns=replaced,
        **options,
    )
    return rows.with_format(None)


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
        columns: Names of the columns to make, in the order wanted; None for all columns of
            ``FRAME_ROW``. Leaving out ``history`` and ``schema`` saves most of the work.

    Returns:
        One row per user turn and service, with the types of ``FRAME_ROW``.

    Raises:
        SgdxError: The config, the split or a column is unknown, the split has no dialogues under
            the config, or the release is at fault.
    """
    check_columns(columns)
    release.check_dialogues(config, split)
    parts = [frame_table(table, columns) for _, table in tables(release, split, config)]
    return pa.concat_tables(parts)


def check_columns(columns: Sequence[str] | None) -> None:
    """Raise ``SgdxError`` unless every one of ``columns`` is a column of ``FRAME_ROW``."""
    for column in columns or ():
        if column not in FRAME_ROW:
            raise SgdxError(f"unknown column {column!r}, expected one of {', '.join(FRAME_ROW)}")


def frame_table(dialogues: pa.Table, columns: Sequence[str] | None = None) -> pa.Table:
    """The frame rows (``FRAME_ROW``) of a table of dialogue rows (``DIALOGUE_ROW``).

    ``columns`` names the columns to make, in the order wanted; None stands for all of them.
    """
    turn_lists = dialogues["turns"].combine_chunks()
    turns = turn_lists.flatten()
    frame_lists = pc.struct_field(turns, "frames")
    all_frames = frame_lists.flatten()
    users = pc.equal(pc.struct_field(turns, "speaker"), "USER").to_numpy(zero_copy_only=False)

    turn_of_frame = pc.list_parent_indices(frame_lists).to_numpy()
    stated = pc.struct_field(all_frames, "state").is_valid().to_numpy(zero_copy_only=False)
    picked = np.flatnonzero(users[turn_of_frame] & stated)
    turn = turn_of_frame[picked]
    dialogue = pc.list_parent_indices(turn_lists).to_numpy()[turn]
    first_turn = (turn_lists.offsets.to_numpy() - turn_lists.offsets[0].as_py())[dialogue]

    rows = all_frames.take(pa.array(picked))
    ids = dialogues["dialogue_id"].combine_chunks().take(pa.array(dialogue))
    all_schemas = dialogues["schemas"].combine_chunks()
    schemas = all_schemas.flatten()
    schema = _schema_index(all_schemas, dialogue, rows.field("service"))
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
        **{gold: partial(rows.field("state").field, gold) for gold in STATE},
        "slots": lambda: rows.field("slots"),
        "schema_slots": lambda: _schema_slots(pc.struct_field(schemas, "slots")).take(schema),
    }
    features = Features({name: FRAME_ROW[name] for name in columns or FRAME_ROW})
    arrays = [make[name]().cast(field.type) for name, field in zip(features, features.arrow_schema)]
    return pa.table(arrays, schema=features.arrow_schema)


def _schema_index(
    schema_lists: pa.ListArray, dialogue: np.ndarray, services: pa.StringArray
) -> pa.Int32Array:
    """Per row, where its service's schema, as joined into its own dialogue, is among all."""
    names = pc.struct_field(schema_lists.flatten(), "service_name")
    owner = pc.list_parent_indices(schema_lists).cast(pa.string())
    joined = pc.binary_join_element_wise(owner, names, "/")
    wanted = pc.binary_join_element_wise(pa.array(dialogue).cast(pa.string()), services, "/")
    return pc.index_in(wanted, value_set=joined)


def _history(
    turns: pa.StructArray, users: np.ndarray, first: np.ndarray, end: np.ndarray
) -> pa.ListArray:
    """Per row, turns ``first`` to before ``end``: speaker, utterance and the system's actions."""
    acted = _system_actions(turns, users)
    lengths = end - first
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, lengths)
    said = pa.StructArray.from_arrays(
        [pc.struct_field(turns, "speaker"), pc.struct_field(turns, "utterance"), acted],
        ["speaker", "utterance", "actions"],
    )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), said.take(pa.array(positions)))


def _system_actions(turns: pa.StructArray, users: np.ndarray) -> pa.ListArray:
    """Per turn, the actions of its frames with their service; none for user turns."""
    frame_lists = pc.struct_field(turns, "frames")
    all_frames = frame_lists.flatten()
    action_lists = pc.struct_field(all_frames, "actions")
    actions = action_lists.flatten()
    frame = pc.list_parent_indices(action_lists).to_numpy()
    turn = pc.list_parent_indices(frame_lists).to_numpy()[frame]
    kept = np.flatnonzero(~users[turn])
    counts = np.bincount(turn[kept], minlength=len(turns))
    services = pc.struct_field(all_frames, "service").take(pa.array(frame[kept]))
    taken = actions.take(pa.array(kept))
    fields = [field.name for field in taken.type]
    with_service = pa.StructArray.from_arrays(
        [services, *(taken.field(name) for name in fields)], ["service", *fields]
    )
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, with_service)


def _schema_slots(slot_lists: pa.ListArray) -> pa.ListArray:
    """The slots' names and flags, which scoring goes through, without their descriptions."""
    slots = slot_lists.flatten()
    brief = pa.StructArray.from_arrays(
        [pc.struct_field(slots, "name"), pc.struct_field(slots, "is_categorical")],
        ["name", "is_categorical"],
    )
    lengths = slot_lists.value_lengths().to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, brief)
