"""Building Arrow arrays of lists and records from flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..io.errors import SgdxError


def code_array(integers: list[int]) -> pa.Int32Array:
    """Codes as an Arrow array of 32-bit integers."""
    return pa.array(integers, pa.int32())


def offsets_of(lists: Iterable[Sized]) -> pa.Int32Array:
    """Where each list begins when all are laid end to end, and the last one ends [lists + 1]."""
    return _offsets(np.fromiter(map(len, lists), np.int32))


def _offsets(lengths: np.ndarray) -> pa.Int32Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def list_array(offsets: pa.Int32Array, values: pa.Array) -> pa.ListArray:
    """Lists of ``values``, which are all lists' items laid end to end, cut at ``offsets``."""
    return pa.ListArray.from_arrays(offsets, values)


def lists_of(lengths: np.ndarray, values: pa.Array) -> pa.ListArray:
    """Lists of ``values``, which are all lists' items laid end to end; lengths are [lists]."""
    return list_array(_offsets(lengths), values)


def struct_array(absent: pa.BooleanArray | None = None, **fields: pa.Array) -> pa.StructArray:
    """Records of these fields, all of one length; a record is null where ``absent`` is true."""
    return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=absent)


def scattered(codes: list[int], absent: pa.BooleanArray) -> pa.Int32Array:
    """An array with ``codes``, in order, where ``absent`` is false, and null elsewhere."""
    present = pc.invert(absent)
    return pc.replace_with_mask(pa.nulls(len(absent), pa.int32()), present, code_array(codes))


def table_of(
    make: Mapping[str, Callable[[], pa.Array]], schema: pa.Schema, columns: Sequence[str] | None
) -> pa.Table:
    """A table of some columns of a schema, in this order; None stands for all."""
    wanted = pa.schema([schema.field(name) for name in columns or schema.names])
    return pa.table([make[column.name]().cast(column.type) for column in wanted], schema=wanted)


def check_columns(columns: Sequence[str] | None, schema: pa.Schema) -> None:
    """Raise ``SgdxError`` unless a schema has all of the columns."""
    for column in columns or ():
        if column not in schema.names:
            names = ", ".join(schema.names)
            raise SgdxError(f"unknown column {column!r}, expected one of {names}")
