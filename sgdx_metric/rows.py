"""Prediction and reference rows: what they hold, and Arrow tables of rows in JSON."""

import gc
import io
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from .errors import ScoreError
from .variants import RELEASED, names_digest, own_variants, schema_digest

# The official scorer takes a slot's first value, so there must be at least one.
Values = Annotated[list[str], msgspec.Meta(min_length=1)]


class SlotValue(msgspec.Struct, gc=False):
    """A slot of the state; a reference lists every spoken variant of its value."""

    slot: str
    values: Values


# Where a span begins or ends. The official scorer would count a negative place from the end.
Place = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Span(msgspec.Struct, gc=False):
    """Where the user says a slot's value: characters `start` to `exclusive_end`."""

    slot: str
    start: Place
    exclusive_end: Place


class SchemaSlot(msgspec.Struct, gc=False):
    """A slot of the frame's schema."""

    name: str
    is_categorical: bool


class Prediction(msgspec.Struct, omit_defaults=True, gc=False):
    """What a tracker predicts for one frame under one schema variant; spans are optional."""

    frame_id: str
    variant: str
    active_intent: str
    requested_slots: list[str]
    slot_values: list[SlotValue]
    slots: list[Span] | None = None


class Reference(Prediction, kw_only=True):
    """The part of a frame row that scoring reads."""

    service: str
    seen: bool
    schema_slots: list[SchemaSlot]
    # Needed, as `slots` is, only where spans are predicted.
    utterance: str | None = None
    # What values of the state are to the API, for the accuracy that takes them too.
    canonical_values: list[SlotValue] | None = None
    # Looked at only under a variant of the user's own, where `words`, the schema's digest, then
    # takes its place.
    schema: dict[str, Any] | None = None
    words: str | None = None


# A prediction row, for error messages.
EXAMPLE_ROW = (
    '{"frame_id": "1_00000/0/Hotels_2", "variant": "v1", "active_intent": "SearchHouse", '
    '"requested_slots": ["rating"], "slot_values": [{"slot": "city", "values": ["Rome"]}]}'
)
_SLOT_VALUES = pa.list_(pa.struct([("slot", pa.string()), ("values", pa.list_(pa.string()))]))
_SPANS = pa.list_(
    pa.struct([("slot", pa.string()), ("start", pa.int64()), ("exclusive_end", pa.int64())])
)
PREDICTION = pa.schema(
    {
        "frame_id": pa.string(),
        "variant": pa.string(),
        "active_intent": pa.string(),
        "requested_slots": pa.list_(pa.string()),
        "slot_values": _SLOT_VALUES,
        "slots": _SPANS,
    }
)
REFERENCE = pa.schema(
    [
        *PREDICTION,
        ("service", pa.string()),
        ("seen", pa.bool_()),
        (
            "schema_slots",
            pa.list_(pa.struct([("name", pa.string()), ("is_categorical", pa.bool_())])),
        ),
        ("utterance", pa.string()),
        ("canonical_values", _SLOT_VALUES),
    ]
)
# What `rows_table` makes of references.
REFERENCE_ROW = REFERENCE.append(pa.field("words", pa.string()))


def rows_table(rows: Any, kind: type[Prediction], side: str) -> pa.Table:
    """A table of rows in any form, checked; keys that `kind` lacks are skipped."""
    rows = given_rows(rows, "frames" if kind is Reference else "")
    schema = REFERENCE_ROW if kind is Reference else PREDICTION
    # Columns of a data frame may be of any type, of which each value has to be looked at.
    columns = None if _is_frame(rows) else _columns(rows, kind, side)
    if columns is not None and (whole := _whole(columns, schema, kind)) is not None:
        return whole
    # The collector would look through all rows again and again, and finds nothing.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        listed = list(row_dicts(rows, kind, side))
        try:
            return _checked_table(listed, kind, schema)
        except (ValueError, TypeError, RecursionError):
            for i, row in enumerate(listed):  # find the row at fault
                try:
                    _checked_table([row], kind, schema)
                except (ValueError, TypeError, RecursionError) as of_row:
                    fault = re.sub(r"^(.*`\$)\[0\]", r"\1", str(of_row))
                    example = f"; expected a row as {EXAMPLE_ROW}" if side == "predictions" else ""
                    raise ScoreError(f"{side}[{i}]: {fault}{example}") from None
            raise
    finally:
        if was_enabled:
            gc.enable()


def given_rows(rows: Any, kind: str = "") -> Any:
    """Rows as they are given; of dialogue rows those of a kind, "frames" or "turns", are made.

    A slice of a dataset is a dict of columns.
    """
    if isinstance(rows, Mapping) and all(isinstance(column, list) for column in rows.values()):
        rows = [dict(zip(rows, row)) for row in zip(*rows.values())]
    first = rows[0] if isinstance(rows, list | tuple) and rows else rows
    names = first if isinstance(first, Mapping) else getattr(rows, "column_names", None) or ()
    if not kind or "turns" not in names or isinstance(rows, pa.Table):
        return rows
    import sgdx_dataset

    return (sgdx_dataset.frames if kind == "frames" else sgdx_dataset.turns)(rows)


