"""What a mean is taken over: frames or, for MultiWOZ-style joint accuracies, whole turns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Floats, Ints
from .signature import Rules

ALL, SEEN, UNSEEN = "all", "seen", "unseen"
_JOINT = (
    "joint_goal_accuracy",
    "joint_cat_accuracy",
    "joint_noncat_accuracy",
    "joint_change_accuracy",
    "joint_canonical_accuracy",
)


class ScoredFrames(Protocol):
    """The scores of one variant's frames, whatever was predicted."""

    @property
    def frame_id(self) -> pa.Array:
        """The ids of the frames, sorted [frames]."""

    @property
    def seen(self) -> Bools:
        """Whether the service is in the original train split [frames]."""

    @property
    def scores(self) -> Mapping[str, Floats]:
        """The scores in [0, 1] by metric, NaN where undefined [frames]."""


@dataclass(frozen=True)
class FrameIndex:
    """Where frames belong, which is the same under every variant.

    Attributes:
        service: Original names of the services [frames].
        turn, dialogue: Codes, the same for frames of one turn or dialogue, never decreasing
            [frames].
        seen: Whether the service is in the original train split [frames].
    """

    service: np.ndarray[tuple[int], np.dtype[np.object_]]
    turn: Ints
    dialogue: Ints
    seen: Bools

    def groups(self) -> dict[str, Ints]:
        """The frames of all services, of the seen and the unseen ones, and of each service."""
        groups = {ALL: np.arange(len(self.seen)), SEEN: np.flatnonzero(self.seen)}
        groups[UNSEEN] = np.flatnonzero(~self.seen)
        return groups | {name: np.flatnonzero(self.service == name) for name in self.services()}

    def services(self) -> list[str]:
        """The original names of all services, sorted."""
        return sorted(set(self.service))


def index_frames(frame_id: pa.Array, seen: Bools) -> FrameIndex:
    """Read off frame ids where the frames belong.

    Args:
        frame_id: Ids `<dialogue>/<turn>/<original service>`, sorted [frames].
        seen: Whether the service is in the original train split [frames].
    """
    service = pc.replace_substring_regex(frame_id, "^.*/", "").to_numpy(zero_copy_only=False)
    return FrameIndex(
        service, _codes(frame_id, "(/[^/]*){1}$"), _codes(frame_id, "(/[^/]*){2}$"), seen
    )


def _codes(frame_id: pa.Array, ending: str) -> Ints:
    """A code for what each id has before `ending`; ids are sorted, so equal ones are neighbours."""
    codes = pc.replace_substring_regex(frame_id, ending, "").dictionary_encode().indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def unit_scores(metric: str, scores: Floats, turn: Ints, rules: Rules) -> Floats:
    """The scores whose mean is taken: those of frames or, for some metrics and rules, of turns.

    Args:
        metric: The metric's name.
        scores: Scores of some frames, NaN where undefined [..., frames].
        turn: The turns of the same frames, those of one turn beside each other [frames].
        rules: How the frames were scored.

    Returns:
        `scores` themselves; but for a joint accuracy across turns, the product of each turn's
        defined scores, NaN where there are none [..., turns].
    """
    if not (rules.joint_acc_across_turn and metric in _JOINT and len(turn)):
        return scores
    start = turn_starts(turn)
    defined = ~np.isnan(scores)
    product = np.multiply.reduceat(np.where(defined, scores, 1.0), start, axis=-1)
    return np.where(np.logical_or.reduceat(defined, start, axis=-1), product, np.nan)


def turn_starts(turn: Ints) -> Ints:
    """The index of each turn's first frame [turns]."""
    return np.flatnonzero(np.diff(turn, prepend=-1))
