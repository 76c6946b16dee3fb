"""Nested Arrow columns as flat arrays, each value with the frame it belongs to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .errors import ScoreError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Coded(NamedTuple):
    """Strings, of which many are equal."""

    # The distinct strings, and the position of each string among them [strings].
    distinct: pa.Array
    code: Ints


@dataclass(frozen=True)
class SlotValues:
    """The slot values of many frames, laid end to end. An assignment gives a slot its values."""

    # The frame, and the name of the slot, of each assignment [assignments].
    frame: Ints
    slot: Coded
    # The assignment of each value, and the value; those of an assignment in their order [values].
    parent: Ints
    value: pa.Array

    def first(self) -> Ints:
        """Index of each assignment's first value [assignments]; each has one value at least."""
        return np.flatnonzero(np.diff(self.parent, prepend=-1))


@dataclass(frozen=True)
class AlignedRows:
    """References or predictions, whose columns can be had in the order of the frames."""

    table: pa.Table
    # The index of each row's frame among the sorted frames [rows].
    position: Ints
    count: int

    def aligned(self, name: str) -> pa.Array:
        """A column, in the order of the frames [frames]."""
        return column(self.table, name).take(self._row_of_frame)

    @cached_property
    def _row_of_frame(self) -> pa.Array:
        """The row of each frame [frames]."""
        return pa.array(np.argsort(self.position))

    def exploded(self, name: str) -> tuple[Ints, pa.Array]:
        """The elements of a list column, and the position of each element's frame [elements]."""
        rows, elements = explode(column(self.table, name))
        return self.position[rows], elements

    def slot_values(self, name: str = "slot_values") -> SlotValues:
        """The values of all states, or of another column of slots and values, laid end to end."""
        # Two explosions: states into assignments of a slot, and those into values.
        frame, assignments = self.exploded(name)
        parent, values = explode(field(assignments, "values"))
        return SlotValues(frame, encode(field(assignments, "slot")), parent, strings(values))


def align(table: pa.Table, order: pa.Array, whose: str, unit: str = "frames") -> AlignedRows:
    """Align rows with the frames of `order`; raises ScoreError for the reasons of `positions`."""
    return AlignedRows(table, positions(frame_ids(table), order, whose, unit), len(order))


def frame_ids(table: pa.Table) -> pa.Array:
    """The frame ids of rows [rows]."""
    return strings(column(table, "frame_id"))


def sorted_ids(table: pa.Table) -> pa.Array:
    """The frame ids of rows, sorted [rows]."""
    ids = frame_ids(table)
    return ids.take(pc.sort_indices(ids))


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    chunks = table[name].chunks
    return chunks[0] if len(chunks) == 1 else table[name].combine_chunks()


def strings(array: pa.Array) -> pa.Array:
    """Text as plain Arrow strings, however the file stored it."""
    return array.cast(pa.string())


def field(array: pa.Array, name: str) -> pa.Array:
    """One field of a struct column."""
    return pc.struct_field(array, name)


def explode(lists: pa.Array) -> tuple[Ints, pa.Array]:
    """The row of each element, and the elements, of a list column."""
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return rows.astype(np.int64), pc.list_flatten(lists)


def encode(array: pa.Array) -> Coded:
    """Text as codes."""
    encoded = strings(array).dictionary_encode()
    return Coded(encoded.dictionary, integers(encoded.indices))


def encode_alike(*arrays: pa.Array) -> tuple[pa.Array, list[Ints]]:
    """The distinct strings of all arrays together, and each array as positions among them."""
    distinct, code = encode(pa.concat_arrays([strings(array) for array in arrays]))
    return distinct, np.split(code, np.cumsum([len(array) for array in arrays])[:-1])


def integers(array: pa.Array) -> Ints:
    """Numbers, or text of digits, as numpy; -1 where there is none."""
    filled = array.cast(pa.int64()).fill_null(-1)
    return np.asarray(filled.to_numpy(zero_copy_only=False))


class Index:
    """Where keys are, which is found by a search among them in ascending order."""

    def __init__(self, key: Ints) -> None:
        self._order = np.argsort(key, kind="stable")
        self._ascending = key[self._order]

    def locate(self, key: Ints) -> Ints:
        """The index of each key; -1 where it is not there, and else the first of equal ones."""
        if not len(self._order):
            return np.full(len(key), -1)
        # Where `key` would be inserted; past the end the last one is taken, which then differs.
        position = np.searchsorted(self._ascending, key).clip(max=len(self._order) - 1)
        return np.where(self._ascending[position] == key, self._order[position], -1)

    def repeated(self) -> int | None:
        """The index of a key that is there before; None where all are distinct."""
        again = np.flatnonzero(self._ascending[1:] == self._ascending[:-1])
        return int(self._order[again[0] + 1]) if len(again) else None


def flags(array: pa.Array) -> Bools:
    """A true/false column as numpy."""
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.bool_)


def safe_divide(
    total: npt.NDArray[Any], number: npt.NDArray[Any], otherwise: float = np.nan
) -> Floats:
    """Divide totals by numbers; the result is `otherwise` where the number is 0."""
    ratio: Floats = np.full(total.shape, otherwise)
    np.divide(total, number, out=ratio, where=number > 0)
    return ratio


def positions(frame_ids: pa.Array, order: pa.Array, whose: str, unit: str = "frames") -> Ints:
    """The index of each of `frame_ids` [rows] in `order` [frames], which has the same frames."""
    position = integers(pc.index_in(frame_ids, value_set=order))
    # Each index is there once, and none is -1: the frames are the same on both sides.
    if not np.array_equal(np.sort(position), np.arange(len(order))):
        raise ScoreError(f"{whose}: {_misalignment(frame_ids, order, unit)}")
    return position


def _misalignment(frame_ids: pa.Array, order: pa.Array, unit: str) -> str:
    """What is wrong with frame ids that are not those of `order`, each once."""
    counts = Counter(frame_ids.to_pylist())
    if unknown := absent(frame_ids, order):
        return (
            f"{len(unknown)} of {len(frame_ids)} {unit} are not in the references, the first is "
            f"{unknown[0]}{why_unknown(unknown, order)}"
        )
    if twice := [frame_id for frame_id, count in counts.items() if count > 1]:
        what = f"{len(twice)} of {len(counts)} {unit} appear more than once"
        return f"{what}, the first is {twice[0]}"
    missing = absent(order, frame_ids)
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


def why_unknown(unknown: Sequence[str], known_ids: pa.Array) -> str:
    """The end of an error message about unknown ids of frames: what most of them have wrong."""
    known = known_ids.to_pylist()
    turns = {frame_id.rpartition("/")[0] for frame_id in known}
    named = [frame_id for frame_id in unknown if frame_id.rpartition("/")[0] in turns]
    if 2 * len(named) > len(unknown):
        turn = named[0].rpartition("/")[0]
        ids = [frame_id for frame_id in known if frame_id.rpartition("/")[0] == turn]
        return f"; that turn has {', '.join(ids)}: an id ends in the service's original name"
    dialogues = {*map(_dialogue, known)}
    if 2 * sum(_dialogue(frame_id) in dialogues for frame_id in unknown) > len(unknown):
        return (
            "; its dialogue is known and its turn is not: turns of the user and of the system are "
            f"counted from 0, as in {known[0]}"
        )
    return "; most are of dialogues that the references lack: they are of another source or split"
