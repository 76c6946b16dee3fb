"""What can be compared: scores of single frames, or calls, as a scores.json has them."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import Floats, Ints, positions
from sgdx_metric.core import Sample, means_under
from sgdx_metric.signature import NAME, Rules, rules_of, signature_parts
from sgdx_metric.subset import dialogues_mark
from sgdx_metric.units import FrameIndex, index_frames

# Parts of a signature that belong to the system. They may differ where two systems are compared.
SYSTEM_PARTS = ("system-acts", "oracle", "predictions")
# What a signature without one of these parts means.
_DEFAULT_PARTS = {
    "task": "state",
    "dialogues": "all",
    "services": "all",
    "errata": "counted",
    "oracle": "no",
    "system-acts": "unknown",
    "predictions": "of-this-data",
}

Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
# By metric and by variant, scores in [0, 1], NaN where undefined [frames].
Tables = Mapping[str, Mapping[str, Floats]]


@dataclass(frozen=True)
class PairedResults(ABC):
    """The scores of single frames in a scores.json, which are paired with another's."""

    path: Path
    signature: str
    # What the signature states, by key.
    parts: dict[str, str]
    rules: Rules
    # The frames, or those that a call follows, sorted [frames].
    frame_ids: pa.Array
    frame_index: FrameIndex
    # The main metric comes first [frames].
    tables: Tables

    @property
    def variants(self) -> list[str]:
        """The schema variants that were scored."""
        return list(next(iter(self.tables.values())))

    def dialogue_ids(self) -> list[str]:
        """The ids of the dialogues that were scored, each once, sorted."""
        return sorted({frame_id.rsplit("/", 2)[0] for frame_id in self.frame_ids.to_pylist()})

    def part(self, key: str) -> str:
        """A part of the signature; where the signature lacks it, what that means."""
        return self.parts.get(key, _DEFAULT_PARTS.get(key, "unstated"))

    @abstractmethod
    def samples(self, members: Ints) -> Sequence[Sample]:
        """Some frames [some frames], or calls, summed up; tasks of dialogues of calls apart."""

    @abstractmethod
    def wording_means(self) -> dict[str, tuple[str, Sequence[str]]]:
        """By the key of each mean over wordings its metric in `samples`, and the wordings."""

    def figures(self, members: Ints) -> dict[str, float | None]:
        """The figures of some frames, or calls, that the variants give; None if undefined."""
        return {
            key: value for sample in self.samples(members) for key, value in sample.values().items()
        }

    def by_variant(self, members: Ints) -> Sample:
        """The main metric of some frames, or calls, under each variant as a figure."""
        scores = self.samples(members)[0].scores
        return Sample(scores, means_under(next(iter(scores.metrics)), scores.wordings))


AnyResults = TypeVar("AnyResults", bound=PairedResults)


@dataclass(frozen=True)
class PairedFrames:
    """Which frames a scores.json has single scores of, and how they were scored."""

    parts: dict[str, str]
    rules: Rules
    frame_ids: pa.Array
    frame_index: FrameIndex
    # For each of `frame_ids` its position in the file [frames].
    order: Ints

    def table(self, by_variant: Mapping[str, Sequence[float | None]]) -> dict[str, Floats]:
        """The scores of a metric by variant, in the order of `frame_ids` [frames]."""
        return {
            variant: np.array(scores, dtype=np.float64)[self.order]
            for variant, scores in by_variant.items()
        }


def unit_of(parts: Mapping[str, str]) -> str:
    """What the scores of a file are of, by the parts of its signature: "frames" or "calls"."""
    return "calls" if parts.get("task") == "calls" else "frames"


def read_frames(
    signature: str, frame_id: Sequence[str], seen: Collection[str], path: Path
) -> PairedFrames:
    """Read which frames, in any order, the part `paired` of a scores.json has scores of."""
    parts = signature_parts(signature, str(path))
    rules = rules_of(parts, str(path))
    for one_id in frame_id:
        if one_id.count("/") < 2 or not one_id.split("/")[-2].isdecimal():
            raise SgdxError(f"{path}: frame id is '{one_id}', expected DIALOGUE/TURN/SERVICE")
    frame_ids = pa.array(sorted(frame_id), pa.string())
    unsorted_ids = pa.array(frame_id, pa.string())
    order = np.argsort(positions(unsorted_ids, frame_ids.unique(), str(path), unit_of(parts)))
    services = [one_id.rsplit("/", 1)[-1] for one_id in frame_ids.to_pylist()]
    return PairedFrames(
        parts, rules, frame_ids, index_frames(frame_ids, np.isin(services, list(seen))), order
    )


