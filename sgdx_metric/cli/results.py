"""Read scores.json, the file that `score` writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json

from ..bootstrap import Statistics, Sums
from ..columns import Floats, Ints
from ..report import PAIRED
from ..robustness import (
    BESIDE,
    Beside,
    dialogue_sums,
    headline,
    headline_statistics,
    mean_defined,
    tables,
)
from ..signature import Rules
from ..units import FrameIndex, unit_scores
from ..variants import ORIGINAL, PAPER_VARIANTS, wider_set
from .paired_results import (
    Fraction,
    PairedResults,
    check_complete,
    read_frames,
)

_KEYS = {
    "jga_v1_5": "jga_v1-5",
    "mean": "mean_v1-5",
    "change_v1_5": "change_v1-5",
    "canonical_v1_5": "canonical_v1-5",
}


class GroupScores(msgspec.Struct, rename=_KEYS):
    """The headline scores of a group of frames: fractions, None where undefined.

    Attributes:
        jga_orig, jga_v1_5: Joint goal accuracy under the original schemas and its mean over v1..v5.
        relative_difference: (jga_v1_5 - jga_orig) / jga_orig.
        ss_jga: Schema sensitivity of the joint goal accuracy.
        mean, sensitivity: For every metric its mean over v1..v5, and its schema sensitivity.
        confidence: 95 % intervals by the name of the score; services have none.
        jga_worst: The mean of each frame's worst score over the original and v1..v5.
        flips: The share of frames that are right under one of these and wrong under another.
        change_orig, change_v1_5: Change accuracy under the original schemas and its mean over
            v1..v5.
        canonical_orig, canonical_v1_5: The same of the canonical accuracy.
    """

    jga_orig: float | None
    jga_v1_5: float | None
    relative_difference: float | None
    ss_jga: float | None
    mean: dict[str, float | None]
    sensitivity: dict[str, float | None]
    jga_worst: float | None
    flips: float | None
    change_orig: float | None
    change_v1_5: float | None
    canonical_orig: float | None
    canonical_v1_5: float | None
    confidence: dict[str, tuple[float, float] | None] = {}


class RobustnessScores(GroupScores, kw_only=True):
    """The part `sgdx` of scores.json: the headline scores of all frames, and of groups of them.

    Attributes:
        by_variant: Joint goal accuracy under each variant.
        seen, unseen: The scores of frames whose service is in the train split, and is not.
        by_service: The scores of each service, by its original name.
    """

    by_variant: dict[str, float | None]
    seen: GroupScores
    unseen: GroupScores
    by_service: dict[str, GroupScores]


class PairedScores(msgspec.Struct):
    """The part `paired` of scores.json: the joint goal accuracy of every frame.

    Attributes:
        frame_id: The frames' ids, in any order [frames].
        seen: The original names of the services that are in the train split.
        joint_goal_accuracy: By variant, in the order of `frame_id`, None where undefined [frames].
        joint_change_accuracy: The same of the change; empty where it is not known.
        joint_canonical_accuracy: The same with canonical values, likewise.
    """

    frame_id: Annotated[list[str], msgspec.Meta(min_length=1)]
    seen: list[str]
    joint_goal_accuracy: Annotated[dict[str, list[Fraction | None]], msgspec.Meta(min_length=1)]
    joint_change_accuracy: dict[str, list[Fraction | None]] = {}
    joint_canonical_accuracy: dict[str, list[Fraction | None]] = {}


class Scores(msgspec.Struct):
    """What programs read of a scores.json.

    Attributes:
        signature: The line that says how it was scored.
        variants: The mean of each metric, by variant and by group of services.
        sgdx: Scores over variants.
        frames: How many frames there are, of `all`, `seen` and `unseen` services.
        paired: The joint goal accuracy of every frame.
        predictions: What the prediction files say of their system, by variant.
    """

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: RobustnessScores
    frames: dict[str, int]
    paired: PairedScores
    predictions: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class Results(PairedResults):
    """The scores of dialogue states in a scores.json.

    Attributes:
        scores: Its content. Of results that `only_dialogues` made, it stays that of all frames.
    """

    scores: Scores

    @property
    def jga(self) -> Mapping[str, Floats]:
        """Joint goal accuracy by variant [frames]."""
        return self.tables["joint_goal_accuracy"]

    @property
    def beside(self) -> Beside:
        """The accuracies beside it likewise, those that the file has, by the names of BESIDE."""
        return {
            name: self.tables[metric] for name, metric in BESIDE.items() if metric in self.tables
        }

    def sums(self, members: Ints) -> Sums:
        """The sums over dialogues of some frames' scores, as `dialogue_sums` has them."""
        return dialogue_sums(self.jga, self.frame_index, members, self.rules, self.beside)

    def statistics(self, means: Floats) -> Statistics:
        """The headline figures that the variants allow, such as `jga_v1-5` [...]."""
        return headline_statistics(means, self.variants, list(self.beside))

    def means_by_metric(self, means: Floats) -> dict[str, Statistics]:
        """The means under each variant [...], under `jga` and the names of `beside`."""
        return tables(means, self.variants, list(self.beside))

    def wording_sets(self) -> dict[str, list[str]]:
        """The paper's wordings as `_v1-5`; where there are others, all, as `(v1..v5+mine)`."""
        if not set(PAPER_VARIANTS) <= set(self.variants):
            raise SgdxError(
                f"{self.path}: found scores under {', '.join(self.variants)}, expected v1 to v5 "
                "among them, because wordings are drawn"
            )
        sets = {"_v1-5": list(PAPER_VARIANTS)}
        if wider := wider_set(self.variants):
            sets[f"({wider})"] = [name for name in self.variants if name != ORIGINAL]
        return sets

    def figures(self, members: Ints) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """What `headline_figures` returns, but for the drop."""
        figures, means = headline_figures(
            self.jga, self.beside, self.frame_index, members, self.rules
        )
        return {name: value for name, value in figures.items() if name != "drop"}, means


