"""Read scores.json, the file that `score` writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import decode_json, parse_json

from ..bootstrap import Statistics, Sums
from ..columns import Floats, Ints
from ..report import ALL as ALL_SERVICES
from ..report import PAIRED
from ..report import SEEN as SEEN_SERVICES
from ..report import UNSEEN as UNSEEN_SERVICES
from ..robustness import (
    BESIDE,
    HEADLINE,
    Beside,
    confidence,
    dialogue_sums,
    headline,
    headline_statistics,
    mean_defined,
    tables,
)
from ..signature import Rules
from ..units import ALL, SEEN, UNSEEN, FrameIndex, unit_scores
from ..variants import ORIGINAL, PAPER_VARIANTS, wider_set
from .paired_results import (
    Fraction,
    PairedResults,
    PredictionFacts,
    check_digest,
    check_figure,
    read_frames,
    wordings,
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
            v1..v5; None where an earlier version scored it.
        canonical_orig, canonical_v1_5: The same of the canonical accuracy.
    """

    jga_orig: float | None
    jga_v1_5: float | None
    relative_difference: float | None
    ss_jga: float | None
    mean: dict[str, float | None]
    sensitivity: dict[str, float | None]
    confidence: dict[str, tuple[float, float] | None] = {}
    jga_worst: float | None = None
    flips: float | None = None
    change_orig: float | None = None
    change_v1_5: float | None = None
    canonical_orig: float | None = None
    canonical_v1_5: float | None = None


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
        joint_change_accuracy: The same of the change; empty where an earlier version scored it.
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
        predictions: What the prediction files say of themselves, by variant.
        sha256: The digest of all the rest, `scores_digest`; empty in files of earlier versions.
    """

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: RobustnessScores
    frames: dict[str, int]
    paired: PairedScores
    predictions: dict[str, PredictionFacts] = {}
    sha256: str = ""


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
        ScoreError, SgdxError: The file cannot be read, is no scores.json, or contradicts itself.
    """
    return parse_results(read_input(path), path)


def parse_results(data: bytes, path: Path) -> Results:
    """Parse the content of a scores.json.

    Args:
        data: The content.
        path: The file, for error messages.

    Raises:
        ScoreError, SgdxError: It is none, or contradicts itself.
    """
    scores = parse_json(data, Scores, str(path), "a scores.json")
    check_digest(decode_json(data, dict[str, Any], str(path), "a scores.json"), path)
    paired = scores.paired
    frames = read_frames(scores.signature, paired.frame_id, paired.seen, path)
    _check_complete(scores, frames.parts, path)
    jga = frames.table(paired.joint_goal_accuracy)
    if "jga_worst" not in scores.sgdx.confidence:
        _add_worst_case(scores.sgdx, jga, frames.frame_index, frames.rules)
    results = Results(
        path=path,
        signature=scores.signature,
        parts=frames.parts,
        rules=frames.rules,
        predictions=scores.predictions,
        has_digest=bool(scores.sha256),
        frame_ids=frames.frame_ids,
        frame_index=frames.frame_index,
        tables={
            metric: frames.table(by_variant)
            for metric in PAIRED
            if (by_variant := getattr(paired, metric))
        },
        scores=scores,
    )
    _check_figures(results)
    return results


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


def _check_figures(results: Results) -> None:
    """Raise SgdxError unless figures and counts are those of the frames in `paired`."""
    path, scores, index = results.path, results.scores, results.frame_index
    groups = {**scores.sgdx.by_service, ALL: scores.sgdx}
    groups |= {SEEN: scores.sgdx.seen, UNSEEN: scores.sgdx.unseen}
    names = {ALL: ALL_SERVICES, SEEN: SEEN_SERVICES, UNSEEN: UNSEEN_SERVICES}
    for name, members in index.groups().items():
        if scores.frames.get(name, len(members)) != len(members):
            raise SgdxError(
                f"{path}: frames: {name} is {scores.frames[name]}, expected {len(members)}"
            )
        if name not in groups:
            continue
        expected, means = headline_figures(
            results.jga, results.beside, index, members, results.rules
        )
        stated = {
            f"sgdx: {key}": (getattr(groups[name], key.replace("-", "_")), expected.get(key))
            for key in HEADLINE
        }
        if name == ALL:
            stated |= {
                f"sgdx: {variant}": (value, means.get(variant))
                for variant, value in scores.sgdx.by_variant.items()
            }
        for variant, mean in means.items():
            of_group = scores.variants[variant].get(names.get(name, ""), {})
            if "joint_goal_accuracy" in of_group:
                jga = of_group["joint_goal_accuracy"]
                stated[f"variants: {variant}: joint_goal_accuracy"] = (jga, mean)
        for key, (value, other) in stated.items():
            check_figure(key, name, value, other, path, "frames")


def _add_worst_case(
    sgdx: RobustnessScores, jga: dict[str, Floats], frame_index: FrameIndex, rules: Rules
) -> None:
    """Compute the worst case and the flips of a scores.json that was written before there were any.

    Args:
        sgdx: Its part `sgdx`, which gets the figures of each group and their intervals.
        jga: Joint goal accuracy by variant [frames].
        frame_index: Where the frames belong.
        rules: How the frames were scored.
    """
    groups = {**sgdx.by_service, ALL: sgdx, SEEN: sgdx.seen, UNSEEN: sgdx.unseen}
    for name, members in frame_index.groups().items():
        if (group := groups.get(name)) is None:
            continue
        figures, _ = headline_figures(jga, {}, frame_index, members, rules)
        group.jga_worst, group.flips = figures["jga_worst"], figures["flips"]
        if name in (ALL, SEEN, UNSEEN):
            intervals = confidence(jga, frame_index, members, rules)  # of then: over dialogues
            for key in ("jga_worst", "flips"):
                ends = intervals[key]
                group.confidence[key] = (ends[0], ends[1]) if ends else None


def _check_complete(scores: Scores, parts: dict[str, str], path: Path) -> None:
    """Raise SgdxError unless the frames and variants are everywhere the same."""
    count = len(scores.paired.frame_id)
    tables: dict[str, dict[str, list[Any]]] = {m: getattr(scores.paired, m) for m in PAIRED}
    for by_variant in tables.values():
        for variant, of_variant in by_variant.items():
            if len(of_variant) != count:
                raise SgdxError(f"{path}: {len(of_variant)} scores of {variant}, expected {count}")
    paired, stated_variants = set(scores.paired.joint_goal_accuracy), set(wordings(parts))
    if lacking := sorted(stated_variants - paired):
        raise SgdxError(f"{path}: no scores of {lacking[0]}, expected them as the signature says")
    if extra := sorted(paired - stated_variants):
        raise SgdxError(f"{path}: found scores of {extra[0]}, of which the signature says nothing")
    if paired != set(scores.variants):
        raise SgdxError(
            f"{path}: 'variants' has {', '.join(scores.variants)}, expected "
            f"{', '.join(scores.paired.joint_goal_accuracy)} as in 'paired'"
        )
    for metric, by_variant in tables.items():
        if by_variant and by_variant.keys() != paired:
            raise SgdxError(
                f"{path}: paired: {metric} has {', '.join(by_variant)}, expected "
                f"{', '.join(scores.paired.joint_goal_accuracy)} as joint_goal_accuracy has"
            )
