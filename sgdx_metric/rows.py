"""Prediction and reference rows: what they hold, and Arrow tables of rows in JSON."""

import io
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.json as pj


class ScoreError(ValueError):
    """The input cannot be scored; the message says where, what was found and what was expected."""


# The official scorer takes a slot's first value, so there must be at least one.
Values = Annotated[list[str], msgspec.Meta(min_length=1)]


class SlotValue(msgspec.Struct, gc=False):
    """A slot of the state; a reference lists every spoken variant of its value."""

    slot: str
    values: Values


class Span(msgspec.Struct, gc=False):
    """Where the user says a slot's value: characters `start` to `exclusive_end`."""

    slot: str
    start: int
    exclusive_end: int


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
    """The part of a frame row that scoring reads.

    `slots` and `utterance` are needed only where spans are predicted.
    """

    service: str
    seen: bool
    schema_slots: list[SchemaSlot]
    utterance: str | None = None


_SPANS = pa.list_(
    pa.struct([("slot", pa.string()), ("start", pa.int64()), ("exclusive_end", pa.int64())])
)
PREDICTION = pa.schema(
    {
        "frame_id": pa.string(),
        "variant": pa.string(),
        "active_intent": pa.string(),
        "requested_slots": pa.list_(pa.string()),
        "slot_values": pa.list_(
            pa.struct([("slot", pa.string()), ("values", pa.list_(pa.string()))])
        ),
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
    ]
)


def json_lines(rows: Iterable[Any] | None, kind: type[Prediction], side: str) -> list[str]:
    """Write Python rows as lines of JSON; keys that `kind` lacks are skipped.

    Args:
        rows: The rows, or None for no rows.
        kind: What each row must be.
        side: What an error message calls the rows: "predictions" or "references".

    Raises:
        ScoreError: A row is not of that kind or not Unicode text; the message names it as
            `<side>[<index>]`.
    """
    encode = msgspec.json.Encoder().encode
    lines = []
    for i, row in enumerate(rows or ()):
        try:
            lines.append(encode(msgspec.convert(row, kind)).decode())
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
            raise ScoreError(f"{side}[{i}]: {error}") from None
    return lines


def arrow_table(lines: Iterable[bytes], schema: pa.Schema, where: str) -> pa.Table:
    """Make a table of rows that have been checked, each a line with one JSON object.

    Args:
        lines: The lines; blank ones are skipped.
        schema: The table's columns. Keys that it lacks are skipped; a key that a row lacks is null.
        where: What an error message begins with, such as the file's name.

    Raises:
        ScoreError: A row has a key twice.
    """
    data = b"\n".join(lines)
    if not data.strip():
        return schema.empty_table()
    try:
        table = pj.read_json(
            io.BytesIO(data),
            # One block, as a row that is longer than a block is refused.
            read_options=pj.ReadOptions(block_size=len(data) + 1),
            parse_options=pj.ParseOptions(schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowException, OverflowError) as error:
        raise ScoreError(f"{where}: {error}") from None
    return table.combine_chunks()
