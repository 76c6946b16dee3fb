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
from sgdx_metric.variants import PAPER_VARIANTS, fingerprint, schema_digest, set_name


def line(setup: Setup, dialogues: int = 9) -> str:
    return signature(["v1"], 9, dialogues, setup)


def test_what_the_signature_says_of_the_data() -> None:
    for dialogues, release, expected in (
        (4201, "c0ffee", "c0ffee"),
        (4201, None, "unknown"),
        (4200, "c0ffee", "partial:4200/4201"),
        (36, "sample", "sample"),
        (36, "unverified:0123456789abcdef", "unverified:0123456789abcdef"),
    ):
        parts = signature_parts(line(Setup("test", release), dialogues), "")
        assert (parts["release"], rules_of(parts)) == (expected, OFFICIAL)
    subset = Subset(["1_00001", "1_00000"], 4201)
    of_dev = line(Setup("dev", "c0ffee", subset=subset), 2)
    assert "|split:validation|release:c0ffee|dialogues:2@82354a53|frames:9|" in of_dev
    few = line(Setup("test", "c0ffee", subset=Subset(["1_00000"], 2921)), 2)
    assert "|release:partial:2921/4201|dialogues:1@" in few
    assert [split_name(name) for name in ("dev", "test")] == ["validation", "test"]
    assert "|oracle:yes|" in line(Setup(oracle=True))
    assert "oracle" not in line(Setup())


def test_text_that_would_write_a_signature_or_looks_like_another() -> None:
    faults: list[tuple[str, Any]] = [
        ("release", "a|oracle:no"),
        ("release", "a\n"),
        ("release", ""),
        ("release", 5.5),
        ("split", "test|frames:9"),
        ("system_acts", "perhaps"),
        ("variants", {"mine": "a|b"}),
        ("services", ["A|b:c"]),
        # Full-width letters, a Cyrillic one, and others than those of the names.
        *(("split", text) for text in ("\uff54est", "t\u0435st", "DEV", "test ")),
        *(("release", text) for text in ("\uff53ample", " sample")),
    ]
    for part, value in faults:
        with pytest.raises(ScoreError, match=f"^{part} is "):
            signature(["mine"], 9, 9, Setup(**{part: value}))
    names = ("\uff561", "\u043eriginal", "\u03bd1", "V1", "Original", "v1 ", "v1+v2", "v1@0", "")
    for name in names:
        with pytest.raises(ScoreError, match="^variant is "):
            signature([name], 9, 9, Setup())


def test_a_fingerprint_is_of_the_words() -> None:
    slot = {"name": "town", "description": "Where", "possible_values": []}
    intent = {"name": "GetWeather", "description": "Ask"}
    service = {"service_name": "A_1", "description": "Rain", "slots": [slot], "intents": [intent]}
    one = fingerprint([schema_digest(service)])
    assert len(one) == 8 and int(one, 16) >= 0
    assert fingerprint([schema_digest(service | {"seen": True})] * 2) == one
    for other in (
        {"service_name": "A_2"},
        {"description": "Whether it rains"},
        {"slots": [slot | {"name": "city"}]},
        {"slots": [slot | {"description": "Place"}]},
        {"slots": [slot | {"possible_values": ["Oslo"]}]},
        {"intents": [intent | {"name": "Forecast"}]},
        {"intents": [intent | {"description": "Look up"}]},
    ):
        assert fingerprint([schema_digest(service | other)]) != one


def test_names_of_sets() -> None:
    for own, name in (
        ("mine", "mine"),
        ("w1 w2 w3", "w1+w2+w3"),
        # Many are named by the first and the last, in the order of their numbers.
        (" ".join(sorted(f"w{i}" for i in range(1, 25))), "w1..w24"),
        ("a1 a2 a3 a4 b b1 b10 b2", "a1..a4+b+b1+b10+b2"),
        # A number that is missing, or has a zero before it, breaks the row.
        ("w1 w2 w3 w4 w6", "w1..w4+w6"),
        ("w01 w02 w03 w04", "w01+w02+w03+w04"),
    ):
        assert set_name([*own.split(), *PAPER_VARIANTS]) == f"v1..v5+{name}"
        assert set_name(["original", *own.split(), *PAPER_VARIANTS]) == f"original+v1..v5+{name}"
    assert set_name(["v1", "v3", "mine"]) == "v1+v3+mine"
    assert set_name(["original", "v5"]) == "original+v5"
