"""What is known of a run, and which runs stand in one row and in one table."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from sgdx_metric.variants import ORIGINAL

# What differs between two runs of one system, or says where a run was made and not what it is.
_NOT_THE_SYSTEM = {
    "seed", "model", "weights", "counts", "versions", "source", "configs", "split", "variant",
    "dialogues", "dtype", "schemas", "overlaps",
}  # fmt: skip
# What an augmentation changes in the record of a run.
_AUGMENTATION = {"augment", "train", "oracle"}
_FEW = 1000
_LONGEST_NAME = 80
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str, longest: int = 400) -> str:
    """A text without control characters and direction marks, cut where it is very long."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= longest else f"{text[:longest]} …"


@dataclass(frozen=True)
class Provenance(ABC):
    """Where a run comes from: what was scored, how, and what is known of the system.

    Attributes:
        path: What the user gave: the run folder or the file of scores.
        signature: The line that says how the run was scored.
        facts: What the predictions say about the system; empty where they say nothing.
        settings: The recipe that the model was trained with; empty where it is not at hand.
        logs: The lines of the training's log, by sub-model ("" for a model that has none); empty
            where there is no log.
    """

    path: Path
    signature: str
    facts: Mapping[str, Any]
    settings: Mapping[str, Any]
    logs: Mapping[str, Sequence[Mapping[str, float]]]

    @property
    @abstractmethod
    def counted(self) -> tuple[int, str]:
        """How many were scored, and of what: frames or turns."""

    @property
    @abstractmethod
    def compared(self) -> Hashable:
        """What is equal in runs whose figures compare: what was scored, and how."""

    @property
    def data_marks(self) -> list[str]:
        """What must stand beside every figure on this data, whatever the system."""
        return data_marks(self.parts, *self.counted)

    @cached_property
    def parts(self) -> dict[str, str]:
        """The parts of the signature, by key."""
        return dict(part.split(":", 1) for part in self.signature.split("|")[1:])

    @property
    def _trained(self) -> list[dict[str, Any]]:
        """What is recorded of the training of the model, and of its sub-models if it has any."""
        parts = self.facts.get("parts")
        sub_models = parts.values() if isinstance(parts, dict) else ()
        return [one for one in (self.facts, *sub_models, self.settings) if isinstance(one, dict)]

    @property
    def seed(self) -> Any:
        """The seed of the training; None where it is not recorded."""
        return next((one["seed"] for one in self._trained if "seed" in one), None)

    @property
    def augmentation(self) -> str:
        """The reworded schemas that the tracker was trained on too; empty for none."""
        found = (one.get("augment") for one in self._trained)
        given = next((one for one in found if isinstance(one, dict)), None)
        if given is None:
            return "oracle" if self.oracle else ""
        ratio = given.get("ratio", 1)
        return f"{given.get('schemas')}{'' if ratio == 1 else f' x {ratio}'}"

    def key(self, without_augmentation: bool = False) -> str:
        """What runs of one system share, as JSON: all that is recorded of it but the seed.

        Args:
            without_augmentation: Whether to leave the augmentation out too, so that runs which
                differ in it alone have the same key.
        """
        left_out = _NOT_THE_SYSTEM | (_AUGMENTATION if without_augmentation else set())
        known = {"facts": self.facts, "settings": self.settings}
        if not self.facts:  # Nothing is known, so it is a system of its own.
            return str(self.path)
        kept = {name: _without(value, left_out) for name, value in known.items()}
        kept["model"] = self.settings.get("model") or ""
        if not without_augmentation:
            kept["schemas"] = self.augmentation
        return msgspec.json.encode(kept, order="deterministic").decode()

    def name(self) -> str:
        """A short name of the system, such as ``t5dst (d3st, t5-v1_1-base)``."""
        system = self.facts.get("tracker")
        if not system:
            return printable(name_of_path(self.path), _LONGEST_NAME)
        details = [self.facts.get("format"), self.settings.get("model") or self.facts.get("model")]
        shown = [_last_folder(str(one)) for one in details if one]
        shown = [one for one in shown if one not in (system, "tiny")]
        given = f" ({', '.join(shown)})" if shown else ""
        augmented = f" + {self.augmentation}" if self.augmentation else ""
        return printable(f"{system}{given}{augmented}", _LONGEST_NAME)

    @property
    def oracle(self) -> bool:
        """Whether the tracker was trained on the schemas that it is judged on."""
        said = any(one.get("oracle") is True for one in self._trained)
        return said or self.parts.get("oracle") == "yes"

    def marks(self) -> list[str]:
        """What must stand beside every figure of the run: oracle, random weights."""
        marks = []
        if self.oracle:
            marks.append("oracle: trained on v1 to v5")
        if any(one.get("model") == "tiny" for one in self._trained):
            marks.append("random weights")
        return marks


