"""Turn rows: one for each turn of the system, which is what a generator has to put into words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..io.errors import SgdxError
from ..io.progress import progress
from ..release.open import open_release
from ..release.release import Release
from ..release.remembered import resolve_source, source_of_file
from ..release.schema import split_name
from . import frame_rows
from .columns import TURN_COLUMNS
from .dialogue_rows import dialogue_tables, steps
from .frame_rows import schema_index
from .map_rows import code_of, map_rows


def turns(dialogues: Any, seen_domains: Collection[str] | None = None) -> Any:
    """The turn rows of dialogue rows, in the dialogues' order.

    A row is one turn of the system. A generator may read its ``actions``, ``intent`` and
    ``schemas`` (those of the turn's services); ``utterance`` is what the system said in the corpus,
    and ``prompt`` what the user said before, empty where nobody did. ``turn_id`` is
    ``<dialogue_id>/<turn index>``, the same in every variant. ``intent`` is the name of the intent
    whose call the turn reports (``service_call.method``), empty where there is no call. Actions of
    several frames stand in the frames' order, and ``service``, ``seen`` and ``seen_domain`` are of
    the first frame. Turns without a frame are left out.

    Args:
        dialogues: Dialogue rows, with the columns of ``DIALOGUE_COLUMNS``: a ``Dataset`` or
            ``IterableDataset``, a dictionary of them by split (``DatasetDict``), one row, or a list
            of rows.
        seen_domains: The domains of the original train split, as ``domains_seen`` returns them;
            None to read them off the source that the dialogues' cache was made from; of rows that
            are in no cache, such as streamed ones, off the source that commands take by default,
            which then must be the one that the dialogues are from.

    Returns:
        Rows with the columns of ``TURN_COLUMNS``: the same kind of dataset, or of dictionary of
        datasets; of one row or a list of rows, a list.

    Raises:
        SgdxError: It is none of these, or lacks columns of dialogue rows; or a service was seen in
            training whose domain is not among ``seen_domains``.
    """
    from .features import TURN_ROW

    if seen_domains is None:
        seen_domains = domains_seen(open_release(resolve_source(_source(dialogues))))
    seen = sorted(seen_domains)
    made_by = code_of(__file__, frame_rows.__file__) + " ".join(seen)
    make = partial(turn_table, seen_domains=seen)
    return map_rows(dialogues, make, "turn rows", TURN_ROW, made_by)


def _source(dialogues: Any) -> str | None:
    """The source that cached dialogues were made from; None for dialogues that are in no cache."""
    if isinstance(dialogues, Mapping):
        dialogues = next(iter(dialogues.values()), None)
    files = getattr(dialogues, "cache_files", None)
    return source_of_file(files[0]["filename"]) if files else None


def domains_seen(release: Release) -> set[str]:
    """The domains of the original train split: its services' names up to the first underscore."""
    return {service.partition("_")[0] for service in release.seen_services()}


def turn_tables(
    release: Release, split: str, config: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """The turn rows of a split under a config, made in memory from an open release.

    Args:
        release: What ``open_release`` returned.
        split: ``train``, ``validation`` (or ``dev``) or ``test``.
        config: One of ``CONFIGS``, or of the release's own variants.
        columns: Names of the columns to make, in the order of the result; None for all columns of
            ``TURN_COLUMNS``. Leaving out ``schemas`` saves most of the memory.

    Returns:
        One row per turn of the system, with the types of ``TURN_COLUMNS``.

    Raises:
        SgdxError: The config, the split or a column is unknown, the split has no dialogues under
            the config, or the release is at fault.
    """
    with progress("Making turn rows", steps(release, [config], [split_name(split)])):
        return pa.concat_tables(turn_parts(release, split, config, columns))


def turn_parts(
    release: Release, split: str, config: str, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """The turn rows of ``turn_tables`` in one table per dialogue file."""
    for column in columns or ():
        if column not in TURN_COLUMNS.names:
            names = ", ".join(TURN_COLUMNS.names)
            raise SgdxError(f"unknown column {column!r}, expected one of {names}")
    split = split_name(split)
    release.check_dialogues(config, split)
    domains = domains_seen(release)
    return (
        turn_table(table, domains, columns) for _, table in dialogue_tables(release, split, config)
    )


def turn_table(
    dialogues: pa.Table, seen_domains: Collection[str], columns: Sequence[str] | None = None
) -> pa.Table:
    """Make the turn rows (``TURN_COLUMNS``) of a table of dialogue rows (``DIALOGUE_COLUMNS``)."""
    # Levels are laid end to end and joined by parent indices, as in ``frame_rows.frame_table``.
    turn_lists = dialogues["turns"].combine_chunks()
    all_turns = turn_lists.flatten()
    speaker = pc.struct_field(all_turns, "speaker").to_numpy(zero_copy_only=False)
    all_frames = pc.struct_field(all_turns, "frames")
    has_frames = all_frames.value_lengths().to_numpy() > 0
    system_turns = np.flatnonzero((speaker == "SYSTEM") & has_frames)
    dialogue = pc.list_parent_indices(turn_lists).to_numpy()[system_turns]
    first_turn = (turn_lists.offsets.to_numpy() - turn_lists.offsets[0].as_py())[dialogue]
    # The turn before a dialogue's first one is another dialogue's, and is no prompt.
    prompted = (system_turns > first_turn) & (speaker[system_turns - 1] == "USER")

    rows = all_turns.take(pa.array(system_turns))
    frame_lists = pc.struct_field(rows, "frames")
    frames = frame_lists.flatten()
    turn = pc.list_parent_indices(frame_lists).to_numpy()
    first = np.flatnonzero(np.diff(turn, prepend=-1))  # each turn's first frame
    schemas = dialogues["schemas"].combine_chunks()
    schema = schema_index(schemas, dialogue[turn], frames.field("service"))
    words = pc.struct_field(schemas.flatten(), "original_name").take(schema.take(pa.array(first)))
    seen = pc.struct_field(schemas.flatten(), "seen").take(schema.take(pa.array(first)))
    ids = dialogues["dialogue_id"].combine_chunks().take(pa.array(dialogue))
    utterances = pc.struct_field(all_turns, "utterance")
    index = pa.array(system_turns - first_turn, pa.int32()).cast(pa.string())
    make: dict[str, Callable[[], pa.Array]] = {
        "turn_id": lambda: pc.binary_join_element_wise(ids, index, "/"),
        "variant": lambda: dialogues["variant"].combine_chunks().take(pa.array(dialogue)),
        "service": lambda: frames.field("service").take(pa.array(first)),
        "seen": lambda: seen,
        "seen_domain": lambda: _seen_domain(words, seen, seen_domains),
        "actions": lambda: _actions(frames, turn, len(system_turns)),
        "intent": lambda: _called(frames, turn, len(system_turns)),
        "schemas": lambda: pa.ListArray.from_arrays(
            _offsets(turn, len(system_turns)), schemas.flatten().take(schema)
        ),
        "prompt": lambda: pc.if_else(
            pa.array(prompted), utterances.take(pa.array(np.maximum(system_turns - 1, 0))), ""
        ),
        "utterance": partial(rows.field, "utterance"),
    }
    schema_of_rows = pa.schema([TURN_COLUMNS.field(name) for name in columns or TURN_COLUMNS.names])
    return pa.table(
        [make[column.name]().cast(column.type) for column in schema_of_rows], schema=schema_of_rows
    )


def _seen_domain(
    services: pa.StringArray, seen: pa.BooleanArray, seen_domains: Collection[str]
) -> pa.BooleanArray:
    """Whether each row's domain is in the train split, by the service's original name [rows]."""
    domains = pc.replace_substring_regex(services, "_.*", "")
    in_train = pc.is_in(domains, value_set=pa.array(sorted(seen_domains), pa.string()))
    if unknown := services.filter(pc.and_(seen, pc.invert(in_train))).unique().to_pylist():
        raise SgdxError(
            f"service {unknown[0]} was seen in training, and its domain is not among the seen"
            f" domains {', '.join(sorted(seen_domains))}; expected those of the dialogues' own"
            " release"
        )
    return in_train


def _actions(frames: pa.StructArray, turn: np.ndarray, count: int) -> pa.ListArray:
    """The actions of each turn's frames, with their services [turns]."""
    lists = frames.field("actions")
    actions, frame = lists.flatten(), pc.list_parent_indices(lists).to_numpy()
    services = frames.field("service").take(pa.array(frame))
    fields = [field.name for field in actions.type]
    with_service = pa.StructArray.from_arrays(
        [services, *(actions.field(name) for name in fields)], ["service", *fields]
    )
    return pa.ListArray.from_arrays(_offsets(turn[frame], count), with_service)


def _called(frames: pa.StructArray, turn: np.ndarray, count: int) -> pa.StringArray:
    """The intent of each turn's first service call, empty where there is none [turns]."""
    methods = frames.field("service_call").field("method")
    calls = np.flatnonzero(frames.field("service_call").is_valid().to_numpy(zero_copy_only=False))
    calling, first = np.unique(turn[calls], return_index=True)
    index = np.full(count, -1)
    index[calling] = calls[first]
    return methods.take(pa.array(index, mask=index < 0)).fill_null("")


def _offsets(owner: np.ndarray, owners: int) -> pa.Int32Array:
    """Where each owner's items begin, and the last one's end, from the items' owners, sorted."""
    counts = np.bincount(owner, minlength=owners)
    return pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
