"""Runs that were scored: what is known of any run, and the scores of a tracker's run."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sgdx_eval.results import SYSTEM_PARTS
from sgdx_eval.tables import printable
from sgdx_metric.columns import Ints

from .run_files import RunRecord, find_predictions, read_record
from .stored import TrackerResults, read_tracker_results

# Facts of a training, in which the runs of one system differ that are of several seeds.
_OF_TRAINING = {"seed", "weights", "keep_bias", "schemas", "overlaps", "parts"}
# What an augmentation changes in the record of a run.
_AUGMENTATION = {"augment", "train", "oracle"}
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
        system = self.record.system
        if not system:  # Nothing is known, so it is a system of its own.
            return str(self.path)
        omitted = _OF_TRAINING | (_AUGMENTATION if without_augmentation else set())
        # A trained model is named by its run.
        facts = _without(system, omitted | ({"model"} if "weights" in system else set()))
        key = [facts, _without(self.record.settings, omitted)]
        if not without_augmentation:
            key.append(self.augmentation)
        return msgspec.json.encode(key, order="deterministic").decode()

    def system_name(self) -> str:
        """A short name of the system, such as ``onepass, all of train, backtrans x 0.2``.

        It says what was trained on what. Where no recipe is at hand it says the model instead, as
        in ``llm (some-model)``; where nothing at all is known, the name of the folder.
        """
        system, prompt_format = (self.record.system.get(key) for key in ("tracker", "format"))
        if not system:
            return printable(name_of_path(self.path), _LONGEST_NAME)
        data = self._training_data()
        in_brackets = [str(prompt_format)] if prompt_format else []
        if not data and self.base_model:
            in_brackets.append(self.base_model)
        name = f"{system} ({', '.join(in_brackets)})" if in_brackets else str(system)
        return printable(", ".join(filter(None, (name, data, self.augmentation))), _LONGEST_NAME)

    @property
    def base_model(self) -> str:
        """The model that training began with, or else the model; empty where that says nothing."""
        model = self.record.settings.get("model") or self.record.system.get("model") or ""
        name = _last_folder(str(model))
        return "" if name in (self.record.system.get("tracker"), "tiny") else name

    def _training_data(self) -> str:
        """How much of the train split was trained on; empty where that is not recorded."""
        if "train_dialogues" not in self.record.settings:
            return ""
        number = self.record.settings["train_dialogues"]
        if number is None:
            return "all of train"
        return f"{number:,} train dialogues" if isinstance(number, int) else ""

    def system_caveats(self) -> list[str]:
        """What must stand beside every number of the system: oracle, random weights."""
        return system_caveats(self.oracle, self.random_weights)


def system_caveats(oracle: bool, random_weights: bool) -> list[str]:
    """What must stand beside every number of a system that was trained so."""
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
        numbers = [f"{int(n):,}" if re.fullmatch("[0-9]{1,12}", n) else n for n in (present, whole)]
        caveats.append(f"partial data: {numbers[0]} of {numbers[1]} dialogues")
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


@dataclass(frozen=True, kw_only=True)
class TrackerRun(ScoredRun):
    """One run of a tracker: its scores and what is known of it.

    Attributes:
        results: Its scores.json.
        predictions: The prediction files by variant; empty where there are none.
    """

    results: TrackerResults
    predictions: Mapping[str, Path]

    @cached_property
    def comparison_key(self) -> Hashable:
        """The parts of the signature that are not the system's own, and the frames.

        Whether there are canonical figures too changes none of the others.
        """
        omitted = {*SYSTEM_PARTS, "canonical"}
        parts = {k: v for k, v in self.signature_parts.items() if k not in omitted}
        return str(parts), hash(tuple(self.results.frame_ids.to_pylist()))

    @property
    def data_caveats(self) -> list[str]:
        """What must stand beside every number on these frames."""
        return data_caveats(self.signature_parts, self.results.stored.frames.get("all", 0))

    @property
    def variants(self) -> list[str]:
        """The schema variants that were scored."""
        return list(self.results.variants)

    @cached_property
    def user_turns(self) -> Ints:
        """The number of each frame's user turn in its dialogue, from 1 [frames].

        The users of SGD speak first and then every second turn.
        """
        turns = [int(frame_id.split("/")[-2]) for frame_id in self.results.frame_ids.to_pylist()]
        return np.array([turn // 2 + 1 for turn in turns])


def read_tracker_run(path: Path, file: Path) -> TrackerRun:
    """Read a run of a tracker.

    Args:
        path: What the user gave.
        file: Its scores.json, which may have ``predictions`` or ``VARIANT.jsonl`` beside it.

    Raises:
        ScoreError, SgdxError: A file is malformed.
    """
    results = read_tracker_results(file)
    predictions = find_predictions(file.parent, results.variants)
    return TrackerRun(
        path=path,
        signature=results.signature,
        record=read_record(file, results.headers),
        results=results,
        predictions=predictions,
    )
