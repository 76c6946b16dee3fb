"""Runs that were scored: what is known of any run, and the scores of a tracker's run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_metric.columns import Floats, Ints, positions
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import Rules, rules_of, signature_parts
from sgdx_metric.units import FrameIndex, index_frames

from .cells import printable
from .run_files import RunRecord, find_predictions, read_record

# What differs between two runs of one system, or says where a run was made and not what it is.
_NOT_THE_SYSTEM = {
    "seed", "model", "weights", "counts", "versions", "source", "configs", "split", "variant",
    "dialogues", "dtype", "schemas", "overlaps",
}  # fmt: skip
# What an augmentation changes in the record of a run.
_AUGMENTATION = {"augment", "train", "oracle"}
# The parts of a signature that are the system's own, in which runs may differ and yet compare.
_SIGNATURE_OF_SYSTEM = {"system-acts", "oracle"}
# A group of fewer frames or turns is marked as small.
_FEW = 1000
_LONGEST_NAME = 80


@dataclass(frozen=True)
class ScoredRun(ABC):
    """Where a run comes from: what was scored, how, and what is known of the system.

    Attributes:
        path: What the user gave: the run folder or the file of scores.
        signature: The line that says how the run was scored.
        record: What the run's files record of the system.
    """

    path: Path
    signature: str
    record: RunRecord

    @property
    @abstractmethod
    def comparison_key(self) -> Hashable:
        """What is equal in runs whose scores compare: what was scored, and how."""

    @property
    @abstractmethod
    def data_caveats(self) -> list[str]:
        """What must stand beside every number on this data, whatever the system."""

    @cached_property
    def signature_parts(self) -> dict[str, str]:
        """The parts of the signature, by key."""
        return dict(part.split(":", 1) for part in self.signature.split("|")[1:])

    @property
    def seed(self) -> Any:
        """The seed of the training; None where it is not recorded."""
        return next((t["seed"] for t in self.record.trainings if "seed" in t), None)

    @property
    def oracle(self) -> bool:
        """Whether the system was trained on the schemas that it is judged on."""
        trained = any(training.get("oracle") is True for training in self.record.trainings)
        return trained or self.signature_parts.get("oracle") == "yes"

    @property
    def random_weights(self) -> bool:
        """Whether the training began with random weights."""
        return any(training.get("model") == "tiny" for training in self.record.trainings)

    @property
    def augmentation(self) -> str:
        """The reworded schemas that the system was trained on too; empty for none."""
        augments = [training.get("augment") for training in self.record.trainings]
        augment = next((augment for augment in augments if isinstance(augment, dict)), None)
        if augment is None:
            return "oracle" if self.oracle else ""
        ratio = augment.get("ratio", 1)
        return f"{augment.get('schemas')}{'' if ratio == 1 else f' x {ratio}'}"

    def system_key(self, without_augmentation: bool = False) -> str:
        """What runs of one system share, as JSON: all that is recorded of it but the seed.

        Args:
            without_augmentation: Whether to leave the augmentation out too, so that runs which
                differ in it alone have the same key.
        """
        metadata, settings = self.record.metadata, self.record.settings
        if not metadata:  # Nothing is known, so it is a system of its own.
            return str(self.path)
        omitted = _NOT_THE_SYSTEM | (_AUGMENTATION if without_augmentation else set())
        key = {
            "facts": _without(metadata, omitted),
            "settings": _without(settings, omitted),
            "model": settings.get("model") or "",
        }
        if not without_augmentation:
            key["schemas"] = self.augmentation
        return msgspec.json.encode(key, order="deterministic").decode()

    def system_name(self) -> str:
        """A short name of the system, such as ``t5dst (d3st, t5-v1_1-base)``."""
        metadata = self.record.metadata
        system = metadata.get("tracker")
        if not system:
            return printable(name_of_path(self.path), _LONGEST_NAME)
        model = self.record.settings.get("model") or metadata.get("model")
        details = [_last_folder(str(text)) for text in (metadata.get("format"), model) if text]
        details = [text for text in details if text not in (system, "tiny")]
        in_brackets = f" ({', '.join(details)})" if details else ""
        augmented = f" + {self.augmentation}" if self.augmentation else ""
        return printable(f"{system}{in_brackets}{augmented}", _LONGEST_NAME)

    def system_caveats(self) -> list[str]:
        """What must stand beside every number of the system: oracle, random weights."""
        return system_caveats(self.oracle, self.random_weights)


def system_caveats(oracle: bool, random_weights: bool) -> list[str]:
    """What must stand beside every number of a system, by how it was trained."""
    caveats = ["oracle: trained on v1 to v5"] if oracle else []
    return caveats + (["random weights"] if random_weights else [])


def data_caveats(signature_parts: Mapping[str, str], count: int, unit: str = "frames") -> list[str]:
    """What must stand beside every number on some data: a partial copy, few frames.

    Args:
        signature_parts: The parts of a signature, by key.
        count: How many frames or turns were scored.
        unit: Which of the two, ``frames`` or ``turns``.
    """
    caveats = []
    release = signature_parts.get("release", "unknown")
    if release.startswith("partial:"):
        present, _, whole = release.removeprefix("partial:").partition("/")
        caveats.append(f"partial data: {int(present):,} of {int(whole):,} dialogues")
    if release.startswith("unverified:"):
        caveats.append("data that is not known to be the release's")
    if release == "sample":
        caveats.append("the small sample corpus, not SGD")
    if "dialogues" in signature_parts:
        subset = signature_parts["dialogues"].partition("@")[0]
        caveats.append(f"a subset of {subset} dialogues")
    if "@" in signature_parts.get("turns", ""):
        caveats.append("a choice of single turns")
    if count < _FEW:
        caveats.append(f"only {count:,} {unit}")
    return caveats


def name_of_path(path: Path) -> str:
    """The name of a run's folder, or that of a file of scores that has a name of its own."""
    path = path.absolute()  # "." has no name
    if path.is_dir():
        return path.name
    return path.parent.name if path.name == "scores.json" else path.stem


