"""Names of sets of wordings."""

from __future__ import annotations

import pytest

from sgdx_metric.variants import PAPER_VARIANTS, wider_set, worst_sets


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
