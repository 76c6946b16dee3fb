"""Building Arrow arrays of lists and records from flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sized

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def code_array(integers: list[int]) -> pa.Int32Array:
    """Codes as an Arrow array of 32-bit integers."""
    return pa.array(integers, pa.int32())


def offsets_of(lists: Iterable[Sized]) -> pa.Int32Array:
    """Where each list begins when all are laid end to end, and where the last one ends."""
    lengths = np.fromiter(map(len, lists), np.int32)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def list_array(offsets: pa.Int32Array, values: pa.Array) -> pa.ListArray:
    """Lists of ``values``, which are all lists' items laid end to end, cut at ``offsets``."""
    return pa.ListArray.from_arrays(offsets, values)


def struct_array(absent: pa.BooleanArray | None = None, **fields: pa.Array) -> pa.StructArray:
    """Records of these fields, all of one length; a record is null where ``absent`` is true."""
    return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=absent)


def scattered(codes: list[int], absent: pa.BooleanArray) -> pa.Int32Array:
    """An array with ``codes``, in order, where ``absent`` is false, and null elsewhere."""
    present = pc.invert(absent)
    return pc.replace_with_mask(pa.nulls(len(absent), pa.int32()), present, code_array(codes))
