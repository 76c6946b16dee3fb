"""Rows made of dialogue rows, whatever these come as: a dataset, one row or a list of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..io.errors import SgdxError
from ..io.progress import advance, progress
from .columns import DIALOGUE_COLUMNS

if TYPE_CHECKING:
    from datasets import Dataset, Features, IterableDataset

MakeTable = Callable[[pa.Table], pa.Table]
_EXPECTED = (
    "expected dialogue rows: a Dataset, an IterableDataset, a DatasetDict, one row as rows[0] gives"
    " it, or a list of rows"
)


def map_rows(dialogues: Any, make: MakeTable, what: str, features: Features) -> Any:
    """Make rows of dialogue rows, in the dialogues' order."""
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

    if isinstance(dialogues, DatasetDict | IterableDatasetDict):
        splits = {s: map_rows(rows, make, what, features) for s, rows in dialogues.items()}
        return type(dialogues)(splits)
    if isinstance(dialogues, Dataset | IterableDataset):
        return _dataset(dialogues, make, what, features)
    return make(_table([dialogues] if isinstance(dialogues, Mapping) else dialogues)).to_pylist()


def _table(rows: Any) -> pa.Table:
    """A list of dialogue rows as a table."""
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise SgdxError(f"found {type(rows).__name__}, {_EXPECTED}")
    for row in rows:
        _check_columns(list(row))
    try:
        return pa.Table.from_pylist(list(rows), DIALOGUE_COLUMNS)
    except (pa.ArrowException, TypeError) as error:  # such as the columns that ``rows[:2]`` gives
        raise SgdxError(f"found no dialogue row: {error}; {_EXPECTED}") from None


def _check_columns(columns: Sequence[str]) -> None:
    if lacking := [name for name in DIALOGUE_COLUMNS.names if name not in columns]:
        names = ", ".join(map(str, columns))
        raise SgdxError(f"found the columns {names} without {', '.join(lacking)}; {_EXPECTED}")


def _dataset(
    dialogues: Dataset | IterableDataset, make: MakeTable, what: str, features: Features
) -> Dataset | IterableDataset:
    """The rows made of a split, as the same kind of dataset."""
    from datasets import IterableDataset

    from .. import sgdx_dataset as builder

    _check_columns(dialogues.column_names)
    settings: dict[str, Any] = {
        "batched": True,
        "batch_size": 256,
        "features": features,
        "remove_columns": [name for name in dialogues.column_names if name not in features],
    }
    batch = partial(_batch, make=make)
    length = len(dialogues) if hasattr(dialogues, "__len__") else 0  # 0 where it is not known
    with progress("Making rows", length, " dialogues"):
        if isinstance(dialogues, IterableDataset):
            return dialogues.with_format("arrow").map(batch, **settings).with_format(None)
        # ``datasets`` goes by a function's name, and would take rows that earlier code has made.
        key = f"{dialogues._fingerprint} {what} {builder.VERSION}"
        settings["new_fingerprint"] = sha256(key.encode()).hexdigest()[:32]
        rows = dialogues.with_format("arrow")
        try:
            made = rows.map(batch, **settings)
        # Another process prepares another source in this cache: its folder is not there at one
        # look, or is there for `mkdir` and gone for the look after it.
        except (FileNotFoundError, FileExistsError):
            made = rows.map(batch, keep_in_memory=True, **settings)
    return made.with_format(None)


def _batch(dialogues: pa.Table, make: MakeTable) -> pa.Table:
    advance(dialogues.num_rows)
    return make(dialogues)
