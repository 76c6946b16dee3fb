"""Documents of other programs in YAML 1.2: their values, and those that are refused."""

from __future__ import annotations

import pytest

from sgdx_dataset import SgdxError
from sgdx_dataset.io.yaml import parse_yaml_document

BOMB = b"a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 9)
)


def test_values_are_those_of_json() -> None:
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


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"a: 1\nb: !!binary aGk=", "line 2: found a value of type"),
        (b"a: !!python/object/apply:os.system [x]", "line 1: found a value of type"),
        (b"a: &a [*a]", "an alias inside of what it stands for"),
        (b"a: 1\na: 2", "'a' twice"),
        (b"? [a]\n: 1", "line 1: found a key that is no text"),
        (b"[" * 100_000, "found over 200 lists"),
        (b"a: {", "line 2"),
        (b"a: \xff", "unacceptable"),
        (b"a: " + b"9" * 5000, "digits"),
        (BOMB, "as aliases repeat them"),
    ],
)
def test_what_is_refused(document: bytes, reason: str) -> None:
    with pytest.raises(SgdxError) as error:
        parse_yaml_document(document, "api.yaml")
    assert str(error.value).startswith("api.yaml: ") and reason in str(error.value), error.value
    assert "\n" not in str(error.value)
