"""The figures that a scores.json holds, as the report's tables read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json
from sgdx_eval.results import Results, parse_results
from sgdx_metric.columns import Floats
from sgdx_metric.report import JOINT
from sgdx_metric.units import ALL, SEEN, UNSEEN, Items

_KEYS = {
    "jga_v1_5": "jga_v1-5",
    "mean": "mean_v1-5",
    "change_v1_5": "change_v1-5",
    "canonical_v1_5": "canonical_v1-5",
}


class GroupScores(msgspec.Struct, rename=_KEYS):
    """The headline scores of a group of frames, as `robustness` has them."""

    jga_orig: float | None
    jga_v1_5: float | None
    relative_difference: float | None
    ss_jga: float | None
    # Of every metric its mean over v1 to v5, and its schema sensitivity.
    mean: dict[str, float | None]
    sensitivity: dict[str, float | None]
    jga_worst: float | None
    flips: float | None
    change_orig: float | None
    change_v1_5: float | None
    canonical_orig: float | None
    canonical_v1_5: float | None
    # 95 % intervals by the name of the score; services have none.
    confidence: dict[str, tuple[float, float] | None] = {}


class RobustnessScores(GroupScores, kw_only=True):
    """The part `sgdx` of scores.json: the headline scores of all frames, and of groups of them."""

    by_variant: dict[str, float | None]
    seen: GroupScores
    unseen: GroupScores
    by_service: dict[str, GroupScores]


class StateScores(msgspec.Struct):
    """What the report reads of a scores.json of dialogue states."""

    # The mean of each metric, by variant and by group of services.
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: RobustnessScores
    frames: dict[str, int]


@dataclass(frozen=True)
class TrackerResults(Results):
    """The scores of a tracker, of single frames and as they are stored."""

    stored: StateScores

    @property
    def frame_ids(self) -> pa.Array:
        """The ids of the frames [frames]."""
        return self.raw.items.ids

    @property
    def frame_index(self) -> Items:
        """Where the frames belong."""
        return self.raw.items

    @property
    def joint(self) -> dict[str, Mapping[str, Floats]]:
        """The joint accuracies that are known, by the names of JOINT and by variant [frames]."""
        metrics = self.raw.metrics
        return {
            name: dict(zip(self.variants, metrics[metric]))
            for name, metric in JOINT.items()
            if metric in metrics
        }


def read_tracker_results(path: Path) -> TrackerResults:
    """Read a scores.json of dialogue states."""
    data = read_input(path)
    read = parse_results(data, path)
    stored = parse_json(data, StateScores, str(path), "a scores.json of dialogue states")
    return TrackerResults(**vars_of(read), stored=stored)


def vars_of(results: Results) -> dict[str, Any]:
    """The fields of results."""
    return {name: getattr(results, name) for name in Results.__dataclass_fields__}


class Difference(msgspec.Struct):
    """A wording's scores against those of the original: fractions, None where undefined."""

    difference: float | None
    low: float | None
    high: float | None
    p: float | None


class Decision(msgspec.Struct):
    """How well it is decided whether to call: fractions, None where undefined."""

    precision: float | None
    recall: float | None


class WordingFigures(msgspec.Struct, rename={"v1_5": "v1-5"}):
    """The figures of some calls or cases, as ``sgdx_metric.wording_figures`` has them."""

    by_variant: dict[str, float | None]
    confidence: dict[str, tuple[float, float] | None] = {}
    original: float | None = None
    reworded: float | None = None
    v1_5: float | None = None
    drop: float | None = None
    worst: float | None = None
    flips: float | None = None
    sensitivity: float | None = None
    p: float | None = None
    frames: int = 0


class MetricScores(WordingFigures):
    """The figures of one metric over all wordings."""

    differences: dict[str, Difference] = {}
    # None for APIs that are not SGD's.
    seen: WordingFigures | None = None
    unseen: WordingFigures | None = None
    by_service: dict[str, WordingFigures] = {}

    def group(self, name: str) -> WordingFigures | None:
        """The figures of all, the seen or the unseen services."""
        return {ALL: self, SEEN: self.seen, UNSEEN: self.unseen}[name]
