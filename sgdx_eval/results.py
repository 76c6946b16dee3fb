"""Read scores.json, the file that `score` writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.core import Figures, Sample
from sgdx_metric.report import DROP, JOINT, PAIRED, headline, state_sample, state_scores
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS, wider_set

from .headers import Header
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


class PairedScores(msgspec.Struct):
    """The part `paired` of scores.json: the accuracies of every frame, {} where not known."""

    # In any order.
    frame_id: Annotated[list[str], msgspec.Meta(min_length=1)]
    # The original names of the services that are in the train split.
    seen: list[str]
    # By variant, in the order of `frame_id`, None where undefined [frames].
    joint_goal_accuracy: Annotated[dict[str, list[Fraction | None]], msgspec.Meta(min_length=1)]
    joint_change_accuracy: dict[str, list[Fraction | None]] = {}
    joint_canonical_accuracy: dict[str, list[Fraction | None]] = {}


class Scores(msgspec.Struct):
    """What programs read of a scores.json."""

    signature: str
    # The mean of each metric, by variant and by group of services.
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: RobustnessScores
    frames: dict[str, int]
    paired: PairedScores
    # What the prediction files say of themselves, by variant.
    predictions: dict[str, Header] = {}


@dataclass(frozen=True)
class Results(PairedResults):
    """The scores of dialogue states in a scores.json."""

    # Of results that `only_dialogues` made, it stays that of all frames.
    scores: Scores

    @property
    def joint(self) -> dict[str, Mapping[str, Floats]]:
        """The joint accuracies that are known, by the names of JOINT and by variant [frames]."""
        return {name: self.tables[m] for name, m in JOINT.items() if m in self.tables}

    def sample(self, members: Ints, also: Figures = DROP) -> Sample:
        """Some frames summed up, as `state_sample` does."""
        scores = state_scores(self.joint, self.frame_index, members, self.rules)
        return state_sample(scores, also)

    def samples(self, members: Ints) -> Sequence[Sample]:
        """Some frames summed up for the headline figures."""
        return [self.sample(members, {})]

    def figures(self, members: Ints) -> dict[str, float | None]:
        """The headline figures of some frames, but for the drop; None if undefined."""
        figures = headline(self.sample(members))
        return {key: value for key, value in figures.items() if key != "drop"}

    def wording_means(self) -> dict[str, tuple[str, Sequence[str]]]:
        """Such as `jga_v1-5`, and where there are other wordings, `jga(v1..v5+mine)`."""
        if not set(PAPER_VARIANTS) <= set(self.variants):
            raise SgdxError(
                f"{self.path}: found scores under {', '.join(self.variants)}, expected v1 to v5 "
                "among them, because wordings are drawn"
            )
        sets: dict[str, Sequence[str]] = {"_v1-5": PAPER_VARIANTS}
        if wider := wider_set(self.variants):
            sets[f"({wider})"] = [name for name in self.variants if name != ORIGINAL]
        return {
            f"{name}{mark}": (name, wordings)
            for name in self.joint
            for mark, wordings in sets.items()
        }


def read_results(path: Path) -> Results:
    """Read a scores.json."""
    return parse_results(read_input(path), path)


def parse_results(data: bytes, path: Path) -> Results:
    """Parse the content of a scores.json."""
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
