"""The dialogues and services that a report is of, where it is not of all that was scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_eval.results import only_dialogues, only_services
from sgdx_metric.columns import Ints
from sgdx_metric.core import Sample
from sgdx_metric.report import DROP, HEADLINE, RELATIVE, confidence, headline
from sgdx_metric.signature import split_name
from sgdx_metric.units import ALL, SEEN, UNSEEN

from .runs import TrackerRun
from .stored import GroupScores, TrackerResults

AnyInput = TypeVar("AnyInput")


@dataclass(frozen=True)
class FrameChoice:
    """Which frames of the runs a report is of.

    Attributes:
        dialogues: A file with the ids of dialogues; None for all.
        services: The original names of services; none for all.
    """

    dialogues: Path | None = None
    services: Sequence[str] = ()


ALL_FRAMES = FrameChoice()


def choose_frames(run: AnyInput, choice: FrameChoice) -> AnyInput:
    """A run of a tracker with the chosen frames alone, and the figures of these.

    The official metrics other than joint goal accuracy are not known for a choice of frames.

    Raises:
        SgdxError: The run lacks a dialogue or a service, or is none of a tracker.
    """
    if not (choice.dialogues or choice.services):
        return run
    if not isinstance(run, TrackerRun):
        raise SgdxError(
            "--dialogues, --service: found a run of something else, expected runs of trackers"
        )
    results = run.results
    if choice.dialogues:
        split = split_name(run.signature_parts.get("split", "test"))
        ids = read_dialogue_ids(choice.dialogues, split)
        results = only_dialogues(results, ids, str(choice.dialogues))
    if choice.services:
        results = only_services(results, choice.services)
    results = _scored_anew(results)
    return replace(run, results=results, signature=results.signature)


def _scored_anew(results: TrackerResults) -> TrackerResults:
    """The same frames with the headline figures that they give, and no other metric."""
    groups = results.frame_index.groups()
    with_intervals = (ALL, SEEN, UNSEEN)  # as in a scores.json, services have none
    scores = {
        name: _group_scores(results, members, name in with_intervals)
        for name, members in groups.items()
    }
    by_variant = results.by_wording(groups[ALL]).values()
    sgdx = msgspec.structs.replace(
        results.stored.sgdx,
        **msgspec.structs.asdict(scores.pop(ALL)),
        by_variant=by_variant,
        seen=scores.pop(SEEN),
        unseen=scores.pop(UNSEEN),
        by_service=scores,
    )
    counts = {name: len(groups[name]) for name in with_intervals}
    no_metrics: dict[str, dict[str, dict[str, float | None]]] = {v: {} for v in results.variants}
    anew = msgspec.structs.replace(results.stored, sgdx=sgdx, frames=counts, variants=no_metrics)
    return replace(results, stored=anew)


def _group_scores(results: TrackerResults, members: Ints, has_intervals: bool) -> GroupScores:
    scores = results.scores(members)
    sample = Sample(scores, [*results.task.figures(scores), DROP, RELATIVE])
    figures = headline(sample)
    intervals = confidence(sample) if has_intervals else {}
    return GroupScores(
        **{key.replace("-", "_"): figures[key] for key in HEADLINE},
        mean={},
        sensitivity={},
        confidence={name: (ends[0], ends[1]) for name, ends in intervals.items() if ends},
    )
