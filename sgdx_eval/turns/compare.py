"""Compare two systems' scores.json: by how much they differ, and whether that could be chance."""

from pathlib import Path
from typing import Any

import numpy as np

from sgdx_eval.results import SYSTEM_PARTS
from sgdx_metric.bootstrap import RESAMPLES, TRIALS, Sums, compared
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.rows import ScoreError
from sgsacc_metric.units import Units

from .files import read_scores

# Counts that depend on the turns alone, so that they are the same of every system.
_COUNTS_OF_TURNS = ("turns", "reference_length")
# What it means that a signature lacks a part.
_ABSENT = {"dialogues": "all"}


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Compare two systems that were scored alike on the same turns.

    Returns:
        `signature`, that of the first file, which the second shares but for the system's own parts;
        `oracle` of the `first` and the `second` system: whether their models were trained on the
        schemas that they are evaluated on; `resamples` and `trials`, the numbers of random draws;
        and `groups`: for all turns, `seen`, `unseen`, `seen_domains`, `unseen_domains` and each
        service `turns`, their number, and for each figure of `sgdx` a mapping of `first`, `second`,
        `difference` (second - first), its 95 % bootstrap `interval` over dialogues, and `p`.
    """
    first_scores, second_scores = map(read_scores, (first, second))
    first_parts, second_parts = first_scores.parts, second_scores.parts
    for key in ("dialogues", *first_parts, *second_parts):
        if key not in SYSTEM_PARTS and first_parts.get(key) != second_parts.get(key):
            left, right = (
                parts.get(key, _ABSENT.get(key, "not there"))
                for parts in (first_parts, second_parts)
            )
            raise ScoreError(
                f"{second}: {key} is '{right}' in the signature, and '{left}' in that of {first}:"
                " these scores cannot be compared"
            )
    first_units, second_units = first_scores.units, second_scores.units
    second_units = _in_order(first_units, second_units, first, second)
    groups = first_units.groups() | first_units.services()
    return {
        "signature": first_scores.signature,
        "oracle": {
            "first": first_parts.get("oracle", "no"),
            "second": second_parts.get("oracle", "no"),
        },
        "resamples": RESAMPLES,
        "trials": TRIALS,
        "groups": {
            name: {"turns": first_units.turn_count(indices)}
            | _compared(first_units, second_units, indices)
            for name, indices in groups.items()
        },
    }


def _in_order(left: Units, right: Units, first: Path, second: Path) -> Units:
    """The second system's units in the order of the first's, which must be the same."""
    keys = list(zip(left.dialogue, left.service, strict=True))
    index_of = {key: i for i, key in enumerate(zip(right.dialogue, right.service, strict=True))}
    if index_of.keys() != {*keys}:
        raise ScoreError(f"{second}: the dialogues and services are not those of {first}")
    if _columns(left) != _columns(right):
        raise ScoreError(f"{second}: the counts in 'units' are not those of {first}")
    order = np.array([index_of[key] for key in keys], dtype=np.int64)
    ordered = Units(
        left.dialogue,
        left.service,
        right.seen[order],
        right.seen_domain[order],
        {variant: _taken(counts, order) for variant, counts in right.by_variant.items()},
        _taken(right.cross_variant, order),
    )
    for name in _COUNTS_OF_TURNS:
        for variant, counts in left.by_variant.items():
            if not np.array_equal(counts[name], ordered.by_variant[variant][name]):
                raise ScoreError(f"{second}: the turns of {variant} are not those of {first}")
    return ordered


def _columns(units: Units) -> list[list[str]]:
    """The names of the counts of each variant and of the statistics over variants."""
    return [list(counts) for counts in (*units.by_variant.values(), units.cross_variant)]


def _taken(counts: dict[str, Floats], order: Ints) -> dict[str, Floats]:
    return {name: count[order] for name, count in counts.items()}


def _compared(left: Units, right: Units, indices: Ints) -> dict[str, Any]:
    """All figures of both systems for some units, compared; {} for no units."""
    if not len(indices):
        return {}
    left_sums, right_sums = left.dialogue_sums(indices), right.dialogue_sums(indices)
    # `compared` works with means over dialogues, and these figures with sums.
    ones = np.ones((len(left_sums), 1))

    def robustness(means: Floats) -> dict[str, Floats]:
        return left.robustness(means * len(ones))

    return compared(Sums(left_sums, ones), Sums(right_sums, ones), robustness, TRIALS)
