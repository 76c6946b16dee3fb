"""JSON from outside: of the right type, and with no key twice in one object."""

from __future__ import annotations

import doctest
import re

import pytest

import sgdx_dataset.options
from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import decode_json, parse_json
from sgdx_dataset.options import SourceOptions, split_pairs
from sgdx_dataset.schema import Service


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": {"a": ":", "b": "\\"a\\":"}, "c": [{"a": 1}, {"a": 2}]}',
        '{"a\\u0022": 1, "a": "\\u0022:"}',
        '{"a\\":": "", "b": ""}',
    ],
)
def test_no_key_is_twice(text: str) -> None:
    assert parse_json(text.encode(), object, "f.json", "a map")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "b": 2, "a": 1}', "a"),
        ('[{"x": {"k": 1, "\\u006b": 2}}]', "k"),
        ('{"\\u0022": 1, "\\"": 2}', '"'),
        ('{"a": 1, "a": 2, "b\\":": ""}', "a"),
    ],
)
def test_a_key_that_is_there_twice(text: str, key: str) -> None:
    message = f"f.json:3: not a map: an object has the key {key!r} twice"
    with pytest.raises(SgdxError, match=re.escape(message)):
        parse_json(text.encode(), object, "f.json:3", "a map")
    assert decode_json(text.encode(), object, "f.json:3", "a map")


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"a": "\xff"}'])
def test_what_is_not_of_the_type(text: bytes) -> None:
    with pytest.raises(SgdxError, match="^f.json: not a map: "):
        decode_json(text, dict[str, int], "f.json", "a map")


def test_pairs_of_a_command_line() -> None:
    assert doctest.testmod(sgdx_dataset.options) == (0, 1)
    assert split_pairs("--set", ["a=b=c", "a=d"]) == [("a", "b=c"), ("a", "d")]
    for argument in ("a", "a=", "=a", "="):
        with pytest.raises(SgdxError, match=f"^--set {argument}: expected KEY=JSON$"):
            split_pairs("--set", [argument], "KEY=JSON")


def test_a_name_that_is_given_twice() -> None:
    assert SourceOptions(variant=("a=x", "b=x")).own_variants == {"a": "x", "b": "x"}
    with pytest.raises(SgdxError, match="^--variant a=y: found a twice, as x before"):
        _ = SourceOptions(variant=("a=x", "a=y")).own_variants


def test_numbers_of_any_length() -> None:
    assert parse_json(b'{"a": %s}' % (b"9" * 300), object, "f", "a map")
    with pytest.raises(SgdxError, match="^f: not a map: "):
        parse_json(b'{"a": %s}' % (b"9" * 5000), object, "f", "a map")


def test_errors_name_the_record() -> None:
    data = b'[{"service_name": "Cabs_9", "description": "", "slots": [], "intents": 3}]'
    with pytest.raises(SgdxError, match=r"^f: service Cabs_9: not a schema: .*\$\[0\].intents"):
        parse_json(data, list[Service], "f", "a schema")
