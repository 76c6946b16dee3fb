"""What can be compared: scores of single frames, or calls, as a scores.json has them."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError

from ..bootstrap import Statistics, Sums
from ..columns import Floats, Ints, positions
from ..report import scores_digest
from ..signature import NAME, Rules, rules_of, signature_parts
from ..subset import dialogues_mark
from ..units import FrameIndex, index_frames
from .systems import Metadata

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
    "predictions": "unstated",
}

# What `provenance` says of scores.
VERIFIED, UNVERIFIED, ELSEWHERE = "verified", "unverified", "made elsewhere"


_ROUNDING = 1e-6  # by how much sums in another order may differ

Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
# By metric and by variant, scores in [0, 1], NaN where undefined [frames].
Tables = Mapping[str, Mapping[str, Floats]]


class PredictionFacts(Metadata, omit_defaults=True):
    """What a prediction file says of its system, and its digest.

    Attributes:
        sha256: The SHA-256 of the file; empty where an earlier version scored it.
    """

    sha256: str = ""


@dataclass(frozen=True)
class PairedResults(ABC):
    """A scores.json that agrees with itself, and whose frames are paired with another's.

    Attributes:
        path: The file.
        signature: The line that says how it was scored.
        parts: The parts of the signature, by key.
        rules: The rules that the signature states.
        predictions: What the prediction files say of themselves, by variant.
        has_digest: Whether the file has the digest of its content; those of earlier versions lack
            it.
        frame_ids: The ids of the frames, or of those that a call follows, sorted [frames].
        frame_index: Where those frames belong.
        tables: The scores of every frame, the main metric first [frames].
    """

    path: Path
    signature: str
    parts: dict[str, str]
    rules: Rules
    predictions: Mapping[str, PredictionFacts]
    has_digest: bool
    frame_ids: pa.Array
    frame_index: FrameIndex
    tables: Tables

    @property
    def variants(self) -> list[str]:
        """The schema variants that were scored."""
        return list(next(iter(self.tables.values())))

    @property
    def provenance(self) -> str:
        """How far it is known what the scores were made from, as `provenance` says it."""
        return provenance(self.has_digest, self.parts)

    def dialogue_ids(self) -> list[str]:
        """The ids of the dialogues that were scored, each once, sorted."""
        return sorted({frame_id.rsplit("/", 2)[0] for frame_id in self.frame_ids.to_pylist()})

    def part(self, key: str) -> str:
        """A part of the signature; where the signature lacks it, what that means."""
        return self.parts.get(key, _DEFAULT_PARTS.get(key, "unstated"))

    @abstractmethod
    def sums(self, members: Ints) -> Sums:
        """The sums over dialogues of some frames' scores.

        Args:
            members: Positions of the frames [some frames].

        Returns:
            Sums whose first rows are the main metric under the variants.
        """

    @abstractmethod
    def statistics(self, means: Floats) -> Statistics:
        """The figures that the variants allow, by name [...].

        Args:
            means: Mean scores of `sums` [..., rows].
        """

    @abstractmethod
    def means_by_metric(self, means: Floats) -> dict[str, Statistics]:
        """The means under each variant [...], by the beginning of the names of figures.

        Args:
            means: As for `statistics`.
        """

    @abstractmethod
    def wording_sets(self) -> dict[str, list[str]]:
        """The sets of wordings over which means are figures, by the end of the figure's name.

        Raises:
            SgdxError: There are too few wordings.
        """

    @abstractmethod
    def figures(self, members: Ints) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """The figures of some frames, and the main metric's mean under each variant.

        Args:
            members: As for `sums`.
        """


def check_digest(content: Mapping[str, Any], path: Path) -> None:
    """Refuse a scores.json that was changed since it was written.

    Args:
        content: The content of the file; where it has no `sha256`, nothing is known.
        path: The file, for the error message.

    Raises:
        SgdxError: `sha256` is not the digest of the rest.
    """
    stated = content.get("sha256") or ""
    if stated and stated != (digest := scores_digest(content)):
        raise SgdxError(
            f"{path}: was changed after it was scored: sha256 is {stated!s:.16}, expected "
            f"{digest:.16} of its content; score the predictions again"
        )


def provenance(has_digest: bool, parts: Mapping[str, str]) -> str:
    """How far it is known what scores were made from.

    Args:
        has_digest: Whether the file has the digest of its content.
        parts: The parts of its signature, by key.

    Returns:
        "verified"; "unverified" where the file, or the predictions, are of an earlier version that
        did not say what they were made from; "made elsewhere" where the predictions have no header.
    """
    if not has_digest or parts.get("predictions") == UNVERIFIED:
        return UNVERIFIED
    return VERIFIED if "predictions" in parts else ELSEWHERE


AnyResults = TypeVar("AnyResults", bound=PairedResults)


@dataclass(frozen=True)
class PairedFrames:
    """Which frames a scores.json has single scores of, and how they were scored.

    Attributes:
        parts, rules, frame_ids, frame_index: As in `PairedResults`.
        order: For each of `frame_ids` its position in the file [frames].
    """

    parts: dict[str, str]
    rules: Rules
    frame_ids: pa.Array
    frame_index: FrameIndex
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
    """Read which frames the part `paired` of a scores.json has scores of.

    Args:
        signature: The file's signature.
        frame_id: The frames' ids, in any order.
        seen: The original names of the services that are in the train split.
        path: The file, for error messages.

    Raises:
        ScoreError, SgdxError: An id is malformed or there twice, or the signature is none, or
            states another number of frames.
    """
    parts = signature_parts(signature, str(path))
    rules = rules_of(parts, str(path))
    for one_id in frame_id:
        if one_id.count("/") < 2 or not one_id.split("/")[-2].isdecimal():
            raise SgdxError(f"{path}: frame id is '{one_id}', expected DIALOGUE/TURN/SERVICE")
    frame_ids = pa.array(sorted(frame_id), pa.string())
    unsorted_ids = pa.array(frame_id, pa.string())
    order = np.argsort(positions(unsorted_ids, frame_ids.unique(), str(path), unit_of(parts)))
    if parts.get("frames") != str(len(frame_id)):
        stated = parts.get("frames", "none")
        raise SgdxError(
            f"{path}: found scores of {len(frame_id)} {unit_of(parts)}, the signature says {stated}"
        )
    services = [one_id.rsplit("/", 1)[-1] for one_id in frame_ids.to_pylist()]
    return PairedFrames(
        parts, rules, frame_ids, index_frames(frame_ids, np.isin(services, list(seen))), order
    )


def check_figure(
    name: str, group: str, value: float | None, expected: float | None, path: Path, unit: str
) -> None:
    """Refuse a figure that is not the one which the frames or calls in `paired` give.

    Args:
        name: The figure's name in the file.
        group: Which frames it is of.
        value, expected: What the file states, and what its frames give.
        path: The file, for the error message.
        unit: What the figure is of, as `unit_of` says it.

    Raises:
        SgdxError: The two differ.
    """
    if (value is None) != (expected is None) or abs((value or 0) - (expected or 0)) > _ROUNDING:
        raise SgdxError(
            f"{path}: {name} of {group} {unit} is {value}, expected {expected}, which the {unit} "
            "in 'paired' give"
        )


def only_dialogues(results: AnyResults, dialogue_ids: Sequence[str], where: str) -> AnyResults:
    """The results of some dialogues alone.

    Args:
        results: The results.
        dialogue_ids: The dialogues to keep, each once.
        where: Where the ids are from, for the error message.

    Returns:
        Results with the signature and the frames of these dialogues.

    Raises:
        SgdxError: The results lack one of the dialogues.
    """
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
    """The results of some services alone, which go by their original names.

    Returns:
        Results with the signature and the frames of these services.

    Raises:
        SgdxError: The results have no frame of one of the services.
    """
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
    """The results of some frames alone, whose signature names their dialogues.

    Args:
        results: The results.
        members: Positions of the frames [some frames].
        mark: What else the signature then says, by key.
    """
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
    """Refuse two results whose signatures differ in a part.

    Args:
        first, second: The results.
        key: The part's key.

    Raises:
        SgdxError: They differ.
    """
    if first.part(key) != second.part(key):
        raise SgdxError(
            f"{second.path}: {key} is '{second.part(key)}' in the signature, and "
            f"'{first.part(key)}' in that of {first.path}: these scores cannot be compared"
        )


def check_alike(first: PairedResults, second: PairedResults, free: Collection[str] = ()) -> None:
    """Refuse two results that were not scored alike on the same frames.

    Args:
        first, second: The results.
        free: Keys of the parts in which their signatures may differ.

    Raises:
        SgdxError: The signatures differ in another part, or the frames differ. The message names
            what differs first.
    """
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
