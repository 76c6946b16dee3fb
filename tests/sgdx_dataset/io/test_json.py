"""JSON and YAML from outside: values, errors that name their record, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import decode_json, parse_json, parse_text
from sgdx_dataset.io.yaml import parse_yaml, parse_yaml_document
from sgdx_dataset.schema import Service


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "b": {"a": ":", "b": "\\"a\\":"}, "c": [{"a": 1}, {"a": 2}]}', None),
        ('{"a\\u0022": 1, "a": "\\u0022:"}', None),
        ('{"a": %s}' % ("9" * 300), None),
        ('{"a": 1, "b": 2, "a": 1}', "a"),
        ('[{"x": {"k": 1, "\\u006b": 2}}]', "k"),
        ('{"\\u0022": 1, "\\"": 2}', '"'),
        ('{"a": 1, "a": 2, "b\\":": ""}', "a"),
    ],
)
def test_a_key_that_is_there_twice_is_named(text: str, key: str | None) -> None:
    if key is None:
        assert parse_json(text.encode(), object, "f.json:3", "a map")
        return
    with pytest.raises(SgdxError, match=re.escape("f.json:3: ") + f".*{key!r}"):
        parse_json(text.encode(), object, "f.json:3", "a map")
    assert decode_json(text.encode(), object, "f.json:3", "a map")


def test_what_is_not_of_the_type() -> None:
    deep, digits = b"[" * 100_000, b'{"a": %s}' % (b"9" * 5000)
    for text in (b"", b"{", b"[1]", b"\xff", deep, digits, b'{"a": NaN}', b'{"a": 1.5}'):
        with pytest.raises(SgdxError, match="^f.json: not a map: "):
            parse_json(text, dict[str, int], "f.json", "a map")
    service = b'{"service_name": "Cabs_%d", "description": "", "slots": [], "intents": %s}'
    data = b"[%s, %s]" % (service % (8, b"[]"), service % (9, b"3"))
    with pytest.raises(SgdxError, match=r"^f: service Cabs_9: .*\$\[1\].intents"):
        parse_json(data, list[Service], "f", "a schema")


def test_json_that_a_model_wrote_badly() -> None:
    for text, found in (
        ("[1] [2]", "[2]"),
        ("[NaN]", "NaN"),
        ("[1e999]", "inf"),
        ('{"a": 1, "a": 2}', "'a'"),
        ('"\\ud800"', "ud800"),
        ("[" * 101 + "]" * 101, "100"),
        ("[" * 100_000, "100"),
    ):
        with pytest.raises(ValueError, match=re.escape(found)):
            parse_text(text)
    deepest = "[" * 100 + "]" * 100
    assert parse_text(f" {deepest} ") == parse_text(deepest.encode())


# ---- YAML 1.2, as other programs write it

BOMB = b"a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 9)
)


def test_values_of_yaml_are_those_of_json() -> None:
    document = b"""
words: [no, yes, on, 2020-01-01, 12:30, '1', null, ~, true]
numbers: [010, 0x1F, 0o17, -3, 1e3, .5]
200: {1.0: a, true: b, null: c}
empty:
base: &base {k: 1, l: 2}
merged: {<<: *base, l: 3}
"""
    assert parse_yaml_document(document, "api.yaml") == {
        "words": ["no", "yes", "on", "2020-01-01", "12:30", "1", None, None, True],
        "numbers": [10, 31, 15, -3, 1000.0, 0.5],
        "200": {"1.0": "a", "true": "b", "null": "c"},
        "empty": None,
        "base": {"k": 1, "l": 2},
        "merged": {"k": 1, "l": 3},
    }
    assert parse_yaml_document(b"", "api.yaml") is None
    deepest = parse_yaml_document(b"[" * 200 + b"]" * 200, "api.yaml")
    assert str(deepest) == "[" * 200 + "]" * 200
    assert parse_yaml(b"rate: 1e-4", dict[str, float], "f") == {"rate": 0.0001}


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (b"a: 1\nb: !!binary aGk=", "line 2"),
        (b"a: !!python/object/apply:os.system [x]", "line 1"),
        (b"a: &a [*a]", "alias"),
        (b"a: 1\na: 2", "'a'"),
        (b"? [a]\n: 1", "line 1"),
        (b"[" * 201 + b"]" * 201, "200"),
        (b"[" * 100_000, ""),  # which the parser itself may refuse before
        (b"a: {", "line 2"),
        (b"a: \xff", ""),
        (b"a: " + b"9" * 5000, ""),
        (BOMB, "alias"),
    ],
)
def test_yaml_that_is_refused(document: bytes, found: str) -> None:
    kinds: list[Any] = [lambda: parse_yaml_document(document, "f")]
    kinds.append(lambda: parse_yaml(document, dict[str, int], "f"))
    for read in kinds:
        with pytest.raises(SgdxError, match=f"^f: [^\n]*{found}[^\n]*$"):
            read()
