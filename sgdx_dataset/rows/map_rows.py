"""Rows made of dialogue rows, whatever these come as: a dataset, one row or a list of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..io.errors import SgdxError
from ..io.progress import advance, progress
from . import columns as column_types
from .columns import DIALOGUE_COLUMNS

if TYPE_CHECKING:
    from datasets import Dataset, Features, IterableDataset

MakeTable = Callable[[pa.Table], pa.Table]
_EXPECTED = (
    "expected dialogue rows: a Dataset, an IterableDataset, a DatasetDict, one row as rows[0] gives"
    " it, or a list of rows"
)


def map_rows(dialogues: Any, make: MakeTable, what: str, features: Features, made_by: str) -> Any:
    """Make rows of dialogue rows, in the dialogues' order."""
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

    if isinstance(dialogues, DatasetDict | IterableDatasetDict):
        splits = dialogues.items()
        mapped_splits = {
            name: map_rows(rows, make, what, features, made_by) for name, rows in splits
        }
        return type(dialogues)(mapped_splits)
    if isinstance(dialogues, Dataset | IterableDataset):
        return _dataset(dialogues, make, what, features, made_by)
    return make(_table([dialogues] if isinstance(dialogues, Mapping) else dialogues)).to_pylist()


def code_of(*files: str) -> str:
    """The content of some source files and of ``columns.py``, as ``map_rows`` takes it."""
    paths = [*files, column_types.__file__]
    return "".join(Path(file).read_text(encoding="utf-8") for file in paths)


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
    dialogues: Dataset | IterableDataset,
    make: MakeTable,
    what: str,
    features: Features,
    made_by: str,
) -> Dataset | IterableDataset:
    """The rows made of a split, as the same kind of dataset."""
    from datasets import IterableDataset

    _check_columns(dialogues.column_names)
    settings: dict[str, Any] = {
        "batched": True,
        "batch_size": 256,
        "features": features,
        "remove_columns": [name for name in dialogues.column_names if name not in features],
    }
    batch = partial(_batch, make=make)
    with progress(f"Making {what}", _length(dialogues), " dialogues"):
        if isinstance(dialogues, IterableDataset):
            return dialogues.with_format("arrow").map(batch, **settings).with_format(None)
        key = f"{dialogues._fingerprint} {what} {made_by}"
        settings["new_fingerprint"] = sha256(key.encode()).hexdigest()[:32]
        rows = dialogues.with_format("arrow")
        try:
            made = rows.map(batch, **settings)
        # Another process prepares another source in this cache: its folder is not there at one
        # look, or is there for `mkdir` and gone for the look after it.
        except (FileNotFoundError, FileExistsError):
            made = rows.map(batch, keep_in_memory=True, **settings)
    return made.with_format(None)


def _length(dialogues: Dataset | IterableDataset) -> int:
    """The number of dialogues, or 0 where it is not known before they are read."""
    return len(dialogues) if hasattr(dialogues, "__len__") else 0


def _batch(dialogues: pa.Table, make: MakeTable) -> pa.Table:
    advance(dialogues.num_rows)
    return make(dialogues)