def check_complete(
    by_metric: Mapping[str, Mapping[str, Sequence[float | None]]],
    parts: dict[str, str],
    count: int,
    path: Path,
) -> None:
    """Raise SgdxError unless each metric has `count` scores under each variant of the signature."""
    stated = wordings(parts)
    for metric, by_variant in by_metric.items():
        if by_variant.keys() != stated.keys():
            raise SgdxError(
                f"{path}: paired: {metric} has {', '.join(by_variant)}, expected "
                f"{', '.join(stated)} as the signature says"
            )
        for variant, scores in by_variant.items():
            if len(scores) != count:
                raise SgdxError(
                    f"{path}: paired: {metric}: {len(scores)} scores of {variant}, expected {count}"
                )


def only_dialogues(results: AnyResults, dialogue_ids: Sequence[str], where: str) -> AnyResults:
    """The results of some dialogues alone, with their signature; `where` names them in errors."""
    if lacking := sorted(set(dialogue_ids) - set(results.dialogue_ids())):
        raise SgdxError(
            f"{results.path}: lacks {len(lacking)} of the {len(dialogue_ids)} dialogues of "
            f"{where}, the first is {lacking[0]}"
        )
    kept_ids = set(dialogue_ids)
    dialogues = [frame_id.rsplit("/", 2)[0] for frame_id in results.frame_ids.to_pylist()]
    members = np.flatnonzero([dialogue in kept_ids for dialogue in dialogues])
    return _only_frames(results, members)


def only_services(results: AnyResults, services: Collection[str]) -> AnyResults:
    """The results of some services alone, by original names, with their signature."""
    service_names = results.frame_index.services()
    if lacking := sorted(set(services) - set(service_names)):
        raise SgdxError(
            f"{results.path}: --service {lacking[0]}: found no {unit_of(results.parts)} of it, "
            f"expected one of {', '.join(service_names)}"
        )
    members = np.flatnonzero([service in services for service in results.frame_index.service])
    return _only_frames(results, members, {"services": "+".join(sorted(set(services)))})


def _only_frames(
    results: AnyResults, members: Ints, mark: Mapping[str, str] = MappingProxyType({})
) -> AnyResults:
    """The results of the frames at some positions, whose signature names their dialogues."""
    frame_ids = results.frame_ids.take(pa.array(members))
    ids = {frame_id.rsplit("/", 2)[0] for frame_id in frame_ids.to_pylist()}
    marks = {"dialogues": dialogues_mark(ids), **mark}
    parts: dict[str, str] = {}
    for key, value in results.parts.items():
        if key == "frames":
            parts |= {**marks, "frames": str(len(members))}
        elif key not in marks:
            parts[key] = value
    return replace(
        results,
        signature="|".join([NAME, *(f"{key}:{value}" for key, value in parts.items())]),
        parts=parts,
        frame_ids=frame_ids,
        frame_index=index_frames(frame_ids, results.frame_index.seen[members]),
        tables={
            metric: {variant: scores[members] for variant, scores in by_variant.items()}
            for metric, by_variant in results.tables.items()
        },
    )


def wordings(parts: dict[str, str]) -> dict[str, str]:
    """The fingerprint of each variant in a signature; empty for a variant of the release."""
    variants = parts.get("variants", "").split("+")
    return {name: mark for name, _, mark in (variant.partition("@") for variant in variants)}


def check_part(first: PairedResults, second: PairedResults, key: str) -> None:
    """Refuse two results whose signatures differ in a part."""
    if first.part(key) != second.part(key):
        raise SgdxError(
            f"{second.path}: {key} is '{second.part(key)}' in the signature, and "
            f"'{first.part(key)}' in that of {first.path}: these scores cannot be compared"
        )


def check_alike(first: PairedResults, second: PairedResults, free: Collection[str] = ()) -> None:
    """Refuse two results that were not scored alike, but for `free` parts, on the same frames."""
    first_marks, second_marks = wordings(first.parts), wordings(second.parts)
    for variant, mark in first_marks.items():
        if variant in second_marks and second_marks[variant] != mark:
            raise SgdxError(
                f"{second.path}: found another wording '{variant}' "
                f"({second_marks[variant] or 'unmarked'}) than in {first.path} "
                f"({mark or 'unmarked'}), expected the same schemas"
            )
    for key in ("dialogues", *first.parts, *second.parts):
        # These say only what intervals are over, and whether there are further figures.
        if key not in (*free, "over", "canonical"):
            check_part(first, second, key)
    if apart := set(first.frame_ids.to_pylist()) ^ set(second.frame_ids.to_pylist()):
        raise SgdxError(
            f"{second.path}: the {unit_of(first.parts)} are not those of {first.path}: "
            f"{len(apart)} are in only one of the two, the first is {min(apart)}"
        )
    if not np.array_equal(first.frame_index.seen, second.frame_index.seen):
        raise SgdxError(f"{second.path}: the seen services are not those of {first.path}")