def read_results(path: Path) -> Results:
    """Read a scores.json.

    Raises:
        ScoreError, SgdxError: The file cannot be read, or is no scores.json.
    """
    return parse_results(read_input(path), path)


def parse_results(data: bytes, path: Path) -> Results:
    """Parse the content of a scores.json.

    Args:
        data: The content.
        path: The file, for error messages.

    Raises:
        ScoreError, SgdxError: It is none.
    """
    scores = parse_json(data, Scores, str(path), "a scores.json")
    paired = scores.paired
    frames = read_frames(scores.signature, paired.frame_id, paired.seen, path)
    by_metric = {m: by_variant for m in PAIRED if (by_variant := getattr(paired, m))}
    check_complete(by_metric, frames.parts, len(paired.frame_id), path)
    return Results(
        path=path,
        signature=scores.signature,
        parts=frames.parts,
        rules=frames.rules,
        frame_ids=frames.frame_ids,
        frame_index=frames.frame_index,
        tables={metric: frames.table(by_variant) for metric, by_variant in by_metric.items()},
        scores=scores,
    )


def headline_figures(
    jga: Mapping[str, Floats],
    beside: Beside,
    frame_index: FrameIndex,
    members: Ints,
    rules: Rules,
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """The headline figures of some frames, and their joint goal accuracy by variant.

    Args:
        jga: Joint goal accuracy of all frames, by variant [frames].
        beside: The accuracies beside it likewise, those that are known, by the names of BESIDE.
        frame_index: Where all frames belong.
        members: Positions of the frames [some frames].
        rules: How the frames were scored.

    Returns:
        What `headline` returns, and the mean under each variant.
    """
    turn = frame_index.turn[members]

    def of_units(by_variant: Mapping[str, Floats]) -> Floats:
        scores = np.stack([by_variant[name][members] for name in jga])
        return unit_scores("joint_goal_accuracy", scores, turn, rules)

    scores = of_units(jga)
    means = {name: mean_defined(row) for name, row in zip(jga, scores, strict=True)}
    others = {name: of_units(of_name) for name, of_name in beside.items()}
    return headline(scores, list(jga), rules, others), means
