"""Frame rows and turn rows of dialogue rows, as which come a dataset, one row or a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Literal

import pyarrow as pa

from .columns import DIALOGUE_COLUMNS, FRAME, FRAME_COLUMNS, TURN, TURN_COLUMNS, VERSION
from .io.errors import SgdxError
from .io.json import many_objects
from .io.progress import advance, progress
from .release import open_release
from .rows import (
    COLUMNS,
    Dialogue,
    domains_seen,
    frame_rows,
    joined,
    plain_array,
    service_columns,
    turn_rows,
)
from .source import resolve_source, source_of_file

# What is read of turns. Most of a dialogue are results of calls, which no row has.
_FRAME = pa.struct([field for field in FRAME if field.name != "service_results"])
_TURNS = pa.list_(pa.struct({**{f.name: f.type for f in TURN}, "frames": pa.list_(_FRAME)}))

MakeTable = Callable[[pa.Table], pa.Table]
_EXPECTED = (
    "expected dialogue rows: a Dataset, an IterableDataset, a DatasetDict, one row as rows[0] gives"
    " it, or a list of rows"
)


def frames(dialogues: Any) -> Any:
    """The frame rows of dialogue rows, in the dialogues' order.

    A row has what a tracker may read, and then the gold state and what else scoring needs. A
    tracker may read ``history`` (the turns before this one, with the actions of the system),
    ``utterance`` and ``schema`` (that of the service).
    ``frame_id`` is ``<dialogue_id>/<turn index>/<original service>``, the same in every variant.
    Frames of user turns that carry no state (unannotated data) are left out.

    Args:
        dialogues: Dialogue rows, with the columns of ``DIALOGUE_COLUMNS``: a ``Dataset`` or
            ``IterableDataset``, a dictionary of them by split (``DatasetDict``), one row, a slice
            (``rows[:16]``), or a list of rows.

    Returns:
        Rows with the columns of ``FRAME_COLUMNS``: the same kind of dataset, or of dictionary of
        datasets, which as with any ``map`` is cached on disk where the dataset is; of one row or a
        list of rows, a list.

    Raises:
        SgdxError: It is none of these, or lacks columns of dialogue rows.
    """
    return _map(dialogues, partial(_rows_table, "frames", None), FRAME_COLUMNS, "frame rows")


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
        dialogues: As for ``frames``.
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
    if seen_domains is None:
        first = dialogues
        if isinstance(dialogues, Mapping):
            first = next(iter(dialogues.values()), None)
        files = getattr(first, "cache_files", None)
        source = source_of_file(files[0]["filename"]) if files else None
        seen_domains = domains_seen(open_release(resolve_source(source)))
    seen = sorted(seen_domains)
    make = partial(_rows_table, "turns", seen)
    return _map(dialogues, make, TURN_COLUMNS, f"turn rows {' '.join(seen)}")


def release_dialogue(row: Mapping[str, Any]) -> Dialogue:
    """A dialogue row as the release has it, without the schemas joined into it."""
    turns: list[Any] = []
    for turn in row["turns"]:
        frames: list[Any] = []
        for frame in turn["frames"]:
            made = {part: frame[part] for part in ("service", "slots", "actions")}
            if (state := frame["state"]) is not None:
                values = {pair["slot"]: pair["values"] for pair in state["slot_values"]}
                made["state"] = {**state, "slot_values": values}
            if (call := frame["service_call"]) is not None:
                made["service_call"] = {**call, "parameters": _mapping(call["parameters"])}
                results = frame.get("service_results", ())
                made["service_results"] = [_mapping(result) for result in results]
            frames.append(made)
        said = {"speaker": turn["speaker"], "utterance": turn["utterance"]}
        turns.append({**said, "frames": frames})
    services = row["services"]
    return {"dialogue_id": row["dialogue_id"], "services": services, "turns": turns}


def _mapping(pairs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {pair["slot"]: pair["value"] for pair in pairs}


def _rows_table(
    kind: Literal["frames", "turns"], seen_domains: Collection[str] | None, dialogues: pa.Table
) -> pa.Table:
    """The rows of a batch of dialogues."""
    advance(dialogues.num_rows)
    schema_lists = dialogues["schemas"].combine_chunks()
    schemas = schema_lists.flatten()
    # Taken, so that it is no slice of a larger one.
    schemas = schemas.take(pa.array(range(len(schemas)), pa.int64()))
    names, originals = (
        schemas.field(name).to_pylist() for name in ("service_name", "original_name")
    )
    counts = schema_lists.value_lengths().to_pylist()
    made, variants, place, places = list[Any](), list[str](), list[int](), list[list[int]]()
    first = 0
    with many_objects():
        rows = dialogues.select(["dialogue_id", "variant", "services"])
        rows = rows.append_column("turns", dialogues["turns"].cast(_TURNS)).to_pylist()
        for row, count in zip(rows, counts):
            own = {names[i]: i for i in range(first, first + count)}
            first += count
            dialogue = release_dialogue(row)
            original = {name: originals[i] for name, i in own.items()}
            for each in frame_rows(dialogue, original) if kind == "frames" else turn_rows(dialogue):
                made.append(each)
                variants.append(row["variant"])
                place.append(own[each["service"]])
                places.append([own[name] for name in each.get("services", ())])
        array = plain_array(kind, made)
    columns = {
        **dict(zip((field.name for field in array.type), array.flatten())),
        "variant": pa.array(variants, pa.string()),
        "place": pa.array(place, pa.int32()),
        "places": pa.array(places, pa.list_(pa.int32())),
    }
    return joined(columns, service_columns(schemas, seen_domains), COLUMNS[kind])


# ---- over all that dialogue rows may come as


def _map(dialogues: Any, make: MakeTable, columns: pa.Schema, what: str) -> Any:
    """Make rows of dialogue rows, in the dialogues' order."""
    from datasets import Dataset, DatasetDict, Features, IterableDataset, IterableDatasetDict

    if isinstance(dialogues, DatasetDict | IterableDatasetDict):
        splits = {s: _map(rows, make, columns, what) for s, rows in dialogues.items()}
        return type(dialogues)(splits)
    if not isinstance(dialogues, Dataset | IterableDataset):
        rows = [dialogues] if isinstance(dialogues, Mapping) else dialogues
        if isinstance(dialogues, Mapping) and isinstance(dialogues.get("dialogue_id"), list):
            # A slice of a dataset is a dict of columns.
            rows = [dict(zip(dialogues, row)) for row in zip(*dialogues.values())]
        return make(_table(rows)).to_pylist()
    _check_columns(dialogues.column_names)
    settings: dict[str, Any] = {
        "batched": True,
        "batch_size": 256,
        "features": Features.from_arrow_schema(columns),
        "remove_columns": [n for n in dialogues.column_names if n not in columns.names],
    }
    if isinstance(dialogues, IterableDataset):
        return dialogues.with_format("arrow").map(make, **settings).with_format(None)
    # ``datasets`` goes by a function's name, and would take rows that earlier code has made.
    key = f"{dialogues._fingerprint} {what} {VERSION}"
    settings["new_fingerprint"] = sha256(key.encode()).hexdigest()[:32]
    rows = dialogues.with_format("arrow")
    with progress("Making rows", len(dialogues), " dialogues"):
        try:
            made = rows.map(make, **settings)
        # Another process prepares another source in this cache: its folder is not there at one
        # look, or is there for `mkdir` and gone for the look after it.
        except (FileNotFoundError, FileExistsError):
            made = rows.map(make, keep_in_memory=True, **settings)
    return made.with_format(None)


def _table(rows: Any) -> pa.Table:
    """A list of dialogue rows as a table."""
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise SgdxError(f"found {type(rows).__name__}, {_EXPECTED}")
    for row in rows:
        _check_columns(list(row))
    try:
        return pa.Table.from_pylist(list(rows), DIALOGUE_COLUMNS)
    except (pa.ArrowException, TypeError) as error:
        raise SgdxError(f"found no dialogue row: {error}; {_EXPECTED}") from None


def _check_columns(columns: Sequence[str]) -> None:
    if lacking := [name for name in DIALOGUE_COLUMNS.names if name not in columns]:
        names = ", ".join(map(str, columns))
        raise SgdxError(f"found the columns {names} without {', '.join(lacking)}; {_EXPECTED}")