def _last_folder(name: str) -> str:
    """The last part of a model's name or path that says more than that it is a model."""
    parts = [part for part in name.split("/") if part not in ("", "model")]
    return parts[-1] if parts else name


def name_of_path(path: Path) -> str:
    """The folder of a scores.json, and of a file with a name of its own that name."""
    path = path.absolute()  # "." has no name
    if path.is_dir():
        return path.name
    return path.parent.name if path.name == "scores.json" else path.stem


def _without(value: Any, names: set[str]) -> Any:
    """A nested value without the entries of some names."""
    if isinstance(value, dict):
        return {key: _without(inner, names) for key, inner in value.items() if key not in names}
    return value


def data_marks(parts: Mapping[str, str], number: int, what: str = "frames") -> list[str]:
    """What must stand beside every figure on this data: a partial copy, few frames.

    Args:
        parts: The parts of a signature.
        number: How many frames or turns were scored.
        what: Which of the two.
    """
    marks = []
    release = parts.get("release", "unknown")
    if release.startswith("partial:"):
        found, _, whole = release.removeprefix("partial:").partition("/")
        marks.append(f"partial data: {int(found):,} of {int(whole):,} dialogues")
    if release.startswith("unverified:"):
        marks.append("data that is not known to be the release's")
    if release == "sample":
        marks.append("the small sample corpus, not SGD")
    if "dialogues" in parts:
        marks.append(f"a subset of {parts['dialogues'].partition('@')[0]} dialogues")
    if "@" in parts.get("turns", ""):
        marks.append("a choice of single turns")
    if number < _FEW:
        marks.append(f"only {number:,} {what}")
    return marks


R = TypeVar("R", bound=Provenance)


@dataclass(frozen=True)
class System(Generic[R]):
    """Runs that differ in their seed alone.

    Attributes:
        name: A name that no other system of the report has.
        runs: The runs, at least one.
    """

    name: str
    runs: Sequence[R]

    @property
    def first(self) -> R:
        """The run that examples are taken from."""
        return self.runs[0]

    @property
    def marks(self) -> list[str]:
        """What must stand beside every figure of the system."""
        seeds = f"{len(self.runs)} seeds"
        return [*self.first.marks(), *([seeds] if len(self.runs) > 1 else [])]

    @property
    def label(self) -> str:
        """The name with its marks."""
        return f"{self.name} [{'; '.join(self.marks)}]" if self.marks else self.name


@dataclass(frozen=True)
class Group(Generic[R]):
    """Systems that were scored alike on the same frames or turns, so that their figures compare.

    Attributes:
        systems: The systems.
        number: The group's number in the report, from 1.
    """

    systems: Sequence[System[R]]
    number: int

    @property
    def first(self) -> R:
        """Any run of the group; all have the same frames or turns, and rules."""
        return self.systems[0].first

    @property
    def marks(self) -> list[str]:
        """What must stand beside every figure of the group."""
        return self.first.data_marks

    @property
    def signatures(self) -> dict[str, str]:
        """The signatures of the group's runs, which differ in the systems' own parts alone.

        Each comes with the names of its systems; with an empty text where there is one for all.
        """
        names: dict[str, list[str]] = {}
        for system in self.systems:
            for signature in dict.fromkeys(run.signature for run in system.runs):
                names.setdefault(signature, []).append(system.name)
        if len(names) == 1:
            return dict.fromkeys(names, "")
        return {signature: ", ".join(of) for signature, of in names.items()}


def group_runs(runs: Sequence[R], first: int = 1) -> list[Group[R]]:
    """Put runs that compare into groups, and runs of one system with different seeds together.

    Args:
        runs: The runs, all of trackers or all of generators.
        first: The number of the first group.
    """
    alike: dict[Hashable, list[R]] = {}
    for run in runs:
        alike.setdefault(run.compared, []).append(run)
    return [Group(_systems(these), i) for i, these in enumerate(alike.values(), first)]


def _systems(runs: Sequence[R]) -> list[System[R]]:
    """The systems of some runs, under names of their own."""
    found: dict[tuple[str, int], list[R]] = {}
    for run in runs:
        repeated = 0  # A second run of the same seed is no other seed: it stays by itself.
        while any(run.seed == one.seed for one in found.get((run.key(), repeated), [])):
            repeated += 1
        found.setdefault((run.key(), repeated), []).append(run)
    names = [these[0].name() for these in found.values()]
    systems = []
    for these, name in zip(found.values(), names):
        twice = names.count(name) > 1
        systems.append(System(f"{name}, {these[0].path}" if twice else name, these))
    return systems


def original_first(variants: Sequence[str]) -> list[str]:
    """The variants, the original before the others."""
    return sorted(variants, key=lambda name: name != ORIGINAL)
