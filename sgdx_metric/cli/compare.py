"""Compare two systems' scores.json: by how much they differ, and whether that could be chance."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from ..bootstrap import RESAMPLES, TRIALS, compared
from ..columns import Floats, Ints, positions
from ..robustness import dialogue_sums, figures
from ..rows import ScoreError
from ..signature import Rules, rules_of, signature_parts
from ..units import Places, places
from .predictions import decode


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
        `signature`, which both files share but for the system acts; `system_acts` of the `first`
        and the `second` system; `resamples` and `trials`, the numbers of random draws; `groups`
        and `by_variant`.

        For all, seen and unseen frames and for each service (by its original name) a group has
        `frames`, their number, and for each of `jga_orig`, `jga_v1-5` and `ss_jga` a mapping of
        `first`, `second`, `difference` (second - first), its 95 % bootstrap `interval`, and `p`;
        with variants beside the paper's, also for the sensitivity over all of them, such as
        `ss_jga(v1..v5+mine)`. `by_variant` has the same mapping for the joint goal accuracy of all
        frames under each variant. All figures are fractions. A figure that the variants do not give
        is left out.

    Raises:
        ScoreError: A file is not a scores.json, or the frames or the signatures differ, except in
            whether a system was given the system's dialogue acts.
    """
    a, b = _read(first), _read(second)
    left, right = (
        signature_parts(a.signature, str(first)),
        signature_parts(b.signature, str(second)),
    )
    _check_same_rules(left, right, first, second)
    rules = rules_of(left)
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
    acts = left.get("system-acts", "unknown"), right.get("system-acts", "unknown")
    both = acts[0] if acts[0] == acts[1] else "/".join(acts)
    return {
        "signature": a.signature.replace(f"|system-acts:{acts[0]}|", f"|system-acts:{both}|"),
        "system_acts": {"first": acts[0], "second": acts[1]},
        "resamples": RESAMPLES,
        "trials": TRIALS,
        "groups": {
            name: {"frames": len(these)} | _figures(systems, place, these, rules)
            for name, these in place.groups().items()
        },
        "by_variant": _by_variant(systems, place, rules),
    }


def _read(path: Path) -> _Scores:
    try:
        return decode(path.read_bytes(), _Scores, str(path))
    except OSError as error:
        raise ScoreError(f"{path}: {error.strerror}") from None


def _check_same_rules(
    left: dict[str, str], right: dict[str, str], first: Path, second: Path
) -> None:
    """Refuse signatures that differ in more than the system acts, which are the system's own.

    Raises:
        ScoreError: A part differs; the message names it, or the wording that differs.
    """
    known, found = (_wordings(parts.get("variants", "")) for parts in (left, right))
    for name in known:
        if name in found and found[name] != known[name]:
            raise ScoreError(
                f"{second}: found another wording '{name}' ({found[name] or 'unmarked'}) than in "
                f"{first} ({known[name] or 'unmarked'}), expected the same schemas"
            )
    for key in ("dialogues", *left, *right):
        if key != "system-acts" and left.get(key) != right.get(key):
            raise ScoreError(
                f"{second}: {key} is '{right.get(key, 'all')}' in the signature, and "
                f"'{left.get(key, 'all')}' in that of {first}: scores do not compare"
            )


def _wordings(variants: str) -> dict[str, str]:
    """The fingerprint of each variant in a signature; empty for a variant of the release."""
    return {name: mark for name, _, mark in (part.partition("@") for part in variants.split("+"))}


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


def _figures(
    systems: tuple[dict[str, Floats], dict[str, Floats]], place: Places, these: Ints, rules: Rules
) -> dict[str, Any]:
    """The headline figures of both systems for some frames, compared; {} for no frames."""
    variants = list(systems[0])
    first, second = (dialogue_sums(jga, place, these, rules) for jga in systems)
    if not len(first.total):
        return {}
    return compared(first, second, lambda means: figures(means, variants))


def _by_variant(
    systems: tuple[dict[str, Floats], dict[str, Floats]], place: Places, rules: Rules
) -> dict[str, Any]:
    """The joint goal accuracy of both systems under each variant, compared; {} for no frames."""
    variants = list(systems[0])
    every = np.arange(len(place.dialogue))
    first, second = (dialogue_sums(jga, place, every, rules) for jga in systems)
    if not len(first.total):
        return {}
    return compared(
        first, second, lambda means: {name: means[..., i] for i, name in enumerate(variants)}
    )