def _checked_table(rows: list[Any], kind: type[Prediction], schema: pa.Schema) -> pa.Table:
    """The table of rows, each of which is as its kind says."""
    # By itself Arrow would take "Rome" for a list of characters, and 1.5 for 1.
    checked: list[Prediction] = msgspec.convert(rows, list[kind])  # type: ignore[valid-type]
    table = pa.Table.from_pylist(rows, schema)
    if kind is Reference:
        words = pa.array([_words(row) for row in checked], pa.string())
        table = table.set_column(table.column_names.index("words"), "words", words)
    return table.combine_chunks()


def _whole(rows: pa.Table, schema: pa.Schema, kind: type[msgspec.Struct]) -> pa.Table | None:
    """Columns of released variants as a schema has them, if nothing is wrong with them.

    None where a row has to be looked at: it may be at fault, or need the mark of its words.
    """
    known = rows.column_names
    try:
        columns = {
            field.name: rows[field.name].cast(field.type)
            if field.name in known
            else pa.nulls(len(rows), field.type)
            for field in schema
        }
    except pa.ArrowException:
        return None
    table = pa.table(columns, schema=schema).combine_chunks()
    variants = table["variant"].unique().to_pylist()
    if "words" in known or not {*variants} <= {*RELEASED}:
        return None
    return table if is_whole(table, kind) else None


def is_whole(table: pa.Table, kind: type[msgspec.Struct]) -> bool:
    """Whether nothing is null but what may be, no slot is without a value, and places are 0 on."""
    optional = {field.name for field in msgspec.structs.fields(kind) if not field.required}
    pending = [(table[n].combine_chunks(), n in optional, "") for n in table.column_names]
    while pending:
        array, may_lack, name = pending.pop()
        if array.null_count and not may_lack:
            return False
        if pa.types.is_struct(array.type):
            pending += [(part, may_lack, f.name) for f, part in zip(array.type, array.flatten())]
        elif pa.types.is_list(array.type):
            if name == "values" and pc.min(array.value_lengths()).as_py() == 0:
                return False
            pending.append((array.flatten(), False, ""))
        elif pa.types.is_integer(array.type) and len(array):
            ends = pc.min_max(array).as_py()
            if not 0 <= ends["min"] <= ends["max"] < 2**31:
                return False
    return True


def row_dicts(rows: Any, kind: type[msgspec.Struct], side: str) -> Iterable[Any]:
    """The rows as dicts; of columns by way of Arrow, three times as fast as one by one."""
    columns = _columns(rows, kind, side)
    if columns is not None:
        return (row for batch in columns.to_batches(1000) for row in batch.to_pylist())
    if rows is None:
        return ()
    if not isinstance(rows, Iterable):
        raise ScoreError(f"{side}: found {type(rows).__name__}, expected rows")
    return rows


def _is_frame(rows: Any) -> bool:
    """Whether rows are a data frame of pandas."""
    return hasattr(rows, "to_dict") and hasattr(rows, "columns")


def _columns(rows: Any, kind: type[msgspec.Struct], side: str) -> pa.Table | None:
    """Of rows that come as columns those that `kind` has; None of rows of other forms.

    The large schema is one of them only under variants of the user's own.
    """
    names = list(rows.columns if _is_frame(rows) else getattr(rows, "column_names", None) or ())
    known = [name for name in names if name in kind.__struct_fields__]
    if repeated := next((name for name in known if known.count(name) > 1), None):
        raise ScoreError(f"{side}: found two columns {repeated}, expected one")
    if names and not known:
        found, first = ", ".join(map(str, names)), kind.__struct_fields__[0]
        raise ScoreError(f"{side}: found the columns {found:.100}, expected {first} and others")
    if _is_frame(rows):
        try:  # Arrow knows that NaN stands for None.
            rows = pa.Table.from_pandas(rows[known], preserve_index=False)
        except pa.ArrowException as error:
            raise ScoreError(f"{side}: {'; '.join(map(str, error.args))}") from None
    is_table = isinstance(rows, pa.Table)
    if not (is_table or (hasattr(rows, "with_format") and hasattr(rows, "unique"))):
        return None  # such as a streamed dataset
    if "variant" in known:
        variants = rows["variant"].unique().to_pylist() if is_table else rows.unique("variant")
        known = [name for name in known if name != "schema" or own_variants(variants)]
    return rows.select(known) if is_table else rows.select_columns(known).with_format("arrow")[:]


def _words(row: Any) -> str | None:
    """The digest of a reference's schema, which marks a variant of the user's own; else None."""
    if row.variant in RELEASED:
        return None
    try:
        if row.schema:
            return schema_digest(row.schema)
        return names_digest(row.service, [slot.name for slot in row.schema_slots])
    except (KeyError, TypeError) as error:
        raise ScoreError(f"schema: found no {error}, expected a frame row's schema") from None


def arrow_table(data: bytes, schema: pa.Schema, where: str) -> pa.Table:
    """A table of checked rows, each a line of JSON: the keys that `schema` has, or null."""
    if not data or data.isspace():
        return schema.empty_table()
    try:
        table = pj.read_json(
            io.BytesIO(data),
            # One block, as a row that is longer than a block is refused; threads have no use then.
            read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pj.ParseOptions(schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowException, OverflowError) as error:
        raise ScoreError(f"{where}: {error}") from None
    return table.combine_chunks()
