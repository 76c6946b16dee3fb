"""Parsing the JSON files of a release and of its users, all with the same checks and errors."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from ..release.checksums import is_released
from .errors import SgdxError

Parsed = TypeVar("Parsed")


class _Named(msgspec.Struct):
    dialogue_id: str | None = None
    service_name: str | None = None


def parse_json(data: bytes, kind: type[Parsed], path: str, what: str) -> Parsed:
    """Parse JSON of a given type.

    Args:
        data: The file's content.
        kind: The type to parse.
        path: Where it comes from, for error messages.
        what: What the file should be, for error messages, as in ``a schema.json of the release``.

    Raises:
        SgdxError: It is not JSON in UTF-8, is not of the type, is nested too deeply, or has a key
            twice in one object, of which a parser would lose one. The message names the dialogue or
            service at fault where the file is a list of them, and the place in it.
    """
    try:
        parsed = msgspec.json.decode(data, type=kind)
        if not is_released(data):  # a released file has no key twice, and looking takes a while
            json.loads(data, object_pairs_hook=_check_keys)
    except SgdxError as error:
        raise SgdxError(f"{path}: not {what}: {error}") from None
    except msgspec.ValidationError as error:
        raise SgdxError(f"{path}: {_record_at(data, str(error))}not {what}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise SgdxError(f"{path}: not {what}: {error}") from None
    return parsed


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise SgdxError(f"an object has the key {twice!r} twice: {', '.join(keys)[:200]}")


def _record_at(data: bytes, message: str) -> str:
    """Name the dialogue or service at ``$[0]`` in a parser's message, as ``dialogue 1_00000: ``."""
    _, found, rest = message.partition("`$[")
    index = rest.partition("]")[0]
    with suppress(ValueError, RecursionError, IndexError):  # as far as the file can be read
        records = msgspec.json.decode(data, type=list[msgspec.Raw]) if found else []
        record = msgspec.json.decode(records[int(index)], type=_Named)
        if record.dialogue_id is not None:
            return f"dialogue {record.dialogue_id}: "
        if record.service_name is not None:
            return f"service {record.service_name}: "
    return ""
