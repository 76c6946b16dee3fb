"""Which runs stand in one row, as seeds of one system, and which in one table, as comparable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sgdx_eval.tables import printable
from sgdx_metric.variants import ORIGINAL

from .runs import ScoredRun, TrackerRun, name_of_path

AnyRun = TypeVar("AnyRun", bound=ScoredRun)


@dataclass(frozen=True)
class ScoredSystem(Generic[AnyRun]):
    """Runs that differ in their seed alone.

    Attributes:
        name: A name that no other system of the report has.
        runs: The runs, at least one.
    """

    name: str
    runs: Sequence[AnyRun]

    @property
    def first(self) -> AnyRun:
        """The run that examples are taken from."""
        return self.runs[0]

    @property
    def caveats(self) -> list[str]:
        """What must stand beside every number of the system."""
        seeds = [f"{len(self.runs)} seeds"] if len(self.runs) > 1 else []
        return [*dict.fromkeys(c for run in self.runs for c in run.system_caveats()), *seeds]

    @property
    def label(self) -> str:
        """The name with its caveats."""
        return f"{self.name} [{'; '.join(self.caveats)}]" if self.caveats else self.name


@dataclass(frozen=True)
class SystemGroup(Generic[AnyRun]):
    """Systems that were scored alike on the same frames or turns, so that their scores compare.

    Attributes:
        systems: The systems.
        number: The group's number among those of trackers, or of generators, from 1; None where
            it is the only one.
    """

    systems: Sequence[ScoredSystem[AnyRun]]
    number: int | None

    @property
    def heading_suffix(self) -> str:
        """The end of the group's heading, which tells it from other groups."""
        return "" if self.number is None else f", group {self.number}"

    @property
    def file_suffix(self) -> str:
        """The end of the names of the group's pictures, which tells them from those of others."""
        return "" if self.number is None else f"_{self.number}"

    @property
    def first(self) -> AnyRun:
        """Any run of the group; all have the same frames or turns, and rules."""
        return self.systems[0].first

    @property
    def caveats(self) -> list[str]:
        """What must stand beside every number of the group."""
        return self.first.data_caveats

    @property
    def signatures(self) -> dict[str, str]:
        """The signatures of the group's runs, which differ in what may differ where scores compare.

        Each comes with the names of its systems; with an empty text where there is one for all.
        """
        names: dict[str, list[str]] = {}
        for system in self.systems:
            for signature in dict.fromkeys(run.signature for run in system.runs):
                names.setdefault(signature, []).append(system.name)
        if len(names) == 1:
            return dict.fromkeys(names, "")
        return {signature: "; ".join(systems) for signature, systems in names.items()}


TrackerSystem = ScoredSystem[TrackerRun]
TrackerGroup = SystemGroup[TrackerRun]


def group_runs(runs: Sequence[AnyRun]) -> list[SystemGroup[AnyRun]]:
    """Put runs that compare into groups, and runs of one system with different seeds together.

    Args:
        runs: The runs, all of trackers or all of generators.

    Returns:
        The groups, those of most runs first.
    """
    groups: dict[Hashable, list[AnyRun]] = {}
    for run in runs:
        groups.setdefault(run.comparison_key, []).append(run)
    if len(groups) == 1:
        return [SystemGroup(_systems(runs), None)]
    largest_first = sorted(groups.values(), key=len, reverse=True)
    return [SystemGroup(_systems(group), i) for i, group in enumerate(largest_first, 1)]


def _systems(runs: Sequence[AnyRun]) -> list[ScoredSystem[AnyRun]]:
    """The systems of some runs, under names of their own."""
    by_key: dict[tuple[str, int], list[AnyRun]] = {}
    for run in runs:
        repeated = 0  # A second run of the same seed is no other seed: it stays by itself.
        while any(run.seed == other.seed for other in by_key.get((run.system_key(), repeated), [])):
            repeated += 1
        by_key.setdefault((run.system_key(), repeated), []).append(run)
    names = _distinct_names([seeds[0] for seeds in by_key.values()])
    return [ScoredSystem(name, seeds) for name, seeds in zip(names, by_key.values(), strict=True)]


# What is added to the names of systems that would be called alike, and then stands in their place.
_DETAILS: Sequence[Callable[[ScoredRun], str]] = (
    lambda run: run.base_model,
    lambda run: "without system acts" if run.signature_parts.get("system-acts") == "no" else "",
)
_PATHS: Sequence[Callable[[ScoredRun], str]] = (
    lambda run: name_of_path(run.path),
    lambda run: str(run.path),
)


def _distinct_names(runs: Sequence[ScoredRun]) -> list[str]:
    """Short names of runs of different systems, each once."""
    names = [run.system_name() for run in runs]
    for distinction in (*_DETAILS, *_PATHS):
        details: dict[str, set[str]] = {}
        for name, run in zip(names, runs, strict=True):
            details.setdefault(name, set()).add(distinction(run))
        names = [
            _more_distinct(name, distinction(run), distinction in _PATHS)
            if len(details[name]) > 1
            else name
            for name, run in zip(names, runs, strict=True)
        ]
    return names


def _more_distinct(name: str, detail: str, is_path: bool) -> str:
    if is_path:
        return printable(detail)
    return f"{name}, {detail}" if detail else name


@dataclass(frozen=True)
class AugmentationFamily:
    """A tracker without augmentation, and those that differ from it in the augmentation alone."""

    plain: TrackerSystem
    augmented: Sequence[TrackerSystem]

    @property
    def systems(self) -> list[TrackerSystem]:
        """All of them, the one without augmentation first."""
        return [self.plain, *self.augmented]


def augmentation_families(group: TrackerGroup) -> list[AugmentationFamily]:
    """The trackers of a group of which others differ in the augmentation alone, with these."""
    by_key: dict[str, list[TrackerSystem]] = {}
    for system in group.systems:
        key = system.first.system_key(without_augmentation=True)
        by_key.setdefault(key, []).append(system)
    families = []
    for systems in by_key.values():
        plain = [system for system in systems if not system.first.augmentation]
        if len(plain) == 1 and len(systems) > 1:
            augmented = [system for system in systems if system is not plain[0]]
            families.append(AugmentationFamily(plain[0], augmented))
    return families


# Of more systems than these, a sentence has the number.
_MOST_NAMES = 3


def names_or_number(names: Sequence[str]) -> str:
    """Some trackers in a sentence: their names or, of many, how many they are."""
    return "; ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} trackers"


def number_of_systems(groups: Sequence[SystemGroup[Any]]) -> int:
    """How many systems some groups have together."""
    return sum(len(group.systems) for group in groups)


def original_first(variants: Sequence[str]) -> list[str]:
    """The variants, the original before the others."""
    return sorted(variants, key=lambda name: name != ORIGINAL)
