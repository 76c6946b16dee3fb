"""Parsing JSON that comes from outside, always with the same checks and errors."""

from __future__ import annotations

import gc
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeVar

import msgspec

from .errors import SgdxError

Parsed = TypeVar("Parsed")
DEEPEST = 100  # lists and objects in each other, of what has no form of its own


def parse_json(data: bytes, kind: type[Parsed], path: str, what: str) -> Parsed:
    """Parse JSON; no key may be there twice."""
    parsed = decode_json(data, kind, path, what)
    try:
        # A parser silently loses one of two, so there is one less where all is written again (keys
        # in escapes apart). The slow look is exact; numbers of over 4,300 digits stay text in it.
        counts = set[int]()
        with suppress(msgspec.ValidationError), many_objects():
            written = msgspec.json.encode(msgspec.json.decode(data))
            counts = {text.count(b'":') - text.count(b'\\":') for text in (data, written)}
        if len(counts) != 1:
            json.loads(data, object_pairs_hook=_refuse_repeated_keys, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise SgdxError(f"{path}: not {what}: {error}") from None
    return parsed


def decode_json(data: bytes | msgspec.Raw, kind: type[Parsed], path: str, what: str) -> Parsed:
    """Parse JSON as ``parse_json`` does, without looking for keys that are there twice."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        record = _record_at(bytes(data), str(error))
        raise SgdxError(f"{path}: {record}not {what}: {error}") from None
    except (ValueError, RecursionError) as error:
        number = re.search(rb"[:\[,]\s*(NaN|-?Infinity)\b", bytes(data))
        found = f"found {number[1].decode()}, which is no JSON: " if number else ""
        raise SgdxError(f"{path}: not {what}: {found}{error}") from None


def pretty_json(value: object, indent: int, order: Literal["sorted"] | None = None) -> bytes:
    """A value as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(value, order=order), indent=indent) + b"\n"


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len({*keys}) < len(keys):
        found = f"an object has the key {first_repeated(keys)!r} twice"
        raise SgdxError(f"{found}: {', '.join(keys)[:200]}")
    return dict(pairs)


def first_repeated(texts: Iterable[str]) -> str:
    """The first text that comes twice, or empty text."""
    seen = set[str]()
    for text in texts:
        if text in seen:
            return text
        seen.add(text)
    return ""


def parse_text(text: str | bytes) -> Any:
    """The JSON that a model or a program wrote; ``ValueError`` says what is wrong in it."""
    written = text.decode() if isinstance(text, bytes) else text
    bare = written.strip()
    value, end = parse_at(bare, 0)
    if end < len(bare):
        raise ValueError(f"found more after the end of the JSON: {bare[end : end + 60]!r}")
    return value


def parse_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at a place in a text, and its end; ``ValueError`` as above."""
    try:
        value, end = _STRICT.raw_decode(text, start)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    check_value(value)
    return value, end


def check_value(value: Any, where: str = "") -> None:
    """Refuse a value that other programs cannot read: NaN, half a character, over 100 levels."""
    place = f"{where}: " if where else ""
    pending = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if isinstance(part, str) and not part.isascii():
            try:
                part.encode()
            except UnicodeEncodeError:
                raise SgdxError(f"{place}found half a character in {part[:60]!a}") from None
        elif isinstance(part, float) and not math.isfinite(part):
            raise SgdxError(f"{place}found the number {part}, expected a finite one")
        elif isinstance(part, dict | list | tuple):
            if depth == DEEPEST:
                raise SgdxError(f"{place}{_TOO_DEEP}")
            inner = [*part, *part.values()] if isinstance(part, dict) else part
            pending += [(item, depth + 1) for item in inner]


def _refuse_constant(name: str) -> None:
    raise SgdxError(f"found {name}, which is no JSON")


_TOO_DEEP = f"found over {DEEPEST} lists or objects in each other"
_STRICT = json.JSONDecoder(object_pairs_hook=_refuse_repeated_keys, parse_constant=_refuse_constant)


def _record_at(data: bytes, message: str) -> str:
    """Name the dialogue or service at ``$[0]`` in a parser's message, as ``dialogue 1_00000: ``."""
    _, bracket, rest = message.partition("`$[")
    index = rest.partition("]")[0]
    with suppress(ValueError, RecursionError, IndexError):  # as far as the file can be read
        records = msgspec.json.decode(data, type=list[msgspec.Raw]) if bracket else []
        record = msgspec.json.decode(records[int(index)], type=dict[str, Any])
        for key, kind in (("dialogue_id", "dialogue"), ("service_name", "service")):
            if isinstance(record.get(key), str):
                return f"{kind} {record[key]}: "
    return ""


@contextmanager
def many_objects() -> Iterator[None]:
    """Suspend the garbage collector while many objects are made that form no circles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