def _last_folder(name: str) -> str:
    """The last part of a model's name or path that says more than that it is a model."""
    parts = [part for part in name.split("/") if part not in ("", "model")]
    return parts[-1] if parts else name


def _without(value: Any, keys: set[str]) -> Any:
    """A nested value without the entries under some keys."""
    if isinstance(value, Mapping):
        return {key: _without(inner, keys) for key, inner in value.items() if key not in keys}
    return value


class HeadlineScores(msgspec.Struct, rename={"jga_v1_5": "jga_v1-5", "mean": "mean_v1-5"}):
    """The scores of some frames in scores.json: fractions, None where undefined."""

    jga_orig: float | None
    jga_v1_5: float | None
    relative_difference: float | None
    ss_jga: float | None
    mean: dict[str, float | None]
    sensitivity: dict[str, float | None]
    confidence: dict[str, tuple[float, float] | None] = {}


class SgdxScores(HeadlineScores, kw_only=True):
    """The part ``sgdx`` of scores.json: the scores of all frames, and of groups of them."""

    by_variant: dict[str, float | None]
    seen: HeadlineScores
    unseen: HeadlineScores
    by_service: dict[str, HeadlineScores]

    def of_services(self, services: str) -> HeadlineScores:
        """The scores of ``all``, of ``seen`` or of ``unseen`` services."""
        return {"all": self, "seen": self.seen, "unseen": self.unseen}[services]


class PairedScores(msgspec.Struct):
    """Every frame's joint goal accuracy, by variant."""

    frame_id: list[str]
    seen: list[str]
    joint_goal_accuracy: dict[str, list[float | None]]


class TrackerScores(msgspec.Struct):
    """What the report reads of a scores.json of ``sgdx_metric``."""

    signature: str
    variants: dict[str, dict[str, dict[str, float | None]]]
    sgdx: SgdxScores
    frames: dict[str, int]
    paired: PairedScores


