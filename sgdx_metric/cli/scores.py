"""Read scores.json, the file that `score` writes, and check whether several of them compare."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import pyarrow as pa

from ..columns import Floats, positions
from ..rows import ScoreError
from ..signature import Rules, rules_of, signature_parts
from ..units import Places, places
from .predictions import check_keys, decode, read_file

# Parts of a signature that belong to the system. They may differ where two systems are compared.
SYSTEM = ("system-acts", "oracle")
# What a signature without one of these parts means.
_UNSAID = {"dialogues": "all", "oracle": "no", "system-acts": "unknown"}


class _Paired(msgspec.Struct):
    frame_id: Annotated[list[str], msgspec.Meta(min_length=1)]
    seen: list[str]
    joint_goal_accuracy: Annotated[
        dict[str, list[Annotated[float, msgspec.Meta(ge=0, le=1)] | None]],
        msgspec.Meta(min_length=1),
    ]


class _File(msgspec.Struct):
    signature: str
    paired: _Paired


@dataclass(frozen=True)
class Run:
    """One run of a system, as its scores.json has it.

    Attributes:
        path: The file.
        signature: The line that says how it was scored.
        parts: The parts of that line, by key.
        rules: The rules that the line states.
        frame_id: The frames' ids, sorted [frames].
        place: Where those frames belong.
        jga: Joint goal accuracy in [0, 1] by variant, NaN where undefined [frames].
    """

    path: Path
    signature: str
    parts: dict[str, str]
    rules: Rules
    frame_id: list[str]
    place: Places
    jga: dict[str, Floats]

    def part(self, key: str) -> str:
        """What the signature says under a key; where it says nothing, what that means."""
        return self.parts.get(key, _UNSAID.get(key, "unsaid"))


def read_run(path: Path) -> Run:
    """Read a scores.json.

    Raises:
        ScoreError: The file cannot be read, is no scores.json, or contradicts itself.
    """
    data = read_file(path)
    file = decode(data, _File, str(path))
    check_keys(data, str(path))
    parts = signature_parts(file.signature, str(path))
    try:
        rules = rules_of(parts)
    except ScoreError as error:
        raise ScoreError(f"{path}: signature: {error}") from None
    found = file.paired
    for one in found.frame_id:
        if one.count("/") < 2:
            raise ScoreError(f"{path}: frame id is '{one}', expected DIALOGUE/TURN/SERVICE")
    ids, seen = sorted(found.frame_id), set(found.seen)
    order = pa.array(ids, pa.string())
    at = np.argsort(positions(pa.array(found.frame_id, pa.string()), order.unique(), str(path)))
    _check_complete(found, parts, path)
    return Run(
        path,
        file.signature,
        parts,
        rules,
        ids,
        places(order, np.array([one.rsplit("/", 1)[-1] in seen for one in ids], dtype=bool)),
        {
            name: np.array(values, dtype=np.float64)[at]
            for name, values in found.joint_goal_accuracy.items()
        },
    )


def _check_complete(found: _Paired, parts: dict[str, str], path: Path) -> None:
    """Raise ScoreError unless the signature's frames and variants are those of the scores."""
    count = len(found.frame_id)
    for name, values in found.joint_goal_accuracy.items():
        if len(values) != count:
            raise ScoreError(f"{path}: {len(values)} scores of {name}, expected {count}")
    if parts.get("frames") != str(count):
        said = parts.get("frames", "none")
        raise ScoreError(f"{path}: found scores of {count} frames, the signature says {said}")
    for name in wordings(parts):
        if name not in found.joint_goal_accuracy:
            raise ScoreError(f"{path}: no scores of {name}, expected them as the signature says")
    for name in found.joint_goal_accuracy:
        if name not in wordings(parts):
            raise ScoreError(f"{path}: found scores of {name}, of which the signature says nothing")


def wordings(parts: dict[str, str]) -> dict[str, str]:
    """The fingerprint of each variant in a signature; empty for a variant of the release."""
    named = parts.get("variants", "").split("+")
    return {name: mark for name, _, mark in (part.partition("@") for part in named)}


def check_alike(first: Run, second: Run, free: Collection[str] = ()) -> None:
    """Refuse two runs that were not scored alike on the same frames.

    Args:
        first, second: The runs.
        free: Keys of the parts in which their signatures may differ.

    Raises:
        ScoreError: The signatures differ in another part, or the frames differ. The message names
            what differs first.
    """
    known, found = wordings(first.parts), wordings(second.parts)
    for name in known:
        if name in found and found[name] != known[name]:
            raise ScoreError(
                f"{second.path}: found another wording '{name}' ({found[name] or 'unmarked'}) than "
                f"in {first.path} ({known[name] or 'unmarked'}), expected the same schemas"
            )
    for key in ("dialogues", *first.parts, *second.parts):
        if key not in free and first.part(key) != second.part(key):
            raise ScoreError(
                f"{second.path}: {key} is '{second.part(key)}' in the signature, and "
                f"'{first.part(key)}' in that of {first.path}: scores do not compare"
            )
    if apart := set(first.frame_id) ^ set(second.frame_id):
        raise ScoreError(
            f"{second.path}: the frames are not those of {first.path}: {len(apart)} are in one of "
            f"them only, the first is {min(apart)}"
        )
    if not np.array_equal(first.place.seen, second.place.seen):
        raise ScoreError(f"{second.path}: the seen services are not those of {first.path}")


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read the runs of one system, such as those of several seeds.

    Raises:
        ScoreError: A file is there twice, is no scores.json, or was not scored like the first: the
            signatures of one system's runs may differ in nothing.
    """
    for i, path in enumerate(paths):
        if any(path.resolve() == other.resolve() for other in paths[:i]):
            raise ScoreError(f"{path}: found this file twice, expected each run once")
    runs = [read_run(path) for path in paths]
    for run in runs[1:]:
        check_alike(runs[0], run)
    return runs
