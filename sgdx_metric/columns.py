"""Arrow columns of rows as flat arrays, and which row is of which frame."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .errors import ScoreError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    chunks = table[name].chunks
    return chunks[0] if len(chunks) == 1 else table[name].combine_chunks()


def strings(array: pa.Array) -> pa.Array:
    """Text as plain Arrow strings, however the file stored it."""
    return array.cast(pa.string())


def flags(array: pa.Array) -> Bools:
    """A true/false column as numpy."""
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)


def integers(array: pa.Array) -> Ints:
    """Numbers, or text of digits, as numpy; -1 where there is none."""
    filled = array.cast(pa.int64()).fill_null(-1)
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def explode(lists: pa.Array) -> tuple[Ints, pa.Array]:
    """The row of each element, and the elements, of a list column."""
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return rows.astype(np.int64), pc.list_flatten(lists)


def encode_alike(*arrays: pa.Array) -> tuple[pa.Array, list[Ints]]:
    """The distinct strings of all arrays together, and each array as positions among them."""
    encoded = pa.concat_arrays([strings(array) for array in arrays]).dictionary_encode()
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    return encoded.dictionary, np.split(integers(encoded.indices), ends)


def search(ascending: Ints, key: Ints) -> Ints:
    """The first position of each key among keys in ascending order; -1 where it is not there."""
    if not len(ascending):
        return np.full(len(key), -1)
    # Where `key` would be inserted; past the end the last one is taken, which then differs.
    position = np.searchsorted(ascending, key).clip(max=len(ascending) - 1)
    return np.where(ascending[position] == key, position, -1)


def safe_divide(
    total: npt.NDArray[Any], number: npt.NDArray[Any], otherwise: float = np.nan
) -> Floats:
    """Divide totals by numbers; the result is `otherwise` where the number is 0."""
    ratio: Floats = np.full(total.shape, otherwise)
    np.divide(total, number, out=ratio, where=number > 0)
    return ratio


# ---- which row is of which frame


def sorted_ids(table: pa.Table) -> pa.Array:
    """The frame ids of rows, sorted [rows]."""
    ids = strings(column(table, "frame_id"))
    return ids.take(pc.sort_indices(ids))


def align(table: pa.Table, order: pa.Array, whose: str, unit: str = "frames") -> pa.Table:
    """Rows in the order of frames; raises ScoreError unless each frame has one row."""
    ids = strings(column(table, "frame_id"))
    place = pc.index_in(order, value_set=ids)
    if place.null_count or not len(order) == len(ids) == pc.count_distinct(ids).as_py():
        raise ScoreError(f"{whose}: {misalignment(ids, order, unit)}")
    return table if ids.equals(order) else table.take(place)


def misalignment(frame_ids: pa.Array, order: pa.Array, unit: str) -> str:
    """What is wrong with frame ids that are not those of `order`, each once."""
    counts = Counter(frame_ids.to_pylist())
    if unknown := absent(frame_ids, order):
        return (
            f"{len(unknown)} of {len(frame_ids)} {unit} are not in the references, the first is "
            f"{unknown[0]}{_why_unknown(unknown, order)}"
        )
    if twice := [frame_id for frame_id, count in counts.items() if count > 1]:
        what = f"{len(twice)} of {len(counts)} {unit} appear more than once"
        return f"{what}, the first is {twice[0]}"
    missing = sorted(absent(order, frame_ids))
    what = f"{len(missing)} of {len(order)} {unit} are missing, the first is {missing[0]}"
    whole = {*map(_dialogue, missing)} - {*map(_dialogue, counts)}
    if counts and whole:
        what += f"; of {len(whole)} dialogues there is none: to score only some dialogues, give"
        what += " --dialogues FILE, or dialogues=[ids]"
    return what


def absent(frame_ids: pa.Array, others: pa.Array) -> list[str]:
    """Those of some frame ids that are not among the others."""
    ids: list[str] = frame_ids.filter(pc.invert(pc.is_in(frame_ids, value_set=others))).to_pylist()
    return ids


def _dialogue(frame_id: str) -> str:
    return frame_id.rsplit("/", 2)[0]


def _why_unknown(unknown: Sequence[str], known_ids: pa.Array) -> str:
    """The end of an error message about unknown ids of frames: what most of them have wrong."""
    known = known_ids.to_pylist()
    turns = {frame_id.rpartition("/")[0] for frame_id in known}
    services = {frame_id.rpartition("/")[2] for frame_id in known}
    is_service = unknown[0].rpartition("/")[2] in services
    named = "an id ends in the service's original name"
    in_turn = [frame_id for frame_id in unknown if frame_id.rpartition("/")[0] in turns]
    if 2 * len(in_turn) > len(unknown):
        turn = in_turn[0].rpartition("/")[0]
        ids = ", ".join(frame_id for frame_id in known if frame_id.rpartition("/")[0] == turn)
        is_service = in_turn[0].rpartition("/")[2] in services
        return f"; that turn has {ids}" + ("" if is_service else f": {named}")
    dialogues = {*map(_dialogue, known)}
    if 2 * sum(_dialogue(frame_id) in dialogues for frame_id in unknown) > len(unknown):
        lacks = "its turn is not" if is_service else "neither its turn nor its service is"
        return (
            f"; its dialogue is known and {lacks}: turns of the user and of the system are "
            f"counted from 0, as in {known[0]}, and {named}"
        )
    return "; most are of dialogues that the references lack: they are of another source or split"
