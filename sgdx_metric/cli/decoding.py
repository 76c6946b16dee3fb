"""JSON from outside, checked as it is decoded."""

import json
from collections import Counter
from typing import Any, TypeVar

import msgspec

from ..rows import ScoreError

_T = TypeVar("_T")


def decode(data: bytes | msgspec.Raw, kind: type[_T], where: str) -> _T:
    """JSON from outside as `kind`; keys that it lacks are skipped.

    Raises:
        ScoreError: beginning with `where`; not UTF-8, malformed, or not of that kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError as error:
        raise ScoreError(f"{where}: not UTF-8: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ScoreError(f"{where}: {error}") from None


def check_keys(data: bytes, where: str) -> None:
    """Refuse an object that has a key twice, of which a decoder silently keeps one.

    Raises:
        ScoreError: beginning with `where`.
    """
    # Decoding and encoding again loses keys only where one was there twice, and escapes of the
    # quotation mark aside, a key is what ends in '":'. That is far faster than looking at each.
    kept = msgspec.json.encode(decode(data, object, where)).count(b'":')
    if b"\\u0022" in data or msgspec.json.format(data, indent=-1).count(b'":') != kept:
        try:
            json.loads(data, object_pairs_hook=_once)
        except _TwiceError as error:
            raise ScoreError(f"{where}: an object has the key '{error}' twice") from None


class _TwiceError(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _TwiceError(key)
    return found
