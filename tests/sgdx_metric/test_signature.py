"""The signature: what it says of the data and of the rules; names of sets of variants."""

from __future__ import annotations

from typing import Any

import pytest

from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import (
    OFFICIAL,
    Setup,
    Subset,
    rules_of,
    signature,
    signature_parts,
    split_name,
)
from sgdx_metric.variants import PAPER_VARIANTS, fingerprint, schema_digest, wider_set, worst_sets


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
    assert rules_of(signature_parts(line, "")) == OFFICIAL


def test_a_subset_stands_in_the_signature() -> None:
    subset = Subset(["1_00001", "1_00000"], 4201)
    line = signature(["v1"], 9, 2, Setup("dev", "c0ffee", subset=subset))
    assert "|split:validation|release:c0ffee|dialogues:2@82354a53|frames:9|" in line
    few = signature(["v1"], 9, 2, Setup("test", "c0ffee", subset=Subset(["1_00000"], 2921)))
    assert "|release:partial:2921/4201|dialogues:1@" in few
    assert [split_name(name) for name in ("dev", "test")] == ["validation", "test"]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("release", "a|oracle:no"),
        ("release", "a\n"),
        ("release", ""),
        ("release", 5.5),
        ("split", "test|frames:9"),
        ("system_acts", "perhaps"),
        ("variants", {"mine": "a|b"}),
        ("services", ["A|b:c"]),
    ],
)
def test_text_that_would_write_a_signature(part: str, value: Any) -> None:
    with pytest.raises(ScoreError, match=f"^{'variants' if part == 'variants' else part} is "):
        signature(["mine"], 9, 9, Setup(**{part: value}))
    assert "|release:unverified:0|" in signature(["v1"], 9, 9, Setup("test", "unverified:0"))


# Full-width letters, a Cyrillic and a Greek one, and others than those of the variant's name.
LOOK_ALIKES = ("\uff561", "\u043eriginal", "\u03bd1", "V1", "Original", "v1 ", "v1+v2", "v1@0", "")


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_variant_that_looks_like_another(name: str) -> None:
    with pytest.raises(ScoreError, match="^variant is "):
        signature([name], 9, 9, Setup())


@pytest.mark.parametrize(
    "parts",
    [{"split": "\uff54est"}, {"split": "t\u0435st"}, {"split": "DEV"}, {"split": "test "},
     {"release": "\uff53ample"}, {"release": " sample"}],
)  # fmt: skip
def test_a_split_or_release_that_looks_like_another(parts: dict[str, Any]) -> None:
    with pytest.raises(ScoreError, match=f"^{next(iter(parts))} is '.*, expected "):
        Setup(**parts)
    assert Setup(split="dev", release="mine").split == "dev"


def test_an_oracle_stands_in_the_signature() -> None:
    assert "|oracle:yes|" in signature(["v1"], 9, 9, Setup(oracle=True))
    assert "oracle" not in signature(["v1"], 9, 9, Setup())


def test_a_fingerprint_is_of_the_words() -> None:
    service = {
        "service_name": "Weather_1",
        "description": "What the weather is like",
        "slots": [{"name": "town", "description": "Where", "possible_values": []}],
        "intents": [{"name": "GetWeather", "description": "Ask"}],
    }
    one = fingerprint([schema_digest(service)])
    assert len(one) == 8 and int(one, 16) >= 0
    assert fingerprint([schema_digest(service | {"seen": True})] * 2) == one
    for other in (
        {"service_name": "Weather_2"},
        {"description": "Whether it rains"},
        {"slots": [{"name": "city", "description": "Where", "possible_values": []}]},
        {"slots": [{"name": "town", "description": "Place", "possible_values": []}]},
        {"slots": [{"name": "town", "description": "Where", "possible_values": ["Oslo"]}]},
        {"intents": [{"name": "Forecast", "description": "Ask"}]},
        {"intents": [{"name": "GetWeather", "description": "Look up"}]},
    ):
        assert fingerprint([schema_digest(service | other)]) != one


@pytest.mark.parametrize(
    ("own", "name"),
    [
        (["mine"], "mine"),
        (["w1", "w2", "w3"], "w1+w2+w3"),
        # Many are named by the first and the last, in the order of their numbers.
        (sorted(f"w{i}" for i in range(1, 25)), "w1..w24"),
        (["a1", "a2", "a3", "a4", "b", "b1", "b10", "b2"], "a1..a4+b+b1+b10+b2"),
        # A number that is missing, or has a zero before it, breaks the row.
        (["w1", "w2", "w3", "w4", "w6"], "w1..w4+w6"),
        (["w01", "w02", "w03", "w04"], "w01+w02+w03+w04"),
        (["1", "2", "3", "4"], "1..4"),
    ],
)
def test_names_of_sets(own: list[str], name: str) -> None:
    variants = ["original", *own, *PAPER_VARIANTS]
    assert wider_set(variants) == f"v1..v5+{name}"
    assert list(worst_sets(variants)) == ["", f"original+v1..v5+{name}"]
    assert worst_sets(variants)[f"original+v1..v5+{name}"] == variants


def test_other_sets() -> None:
    assert wider_set(["original", *PAPER_VARIANTS]) == wider_set(["original", "mine"]) == ""
    assert wider_set(["v1", "v3", "mine"]) == "v1+v3+mine"
    assert wider_set(["mine", "v1"]) == "v1+mine"
    assert wider_set(["original", "mine", "yours"]) == "mine+yours"
    assert list(worst_sets(["original", "v5"])) == ["original+v5"]
