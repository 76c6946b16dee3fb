"""JSON files with a value of another kind in one of their places, or with broken bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st

from sgdx_dataset import SgdxError
from sgdx_metric import ScoreError

Json = Any
# What these are in JSON stands in the place of a value.
VALUES = ["null", "true", '""', f'"{"x" * 1_000_000}"', "-1", "1e400", "[]", "{}"]
_HOLE = "\x00hole\x00"


def places(value: Json, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the fields and items of a JSON value are."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*place, key)
        if isinstance(item, dict | list):
            yield from places(item, (*place, key))


def changed(value: Json, place: tuple[Any, ...], replacement: str) -> bytes:
    """JSON in which what ``replacement`` is in JSON stands at a place of a value."""
    twin = copy.deepcopy(value)
    parent = twin
    for step in place[:-1]:
        parent = parent[step]
    parent[place[-1]] = _HOLE
    return json.dumps(twin).replace(json.dumps(_HOLE), replacement).encode()


def mutations(value: Json) -> st.SearchStrategy[bytes]:
    """JSON with one of the fields and items of a value replaced by one of ``VALUES``."""
    places_of = st.sampled_from([*places(value)])
    return st.builds(lambda *change: changed(value, *change), places_of, st.sampled_from(VALUES))


def broken(value: Json) -> dict[str, bytes]:
    """Texts that are no JSON, or none that should be read, made from a valid value."""
    text = json.dumps(value).encode()
    key = next(iter(value[0] if isinstance(value, list) else value)).encode()
    first = b'"%b": ' % key
    return {
        "byte order mark": b"\xef\xbb\xbf" + text,
        "null byte": text.replace(b'"', b'"\x00', 1),
        "broken UTF-8": text.replace(b'"', b'"\xff', 1),
        "lone surrogate": text.replace(b'"', b'"\\ud800', 1),
        "encoded surrogate": text.replace(b'"', b'"\xed\xa0\x80', 1),
        "NaN": text.replace(first, first + b"NaN, " + first, 1),
        "huge number": text.replace(first, first + b"9" * 10_000 + b", " + first, 1),
        "depth": text.replace(first, first + b"[" * 100_000 + b"]" * 100_000 + b", " + first, 1),
        "key twice": text.replace(first, first + b'"", ' + first, 1),
        "nothing": b"",
        "cut": text[:-1],
        "more behind": text + b"[]",
    }


def is_read(read: Callable[[bytes], object], data: bytes, names: str | tuple[str, ...]) -> bool:
    """Whether data are read; else they are refused in a line that begins with their file."""
    try:
        read(data)
    except (SgdxError, ScoreError) as error:
        assert str(error).startswith(names) and "\n" not in str(error)
        return False
    return True
