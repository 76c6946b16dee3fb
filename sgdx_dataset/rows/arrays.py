"""Arrow arrays of lists and records, from flat ones."""

from __future__ import annotations

from collections.abc import Iterable, Sized

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def code_array(integers: list[int]) -> pa.Int32Array:
    """Codes as an Arrow array."""
    return pa.array(integers, pa.int32())


def offsets_of(lists: Iterable[Sized]) -> pa.Int32Array:
    """Where each list begins in the lists laid end to end, and where the last one ends."""
    lengths = np.fromiter(map(len, lists), np.int32)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def list_array(offsets: pa.Int32Array, values: pa.Array) -> pa.ListArray:
    """Lists cut out of ``values``, which are theirs laid end to end."""
    return pa.ListArray.from_arrays(offsets, values)


def struct_array(absent: pa.BooleanArray | None = None, **fields: pa.Array) -> pa.StructArray:
    """Records of these fields; null where ``absent``."""
    return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=absent)


def scattered(codes: list[int], absent: pa.BooleanArray) -> pa.Int32Array:
    """``codes`` at the places that are not absent, null at the others."""
    present = pc.invert(absent)
    return pc.replace_with_mask(pa.nulls(len(absent), pa.int32()), present, code_array(codes))
