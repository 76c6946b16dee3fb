"""Parsing JSON that comes from outside, always with the same checks and errors."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeVar

import msgspec

from .errors import SgdxError

Parsed = TypeVar("Parsed")


class _Record(msgspec.Struct):
    """An entry of a release's file, by the keys that name it."""

    dialogue_id: str | None = None
    service_name: str | None = None


def parse_json(
    data: bytes, kind: type[Parsed], path: str, what: str, *, verified: bool = False
) -> Parsed:
    """Parse JSON; no key may be twice, which is not looked for in ``verified`` content."""
    parsed = decode_json(data, kind, path, what)
    if not verified:
        try:
            check_keys(data)
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
        raise SgdxError(f"{path}: not {what}: {error}") from None


def pretty_json(value: object, indent: int, order: Literal["sorted"] | None = None) -> bytes:
    """A value as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(value, order=order), indent=indent) + b"\n"


def check_keys(data: bytes) -> None:
    """Look for objects with the same key twice, of which a parser silently loses one."""
    # Numbers stay text, as those of over 4,300 digits cannot be converted.
    json.loads(data, object_pairs_hook=_refuse_repeated_keys, parse_int=str)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise SgdxError(f"an object has the key {repeated!r} twice: {', '.join(keys)[:200]}")


def _record_at(data: bytes, message: str) -> str:
    """Name the dialogue or service at ``$[0]`` in a parser's message, as ``dialogue 1_00000: ``."""
    _, bracket, rest = message.partition("`$[")
    index = rest.partition("]")[0]
    with suppress(ValueError, RecursionError, IndexError):  # as far as the file can be read
        records = msgspec.json.decode(data, type=list[msgspec.Raw]) if bracket else []
        record = msgspec.json.decode(records[int(index)], type=_Record)
        if record.dialogue_id is not None:
            return f"dialogue {record.dialogue_id}: "
        if record.service_name is not None:
            return f"service {record.service_name}: "
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
