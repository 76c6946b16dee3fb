"""Read the scores.json that `calls` writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.json import parse_json
from sgdx_metric.calls import CALL, CALL_METRICS, COMPARED, call_samples
from sgdx_metric.columns import Ints
from sgdx_metric.core import Sample
from sgdx_metric.units import ALL, SEEN, UNSEEN
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .paired_results import (
    Fraction,
    PairedResults,
    check_complete,
    read_frames,
)


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


class PairedCalls(msgspec.Struct):
    """The part `paired` of such a scores.json: the scores of every call."""

    # The frames that a call follows, in any order.
    frame_id: Annotated[list[str], msgspec.Meta(min_length=1)]
    # The original names of the services that are in the train split.
    seen: list[str]
    # By variant, in the order of `frame_id` [calls].
    call_accuracy: Annotated[dict[str, list[Fraction]], msgspec.Meta(min_length=1)]
    call_name_accuracy: dict[str, list[Fraction]]
    call_argument_accuracy: dict[str, list[Fraction]]


class _CallScores(msgspec.Struct):
    """What is read of such a scores.json to pair it with another."""

    signature: str
    paired: PairedCalls


@dataclass(frozen=True)
class CallResults(PairedResults):
    """The scores of calls in a scores.json."""

    def samples(self, members: Ints) -> Sequence[Sample]:
        """Some calls, and the tasks of their dialogues, as `call_samples` has them."""
        tables = {
            metric: {variant: scores[members] for variant, scores in by_variant.items()}
            for metric, by_variant in self.tables.items()
        }
        return call_samples(tables, self.frame_index.dialogue[members], self.rules.zero_mean)

    def wording_means(self) -> dict[str, tuple[str, Sequence[str]]]:
        """Such as `call_accuracy.reworded`; `.v1-5`, where others are among the wordings."""
        reworded = [name for name in self.variants if name != ORIGINAL]
        if len(reworded) < 2:
            raise SgdxError(
                f"{self.path}: found calls under {', '.join(self.variants)}, expected two or more "
                "wordings beside the original, because wordings are drawn"
            )
        sets: dict[str, Sequence[str]] = {".reworded": reworded}
        if {*PAPER_VARIANTS} < {*reworded}:
            sets[".v1-5"] = PAPER_VARIANTS
        return {
            f"{metric}{mark}": (metric, wordings)
            for metric in COMPARED
            for mark, wordings in sets.items()
        }


def parse_call_results(data: bytes, path: Path) -> CallResults:
    """Parse the content of a scores.json of calls."""
    scores = parse_json(data, _CallScores, str(path), "a scores.json of calls")
    paired = scores.paired
    by_metric = {metric: getattr(paired, metric) for metric in CALL_METRICS}
    frames = read_frames(scores.signature, paired.frame_id, paired.seen, path)
    check_complete(by_metric, frames.parts, len(paired.frame_id), path)
    return CallResults(
        path=path,
        signature=scores.signature,
        parts=frames.parts,
        rules=frames.rules,
        frame_ids=frames.frame_ids,
        frame_index=frames.frame_index,
        tables={metric: frames.table(by_metric[metric]) for metric in (CALL, *CALL_METRICS[:2])},
    )
