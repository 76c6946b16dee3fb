"""Compare two systems' scores.json: by how much they differ, and whether that could be chance."""

from pathlib import Path
from typing import Any

import numpy as np

from sgdx_metric.bootstrap import RESAMPLES, TRIALS, Sums, compared
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.rows import ScoreError

from ..signature import signature_parts
from ..units import Units
from .files import read_scores


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Compare two systems that were scored alike on the same turns.

    Args:
        first, second: Files that `score` wrote.

    Returns:
        `signature`, which both files share; `resamples` and `trials`, the numbers of random draws;
        and `groups`: for all turns, `seen`, `unseen`, `seen_domains`, `unseen_domains` and each
        service `turns`, their number, and for each figure of `sgdx` a mapping of `first`, `second`,
        `difference` (second - first), its 95 % bootstrap `interval` over dialogues, and `p`.

    Raises:
        ScoreError: A file is not a scores.json, or the turns or the signatures differ.
    """
    (line, left), (other, right) = read_scores(first), read_scores(second)
    known, found = signature_parts(line, str(first)), signature_parts(other, str(second))
    for key in ("dialogues", *known, *found):
        if known.get(key) != found.get(key):
            raise ScoreError(
                f"{second}: {key} is '{found.get(key, 'all')}' in the signature, and"
                f" '{known.get(key, 'all')}' in that of {first}: scores do not compare"
            )
    right = _in_order(left, right, first, second)
    groups = left.groups() | left.services()
    return {
        "signature": line,
        "resamples": RESAMPLES,
        "trials": TRIALS,
        "groups": {
            name: {"turns": _turns(left, these)} | _compared(left, right, these)
            for name, these in groups.items()
        },
    }


def _in_order(left: Units, right: Units, first: Path, second: Path) -> Units:
    """The second system's units in the order of the first's, which must be the same."""
    keys = list(zip(left.dialogue, left.service, strict=True))
    place = {key: i for i, key in enumerate(zip(right.dialogue, right.service, strict=True))}
    if len(place) != len(keys) or any(key not in place for key in keys):
        raise ScoreError(f"{second}: the dialogues and services are not those of {first}")
    order = np.array([place[key] for key in keys], dtype=np.int64)
    ordered = Units(
        left.dialogue,
        left.service,
        right.seen[order],
        right.seen_domain[order],
        {v: {k: of[order] for k, of in counts.items()} for v, counts in right.by_variant.items()},
        {name: of[order] for name, of in right.across.items()},
    )
    for name in ("turns", "reference_length"):
        for variant, counts in left.by_variant.items():
            if not np.array_equal(counts[name], ordered.by_variant[variant][name]):
                raise ScoreError(f"{second}: the turns of {variant} are not those of {first}")
    return ordered


def _compared(left: Units, right: Units, these: Ints) -> dict[str, Any]:
    """All figures of both systems for some units, compared; {} for no units."""
    if not len(these):
        return {}
    sums = left.dialogue_sums(these), right.dialogue_sums(these)
    number = np.ones((len(sums[0]), 1))

    def statistic(means: Floats) -> dict[str, Floats]:
        return left.figures(means * len(number))

    return compared(Sums(sums[0], number), Sums(sums[1], number), statistic, TRIALS)


def _turns(units: Units, these: Ints) -> int:
    return int(next(iter(units.by_variant.values()))["turns"][these].sum())
