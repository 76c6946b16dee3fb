"""The signature: what it says of the data and of the rules."""

from __future__ import annotations

import pytest

from sgdx_metric.signature import OFFICIAL, Setup, rules_of, signature, signature_parts, split_name
from sgdx_metric.subset import Subset
from sgdx_metric.variants import fingerprint, schema_digest, wider_set


@pytest.mark.parametrize(
    ("dialogues", "release", "expected"),
    [
        (4201, "c0ffee", "c0ffee"),
        (4201, None, "unknown"),
        (4200, "c0ffee", "partial:4200/4201"),
        (36, "sample", "sample"),
        (36, "unverified:0123456789abcdef", "unverified:0123456789abcdef"),
    ],
)
def test_release_in_the_signature(dialogues: int, release: str | None, expected: str) -> None:
    line = signature(["v1"], 9, dialogues, Setup("test", release))
    assert signature_parts(line, "")["release"] == expected
    assert rules_of(signature_parts(line, ""), "") == OFFICIAL


def test_a_subset_stands_in_the_signature() -> None:
    subset = Subset(["1_00001", "1_00000"], 4201)
    line = signature(["v1"], 9, 2, Setup("dev", "c0ffee", subset=subset))
    assert "|split:validation|release:c0ffee|dialogues:2@82354a53|frames:9|" in line
    assert Subset(["1_00000", "1_00001"], 4201).mark() == "2@82354a53"
    few = signature(["v1"], 9, 2, Setup("test", "c0ffee", subset=Subset(["1_00000"], 2921)))
    assert "|release:partial:2921/4201|dialogues:1@" in few
    assert [split_name(name) for name in ("dev", "test")] == ["validation", "test"]


@pytest.mark.parametrize(
    ("variants", "expected"),
    [
        (["original", "v1", "v2", "v3", "v4", "v5"], ""),
        (["original", "mine", "v1", "v2", "v3", "v4", "v5"], "v1..v5+mine"),
        (["mine", "v1"], "v1+mine"),
        (["original", "mine", "yours"], "mine+yours"),
        (["original", "mine"], ""),
    ],
)
def test_the_name_of_a_wider_set(variants: list[str], expected: str) -> None:
    assert wider_set(variants) == expected


def test_a_fingerprint_is_of_the_words() -> None:
    service = {
        "service_name": "Weather_1",
        "description": "What the weather is like",
        "slots": [{"name": "town", "description": "Where", "possible_values": []}],
        "intents": [{"name": "GetWeather", "description": "Ask"}],
    }
    other = service | {"description": "Whether it rains"}
    one = fingerprint([schema_digest(service)])
    assert len(one) == 8 and int(one, 16) >= 0
    assert fingerprint([schema_digest(service | {"seen": True})] * 2) == one
    assert fingerprint([schema_digest(other)]) != one