@dataclass(frozen=True, kw_only=True)
class TrackerRun(ScoredRun):
    """One run of a tracker: its scores and what is known of it.

    Attributes:
        scores: The content of scores.json.
        predictions: The prediction files by variant; empty where there are none.
    """

    scores: TrackerScores
    predictions: Mapping[str, Path]

    @cached_property
    def comparison_key(self) -> Hashable:
        """The parts of the signature that are not the system's own, and the frames."""
        parts = {k: v for k, v in self.signature_parts.items() if k not in _SIGNATURE_OF_SYSTEM}
        return str(parts), hash(tuple(self.frame_ids.to_pylist()))

    @property
    def data_caveats(self) -> list[str]:
        """What must stand beside every number on these frames."""
        return data_caveats(self.signature_parts, self.scores.frames.get("all", 0))

    @property
    def variants(self) -> list[str]:
        """The schema variants that were scored."""
        return list(self.scores.variants)

    @cached_property
    def rules(self) -> Rules:
        """How the frames were scored, which the signature states."""
        return rules_of(self.signature_parts, str(self.path))

    @cached_property
    def frame_ids(self) -> pa.Array:
        """The ids of the frames that were scored, sorted [frames]."""
        return pa.array(sorted(self.scores.paired.frame_id), pa.string())

    @cached_property
    def frames(self) -> FrameIndex:
        """The service, turn and dialogue of each of those frames, and whether it is seen."""
        seen = set(self.scores.paired.seen)
        services = [frame_id.rsplit("/", 1)[-1] for frame_id in self.frame_ids.to_pylist()]
        return index_frames(
            self.frame_ids, np.array([name in seen for name in services], dtype=bool)
        )

    @cached_property
    def jga(self) -> dict[str, Floats]:
        """Joint goal accuracy by variant, in the order of ``frame_ids`` [frames].

        Raises:
            ScoreError: scores.json has a frame twice, or not as many scores as frames.
        """
        paired = self.scores.paired
        ids = pa.array(paired.frame_id, pa.string())
        order = np.argsort(positions(ids, self.frame_ids, str(self.path)))
        for variant, values in paired.joint_goal_accuracy.items():
            if len(values) != len(order):
                raise ScoreError(
                    f"{self.path}: {len(values)} scores of {variant}, expected {len(order)}"
                )
        return {
            variant: np.array(values, dtype=np.float64)[order]
            for variant, values in paired.joint_goal_accuracy.items()
        }

    @cached_property
    def user_turns(self) -> Ints:
        """The number of each frame's user turn in its dialogue, from 1 [frames].

        The users of SGD speak first and then every second turn.
        """
        turns = [int(frame_id.split("/")[-2]) for frame_id in self.frame_ids.to_pylist()]
        return np.array([turn // 2 + 1 for turn in turns])


def read_tracker_run(path: Path, file: Path) -> TrackerRun:
    """Read a run of a tracker.

    Args:
        path: What the user gave.
        file: Its scores.json, which may have ``predictions`` or ``VARIANT.jsonl`` beside it.

    Raises:
        ScoreError, SgdxError: A file is malformed.
    """
    scores = parse_json(read_file(file), TrackerScores, str(file), "a scores.json of sgdx_metric")
    signature_parts(scores.signature, str(path))
    predictions = find_predictions(file.parent, list(scores.variants))
    run = TrackerRun(
        path=path,
        signature=scores.signature,
        record=read_record(file, predictions),
        scores=scores,
        predictions=predictions,
    )
    _check(run)
    return run


def _check(run: TrackerRun) -> None:
    """Refuse scores that contradict themselves.

    Raises:
        ScoreError: The frames do not match, or there are none.
    """
    if not run.scores.paired.frame_id:
        raise ScoreError(f"{run.path}: found no frames in scores.json, expected at least one")
    for frame_id in run.scores.paired.frame_id:
        if frame_id.count("/") < 2 or not frame_id.split("/")[-2].isdigit():
            raise ScoreError(
                f"{run.path}: frame id is '{frame_id}', expected DIALOGUE/TURN/SERVICE"
            )
    if set(run.jga) != set(run.scores.variants):
        raise ScoreError(
            f"{run.path}: 'paired' has the variants {', '.join(run.jga)}, expected "
            f"{', '.join(run.scores.variants)} as in 'variants'"
        )
    _ = run.rules
