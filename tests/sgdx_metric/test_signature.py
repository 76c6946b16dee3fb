"""The signature: what it says of the data and of the rules."""

from __future__ import annotations

import pytest

from sgdx_metric.signature import OFFICIAL, rules_of, signature, signature_parts


@pytest.mark.parametrize(
    ("dialogues", "release", "expected"),
    [
        (4201, "c0ffee", "c0ffee"),
        (4201, None, "unknown"),
        (4200, "c0ffee", "partial:4200/4201"),
        (36, "sample", "sample"),
    ],
)
def test_release_in_the_signature(dialogues: int, release: str | None, expected: str) -> None:
    line = signature(["v1"], 9, dialogues, OFFICIAL, "test", release)
    assert signature_parts(line, "")["release"] == expected
    assert rules_of(signature_parts(line, "")) == OFFICIAL
