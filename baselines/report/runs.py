"""Runs of trackers: the scores.json of ``sgdx_metric`` and what goes with it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_metric.cli.predictions import decode
from sgdx_metric.columns import Floats, Ints, positions
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import Rules, rules_of, signature_parts
from sgdx_metric.units import Places, places

from .provenance import Group, Provenance, System
from .reading import predictions_of, read_facts, read_logs

# The parts of a signature that are the system's own, in which runs may differ and yet compare.
_OF_THE_SYSTEM = {"system-acts", "oracle"}


class Figures(msgspec.Struct, rename={"jga_v1_5": "jga_v1-5", "mean": "mean_v1-5"}):
    """The figures of some frames in scores.json: fractions, None where undefined."""

    jga_orig: float | None
    jga_v1_5: float | None
    relative_difference: float | None
    ss_jga: float | None
    mean: dict[str, float | None]
    sensitivity: dict[str, float | None]
    confidence: dict[str, tuple[float, float] | None] = {}


class AllFigures(Figures, kw_only=True):
    """The part ``sgdx`` of scores.json."""

    by_variant: dict[str, float | None]
    seen: Figures
    unseen: Figures
    by_service: dict[str, Figures]


class Paired(msgspec.Struct):
    """Every frame's joint goal accuracy, by variant."""

    frame_id: list[str]
    seen: list[str]
    joint_goal_accuracy: dict[str, list[float | None]]


class Scores(msgspec.Struct):
    """What the report reads of a scores.json."""

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: AllFigures
    frames: dict[str, int]
    paired: Paired


@dataclass(frozen=True, kw_only=True)
class Run(Provenance):
    """One run of a tracker: its scores and what is known of it.

    Attributes:
        scores: The content of scores.json.
        predictions: The prediction files by variant; empty where there are none.
    """

    scores: Scores
    predictions: Mapping[str, Path]

    @property
    def counted(self) -> tuple[int, str]:
        """How many frames were scored."""
        return self.scores.frames.get("all", 0), "frames"

    @cached_property
    def compared(self) -> Hashable:
        """The parts of the signature that are not the system's own, and the frames."""
        parts = {k: v for k, v in self.parts.items() if k not in _OF_THE_SYSTEM}
        return str(parts), hash(tuple(self.order.to_pylist()))

    @property
    def variants(self) -> list[str]:
        """The schema variants that were scored."""
        return list(self.scores.variants)

    @cached_property
    def rules(self) -> Rules:
        """How the frames were scored, which the signature states."""
        return rules_of(self.parts)

    @cached_property
    def order(self) -> pa.Array:
        """The ids of the frames that were scored, sorted [frames]."""
        return pa.array(sorted(self.scores.paired.frame_id), pa.string())

    @cached_property
    def place(self) -> Places:
        """Where those frames belong."""
        seen = set(self.scores.paired.seen)
        ids = self.order.to_pylist()
        return places(self.order, np.array([i.rsplit("/", 1)[-1] in seen for i in ids], dtype=bool))

    @cached_property
    def jga(self) -> dict[str, Floats]:
        """Joint goal accuracy by variant, in the order of ``order`` [frames].

        Raises:
            ScoreError: scores.json has a frame twice, or not as many scores as frames.
        """
        paired = self.scores.paired
        found = pa.array(paired.frame_id, pa.string())
        at = np.argsort(positions(found, self.order, str(self.path)))
        for variant, values in paired.joint_goal_accuracy.items():
            if len(values) != len(at):
                raise ScoreError(
                    f"{self.path}: {len(values)} scores of {variant}, expected {len(at)}"
                )
        return {
            name: np.array(values, dtype=np.float64)[at]
            for name, values in paired.joint_goal_accuracy.items()
        }

    @cached_property
    def turn_number(self) -> Ints:
        """The number of each frame's user turn in its dialogue, from 1 [frames].

        The users of SGD speak first and then every second turn.
        """
        return np.array([int(i.split("/")[-2]) // 2 + 1 for i in self.order.to_pylist()])


Tracker = System[Run]
Trackers = Group[Run]


def read_run(path: Path, file: Path) -> Run:
    """Read a run of a tracker.

    Args:
        path: What the user gave.
        file: Its scores.json, which may have ``predictions`` or ``VARIANT.jsonl`` beside it.

    Raises:
        ScoreError, SgdxError: A file is malformed.
    """
    scores = decode(file.read_bytes(), Scores, str(file))
    signature_parts(scores.signature, str(path))
    paths = predictions_of(file.parent, list(scores.variants))
    facts, settings = read_facts(file, paths)
    run = Run(
        path=path,
        signature=scores.signature,
        facts=facts,
        settings=settings,
        logs=read_logs(file, facts),
        scores=scores,
        predictions=paths,
    )
    _check(run)
    return run


def _check(run: Run) -> None:
    """Refuse scores that contradict themselves.

    Raises:
        ScoreError: The frames do not match, or there are none.
    """
    if not run.scores.paired.frame_id:
        raise ScoreError(f"{run.path}: found no frames in scores.json, expected at least one")
    for one in run.scores.paired.frame_id:
        if one.count("/") < 2 or not one.split("/")[-2].isdigit():
            raise ScoreError(f"{run.path}: frame id is '{one}', expected DIALOGUE/TURN/SERVICE")
    if set(run.jga) != set(run.scores.variants):
        raise ScoreError(
            f"{run.path}: 'paired' has the variants {', '.join(run.jga)}, expected "
            f"{', '.join(run.scores.variants)} as in 'variants'"
        )
    _ = run.rules
