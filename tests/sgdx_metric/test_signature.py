"""The signature: what it says of the data and of the rules."""

from __future__ import annotations

from typing import Any

import pytest

from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import (
    OFFICIAL,
    Rules,
    Setup,
    rules_of,
    signature,
    signature_parts,
    split_name,
)
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
    assert rules_of(signature_parts(line, "")) == OFFICIAL


def test_a_subset_stands_in_the_signature() -> None:
    subset = Subset(["1_00001", "1_00000"], 4201)
    line = signature(["v1"], 9, 2, Setup("dev", "c0ffee", subset=subset))
    assert "|split:validation|release:c0ffee|dialogues:2@82354a53|frames:9|" in line
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


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"release": "a|oracle:no"}, r"release is 'a\|oracle:no', expected text for a signature"),
        ({"release": "a\n"}, "release is"),
        ({"release": ""}, "release is ''"),
        ({"release": 5.5}, "release is 5.5"),
        ({"split": "test|frames:9"}, "split is"),
        ({"system_acts": "perhaps"}, "system_acts is 'perhaps', expected one of yes, no, mixed"),
        ({"wordings": {"mine": "a|b"}}, "variants is 'mine@a|b'"),
        ({"services": ["A|b:c"]}, "services is 'A|b:c'"),
    ],
)
def test_text_that_would_write_a_signature(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        signature(["mine"], 9, 9, Setup(**parts))
    assert "|release:unverified:0|" in signature(["v1"], 9, 9, Setup("test", "unverified:0"))


# Full-width letters, a Cyrillic and a Greek one, and others than those of the variant's name.
LOOK_ALIKES = ("\uff561", "\u043eriginal", "\u03bd1", "V1", "Original", "v1 ", "v1+v2", "v1@0", "")


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_variant_that_looks_like_another(name: str) -> None:
    with pytest.raises(ScoreError, match="expected a name of letters from a to z"):
        signature([name], 9, 9, Setup())


@pytest.mark.parametrize(
    "parts",
    [{"split": "\uff54est"}, {"split": "t\u0435st"}, {"split": "Test"}, {"split": "DEV"},
     {"split": "test "}, {"release": "\uff53ample"}, {"release": " sample"}],
)  # fmt: skip
def test_a_split_or_release_that_looks_like_another(parts: dict[str, Any]) -> None:
    with pytest.raises(ScoreError, match=f"^{next(iter(parts))} is '.*, expected "):
        Setup(**parts)
    assert Setup(split="dev", release="mine").split == "dev"


def test_an_oracle_stands_in_the_signature() -> None:
    assert "|oracle:yes|" in signature(["v1"], 9, 9, Setup(oracle=True))
    assert "oracle" not in signature(["v1"], 9, 9, Setup())


@pytest.mark.parametrize("flag", ["no", "", 0, 1.0, None])
def test_a_flag_is_true_or_false(flag: Any) -> None:
    for name in ("use_fuzzy_match", "joint_acc_across_turn"):
        with pytest.raises(ScoreError, match=f"{name} is {flag!r}, expected True or False"):
            Rules(**{name: flag})


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
