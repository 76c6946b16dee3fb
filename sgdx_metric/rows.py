"""Prediction and reference rows: what they hold, checked JSON, and Arrow tables of them."""

import io
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.json as pj


class ScoreError(ValueError):
    """The input cannot be scored; the message is one line: where, what was found, what expected."""


# The official scorer takes a slot's first value, so there must be one.
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
    """What a tracker says of one frame under one schema variant; spans are optional."""

    frame_id: str
    variant: str
    active_intent: str
    requested_slots: list[str]
    slot_values: list[SlotValue]
    slots: list[Span] | None = None


class Reference(Prediction, kw_only=True):
    """A frame row's part that is read; `slots` and `utterance` only where spans are predicted."""

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
    """Python rows as `kind`, each a line of JSON; keys that it lacks are skipped.

    Raises:
        ScoreError: naming the row as `<side>[<index>]`; not of that kind, or not Unicode text.
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
    """A table of rows that are checked already, one JSON object a line.

    Args:
        lines: blank ones are skipped.
        schema: keys that it lacks are skipped, keys that a row lacks are null.
        where: names the lines in an error message.

    Raises:
        ScoreError: a row has a key twice.
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
