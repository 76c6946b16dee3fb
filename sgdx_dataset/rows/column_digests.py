"""Digests of the columns of rows, by which a change of a Parquet file is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class ColumnDigests:
    """Digests of the columns of a table that comes in parts; how it is cut makes no difference."""

    def __init__(self) -> None:
        self._hashes: dict[str, dict[str, Any]] = {}  # by column, then by what is in it

    def add(self, table: pa.Table) -> None:
        """Add the next rows, which have the same columns as those before."""
        for name in table.column_names:
            hashes = self._hashes.setdefault(name, {})
            for chunk in table[name].chunks:
                for path, content in _contents(chunk, ""):
                    hashes.setdefault(path, hashlib.sha256()).update(content)

    def hex(self) -> dict[str, str]:
        """The first 16 hexadecimal digits of a SHA-256 of each column, by its name."""
        return {name: _joined(hashes) for name, hashes in self._hashes.items()}


def column_digests(table: pa.Table) -> dict[str, str]:
    """The digests of a whole table's columns, as ``ColumnDigests`` has them."""
    digests = ColumnDigests()
    digests.add(table)
    return digests.hex()


def _joined(hashes: dict[str, Any]) -> str:
    lines: Iterable[str] = (f"{path} {content.hexdigest()}" for path, content in hashes.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _contents(array: pa.Array, path: str) -> Iterator[tuple[str, bytes]]:
    """The content of an array, nested ones part by part, as bytes under names of the parts."""
    yield f"{path}?", array.is_valid().to_numpy(zero_copy_only=False).tobytes()
    if pa.types.is_struct(array.type):
        for field in array.type:
            yield from _contents(pc.struct_field(array, field.name), f"{path}.{field.name}")
    elif pa.types.is_list(array.type):
        yield f"{path}#", _numbers(array.value_lengths())
        yield from _contents(array.flatten(), f"{path}[]")
    elif pa.types.is_string(array.type):
        yield f"{path}#", _numbers(pc.binary_length(array))
        yield path, "".join(array.drop_null().to_pylist()).encode()
    else:
        yield path, _numbers(array)


def _numbers(array: pa.Array) -> bytes:
    """Numbers or truth values as bytes, 0 for null."""
    return bytes(array.cast(pa.int64()).fill_null(0).to_numpy().astype("<i8").tobytes())
