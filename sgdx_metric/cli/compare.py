"""Compare two systems' scores.json: by how much they differ, and whether that could be chance."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from ..bootstrap import RESAMPLES, Figures, bootstrap, one_in_two, resampled
from ..columns import Floats, Ints, over, positions
from ..robustness import Sums, dialogue_sums, figures
from ..rows import ScoreError
from ..signature import Rules, rules_of, signature_parts
from ..units import Places, places
from .predictions import decode

TRIALS = 10_000


class _Paired(msgspec.Struct):
    frame_id: list[str]
    seen: list[str]
    joint_goal_accuracy: dict[str, list[float | None]]


class _Scores(msgspec.Struct):
    signature: str
    paired: _Paired


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Compare two systems that were scored alike on the same frames.

    Args:
        first, second: Files that `score` wrote.

    Returns:
        `signature`, which both files share; `resamples` and `trials`, the numbers of random draws;
        and `groups`. For all, seen and unseen frames and for each service (by its original name) a
        group has `frames`, their number, and for each of `jga_orig`, `jga_v1-5` and `ss_jga` a
        mapping of `first`, `second`, `difference` (second - first), its 95 % bootstrap `interval`,
        and `p`. All figures are fractions. A figure that the variants do not give is left out.

    Raises:
        ScoreError: A file is not a scores.json, or the signatures or the frames differ.
    """
    a, b = _read(first), _read(second)
    rules = _same_rules(a.signature, b.signature, first, second)
    if apart := set(a.paired.frame_id) ^ set(b.paired.frame_id):
        raise ScoreError(
            f"{second}: the frames are not those of {first}: {len(apart)} are in one of them only, "
            f"the first is {min(apart)}"
        )
    ids, seen = sorted(a.paired.frame_id), set(a.paired.seen)
    if seen != set(b.paired.seen):
        raise ScoreError(f"{second}: the seen services are not those of {first}")
    order = pa.array(ids, pa.string())
    place = places(order, np.array([i.rsplit("/", 1)[-1] in seen for i in ids], dtype=bool))
    systems = _jga(a.paired, order, first), _jga(b.paired, order, second)
    if lone := sorted(set(systems[0]) ^ set(systems[1])):
        path = second if lone[0] in systems[0] else first
        raise ScoreError(f"{path}: no scores of {lone[0]}, expected them as in the other file")
    groups = {
        name: {"frames": len(these)} | _compared(systems, place, these, rules)
        for name, these in place.groups().items()
    }
    return {
        "signature": a.signature, "resamples": RESAMPLES, "trials": TRIALS, "groups": groups
    }  # fmt: skip


def _read(path: Path) -> _Scores:
    try:
        return decode(path.read_bytes(), _Scores, str(path))
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror}") from None


def _same_rules(first: str, second: str, one: Path, other: Path) -> Rules:
    left, right = signature_parts(first, str(one)), signature_parts(second, str(other))
    for key in {**left, **right}:
        if left.get(key) != right.get(key):
            raise ScoreError(
                f"{other}: {key} is '{right.get(key)}' in the signature, and '{left.get(key)}' in "
                f"that of {one}: scores do not compare"
            )
    return rules_of(left)


def _jga(scores: _Paired, order: pa.Array, path: Path) -> dict[str, Floats]:
    """Joint goal accuracy by variant, in the order of the frames [frames]."""
    at = np.argsort(positions(pa.array(scores.frame_id, pa.string()), order, str(path)))
    for variant, values in scores.joint_goal_accuracy.items():
        if len(values) != len(at):
            raise ScoreError(f"{path}: {len(values)} scores of {variant}, expected {len(at)}")
    return {
        name: np.array(values, dtype=np.float64)[at]
        for name, values in scores.joint_goal_accuracy.items()
    }


def _compared(
    systems: tuple[dict[str, Floats], dict[str, Floats]], place: Places, these: Ints, rules: Rules
) -> dict[str, Any]:
    """The figures of one group of frames; {} for a group without frames."""
    variants = list(systems[0])
    first, second = (dialogue_sums(jga, place, these, rules) for jga in systems)
    dialogues = len(first.total)

    def both(weights: Floats) -> tuple[Figures, Figures]:
        return figures(first.means(weights), variants), figures(second.means(weights), variants)

    def difference(weights: Floats) -> Figures:
        left, right = both(weights)
        return {name: right[name] - left[name] for name in left}

    if not dialogues:
        return {}
    interval = bootstrap(difference, dialogues)
    left, right = both(np.ones((1, dialogues)))
    observed = {name: right[name] - left[name] for name in left}
    p = randomisation(first, second, variants, observed)
    return {
        name: {
            "first": _number(left[name]),
            "second": _number(right[name]),
            "difference": _number(observed[name]),
            "interval": interval[name],
            "p": p[name],
        }
        for name in left
    }


def randomisation(
    first: Sums, second: Sums, names: list[str], observed: Figures
) -> dict[str, float | None]:
    """Two-sided p-values of paired approximate randomisation, in which whole dialogues are swapped.

    In each of TRIALS trials, each dialogue's two results change sides with probability 1/2. If the
    difference is at least as large as the observed one in n trials, p is (n + 1) / (TRIALS + 1).
    Source: Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses".

    Args:
        first, second: Both systems' sums over the same dialogues.
        names: The variants, in the order of the sums' rows.
        observed: The observed difference of each figure [1].

    Returns:
        The p-value of each figure in (0, 1]; None where a difference is undefined.
    """
    as_large = dict.fromkeys(observed, 0)
    total, number = second.total - first.total, second.number - first.number
    for swap in resampled(one_in_two, len(total), TRIALS):
        moved, count = swap @ total, swap @ number
        left, right = (
            figures(over(own.total.sum(0) + sign * moved, own.number.sum(0) + sign * count), names)
            for own, sign in ((first, 1), (second, -1))
        )
        for name, value in observed.items():
            # The margin is smaller than any difference that one frame makes, and larger than that
            # of rounding.
            large = np.abs(right[name] - left[name]) >= np.abs(value) - 1e-12
            as_large[name] += int(large.sum())
    return {
        name: None if np.isnan(value).any() else (as_large[name] + 1) / (TRIALS + 1)
        for name, value in observed.items()
    }


def _number(value: Floats) -> float | None:
    return None if np.isnan(value[0]) else float(value[0])
