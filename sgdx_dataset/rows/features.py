"""The rows as ``datasets.Features``, which have the types of ``columns``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from datasets import Features, Value

from .columns import DIALOGUE_COLUMNS, FRAME_COLUMNS, TURN_COLUMNS


def _feature(kind: pa.DataType) -> Any:
    """The feature of an Arrow type: a record is a dictionary, a list is a list of one feature."""
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_feature(kind.value_type)]
    return Value(str(kind))


DIALOGUE_ROW = Features({column.name: _feature(column.type) for column in DIALOGUE_COLUMNS})
FRAME_ROW = Features({column.name: _feature(column.type) for column in FRAME_COLUMNS})
TURN_ROW = Features({column.name: _feature(column.type) for column in TURN_COLUMNS})
