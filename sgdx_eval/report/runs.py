"""Runs that were scored, systems whose runs differ in their seed alone, and groups that compare."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json
from sgdx_eval.predictions import prediction_paths
from sgdx_eval.results import SYSTEM_PARTS, Results, read_results, stored
from sgdx_eval.tables import Cell, printable
from sgdx_eval.task import Keys, Task
from sgdx_metric.columns import Ints
from sgdx_metric.signature import split_name
from sgdx_metric.statistics import Figure
from sgdx_metric.units import ALL

from ..prediction_files import unread_answers
from .slots.breakage import Analyses

# By sub-model the lines of a log: the step, and the loss or the score on dev after it.
Logs = Mapping[str, Sequence[Mapping[str, float]]]
# Parts of a signature in which runs may differ that compare.
_FREE = {*SYSTEM_PARTS, "canonical"}
# Facts of a training, in which the runs of one system differ that are of several seeds.
_OF_TRAINING = {"seed", "weights", "keep_bias", "schemas", "overlaps", "parts"}
# What an augmentation changes in the record of a run.
_AUGMENTATION = {"augment", "train", "oracle"}
# A group of fewer items is marked as small.
_FEW = 1000
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Run:
    """The scores of one run, and what is known of the system."""

    # What the user gave: the run's folder or its file of scores.
    path: Path
    results: Results
    # The recipe that the model was trained with; empty where it is not at hand.
    settings: Mapping[str, Any]
    # The lines of the training's log, by sub-model ("" for a model that has none).
    logs: Logs
    # Whether the results are of some of the items alone, for which not all that is stored holds.
    is_choice: bool = False

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What the predictions say of the system; empty where they say nothing."""
        return next((header.system for header in self.results.headers.values()), {})

    @cached_property
    def stored(self) -> Mapping[str, Any]:
        """What scores.json has beside the scores of items; empty for a choice of items."""
        return {} if self.is_choice else stored(self.results.path)

    @property
    def split(self) -> str:
        """The split that was scored."""
        return split_name(self.results.parts.get("split", "test"))

    @cached_property
    def predictions(self) -> dict[str, Path]:
        """The prediction files by variant; {} unless all that were scored have one."""
        folder = self.results.path.parent
        if (folder / "predictions").is_dir():
            folder /= "predictions"
        try:
            paths = prediction_paths(folder, self.results.variants)
        except SgdxError:
            return {}
        return paths if set(paths) == set(self.results.variants) else {}

    @property
    def comparison_key(self) -> Hashable:
        """What is equal in runs whose scores compare: what was scored, and how."""
        parts = {k: v for k, v in self.results.parts.items() if k not in _FREE}
        return self.results.task.name, str(parts)

    @property
    def trainings(self) -> list[Mapping[str, Any]]:
        """What is recorded of the training of the model, and of its sub-models if it has any."""
        parts = self.facts.get("parts")
        sub_models = parts.values() if isinstance(parts, dict) else ()
        records = (self.facts, *sub_models, self.settings)
        return [record for record in records if isinstance(record, Mapping)]

    @property
    def seed(self) -> Any:
        """The seed of the training; None where it is not recorded."""
        return next((t["seed"] for t in self.trainings if "seed" in t), None)

    @property
    def oracle(self) -> bool:
        """Whether the system was trained on the schemas that it is judged on."""
        trained = any(training.get("oracle") is True for training in self.trainings)
        return trained or self.results.parts.get("oracle") == "yes"

    @property
    def augmentation(self) -> str:
        """The reworded schemas that the system was trained on too; empty for none."""
        augments = [training.get("augment") for training in self.trainings]
        augment = next((augment for augment in augments if isinstance(augment, dict)), None)
        if augment is None:
            return "oracle" if self.oracle else ""
        ratio = augment.get("ratio", 1)
        return f"{augment.get('schemas')}{'' if ratio == 1 else f' x {ratio}'}"

    def system_key(self, without_augmentation: bool = False) -> str:
        """What runs of one system share, as JSON: all that is recorded of it but the seed."""
        if not self.facts:  # Nothing is known, so it is a system of its own.
            return str(self.path)
        omitted = _OF_TRAINING | (_AUGMENTATION if without_augmentation else set())
        # A trained model is named by its run.
        facts = _without(self.facts, omitted | ({"model"} if "weights" in self.facts else set()))
        augmentation = "" if without_augmentation else self.augmentation
        key = facts, _without(self.settings, omitted), augmentation
        return msgspec.json.encode(key, order="deterministic").decode()

    def system_name(self) -> str:
        """A short name of the system, such as `onepass, all of train, backtrans x 0.2`.

        It says what was trained on what. Where no recipe is at hand it says the model instead, as
        in `llm (some-model)`, and where nothing is known, the name of the folder.
        """
        tracker, model = self.facts.get("tracker"), str(self.facts.get("model") or "")
        if not tracker:  # Of a program that was asked, the path is left out.
            program, *arguments = model.split(" ")
            program = Path(program).name if Path(program).is_absolute() else program
            return printable(" ".join([program, *arguments]) or self.folder, _LONGEST_NAME)
        data, known = self.settings.get("train_dialogues"), "train_dialogues" in self.settings
        trained_on = f"{data:,} train dialogues" if isinstance(data, int) else "all of train"
        details = [str(self.facts[key]) for key in ("format", "input") if self.facts.get(key)]
        if not known and self.base_model:
            details.append(self.base_model)
        name = f"{tracker} ({', '.join(details)})" if details else str(tracker)
        parts = name, trained_on if known else "", self.augmentation
        return printable(", ".join(filter(None, parts)), _LONGEST_NAME)

    @property
    def folder(self) -> str:
        """The name of the run's folder, or that of a file of scores with a name of its own."""
        path = self.path.absolute()  # "." has no name
        if path.is_dir():
            return path.name
        return path.parent.name if path.name == "scores.json" else path.stem

    @property
    def base_model(self) -> str:
        """The model that training began with, or else the model; empty where that says nothing."""
        model = str(self.settings.get("model") or self.facts.get("model") or "")
        # The last part of a path that says more than that it is a model.
        name = next((part for part in model.split("/")[::-1] if part not in ("", "model")), model)
        return "" if name in (self.facts.get("tracker"), "tiny") else name

    def system_caveats(self) -> list[str]:
        """What must stand beside every number of the system."""
        caveats = ["oracle: trained on v1 to v5"] if self.oracle else []
        if any(training.get("model") == "tiny" for training in self.trainings):
            caveats.append("random weights")
        of_headers = {name: n for name, (n, _) in unread_answers(self.results.headers).items()}
        unread = self.stored.get("unread") or of_headers
        if counts := ", ".join(f"{n} under {name}" for name, n in unread.items() if n):
            caveats.append(f"answers that could not be read: {counts}")
        return caveats


def _without(value: Any, keys: set[str]) -> Any:
    """A nested value without the entries under some keys."""
    if isinstance(value, Mapping):
        return {key: _without(inner, keys) for key, inner in value.items() if key not in keys}
    return value


def data_caveats(parts: Mapping[str, str], count: int, unit: str) -> list[str]:
    """What must stand beside every number on some data, by the parts of a signature."""
    caveats = []
    kind, _, size = parts.get("release", "unknown").partition(":")
    if kind == "partial":
        numbers = [f"{int(n):,}" if n.isdecimal() else n for n in size.split("/")]
        caveats.append(f"partial data: {' of '.join(numbers)} dialogues")
    if kind == "unverified":
        caveats.append("data that is not known to be the release's")
    if kind == "sample":
        caveats.append("the small sample corpus, not SGD")
    if kind == "many":
        caveats.append("the corpus of many services, not SGD")
    if "dialogues" in parts:
        caveats.append(f"a subset of {parts['dialogues'].partition('@')[0]} dialogues")
    if "@" in parts.get("turns", ""):
        caveats.append("a choice of single turns")
    if parts.get("reworded-by", "unknown") != "unknown":
        caveats.append(f"reworded by {parts['reworded-by']}")
    if count < _FEW:
        caveats.append(f"only {count:,} {unit}")
    if parts.get("nli", "").startswith("lexical"):
        caveats.append("SGSAcc by a comparison of words, which is no model of entailment")
    return caveats


# ---- reading


def find_scores(path: Path) -> Path:
    """The file of scores in a run's folder, or the path itself where it is a file."""
    file = path / "scores.json" if path.is_dir() else path
    if not file.is_file():
        raise SgdxError(f"{path}: found no scores.json, expected a finished run")
    return file


class _Training(msgspec.Struct):
    """What run.json has of a training; of an evaluation it has nothing."""

    record: dict[str, Any] | None = None


def read_run(path: Path) -> Run:
    """Read a run's scores, and the recipe and the log beside them or in the model's folder."""
    results = read_results(find_scores(path))
    beside = results.path.parent
    model = next((header.system.get("model") for header in results.headers.values()), None)
    folders = beside, Path(str(model or beside))
    records = (
        decode_json(read_file(file), _Training, str(file), "a run's record").record
        for folder in folders
        if (file := folder / "run.json").is_file()
    )
    settings = next(filter(None, records), {}).get("settings", {})
    logs = next(filter(None, map(_read_logs, folders)), {})
    return Run(path, results, settings, logs)


def _read_logs(folder: Path) -> Logs:
    """The logs in a folder and in those of the sub-models."""
    files = {"": folder / "log.jsonl"}
    files |= {file.parent.name: file for file in sorted(folder.glob("*/log.jsonl"))}
    return {
        name: [
            decode_json(line, dict[str, float], f"{file}:{number}", "a line of a training's log")
            for number, line in enumerate(read_file(file).splitlines(), 1)
        ]
        for name, file in files.items()
        if file.is_file()
    }


# ---- systems


@dataclass(frozen=True)
class System:
    """Runs that differ in their seed alone, under a name that no other system of the report has."""

    name: str
    runs: Sequence[Run]

    @property
    def first(self) -> Run:
        """The run that examples are taken from."""
        return self.runs[0]

    @cached_property
    def caveats(self) -> list[str]:
        """What must stand beside every number of the system."""
        seeds = [f"{len(self.runs)} seeds"] if len(self.runs) > 1 else []
        return [*dict.fromkeys(c for run in self.runs for c in run.system_caveats()), *seeds]

    @property
    def cell(self) -> Cell:
        """The name, and what must stand beside its figures."""
        return Cell(self.name, "; ".join(self.caveats))

    @property
    def label(self) -> str:
        """The name with its caveats."""
        return f"{self.name} [{'; '.join(self.caveats)}]" if self.caveats else self.name


@dataclass(frozen=True)
class Group:
    """Systems that were scored alike on the same items, so that their scores compare."""

    systems: Sequence[System]
    # Its number among those of its task, from 1; None where it is the only one.
    number: int | None
    # What trackers do slot by slot.
    analyses: Analyses = field(default_factory=dict)

    @property
    def first(self) -> Run:
        """Any run; all have the same items and rules."""
        return self.systems[0].first

    @property
    def results(self) -> Results:
        """The results of any run."""
        return self.first.results

    @property
    def task(self) -> Task:
        """What the systems do."""
        return self.results.task

    @property
    def unit(self) -> str:
        """What the items are."""
        return f"{self.task.unit}s"

    @cached_property
    def keys(self) -> Keys:
        """The figures that tell what rewording costs."""
        return self.task.keys(self.results.scores())

    @cached_property
    def headlines(self) -> dict[str, Figure]:
        """The means that are shown under every variant."""
        means = self.task.headlines(self.results.scores())
        return {metric: under_each[0] for metric, under_each in means.items()}

    def members(self, metric: str) -> Ints | None:
        """The positions of the items that a metric applies to; None for all."""
        return self.task.members(self.results.raw, metric)

    @property
    def main(self) -> Ints | None:
        """The positions of the items that `keys` are of; None for all."""
        return self.members(self.keys.headline)

    def count(self, members: Ints) -> int:
        """How many items there are at some positions."""
        return self.task.count(self.results.raw.only(members))

    @cached_property
    def sets(self) -> dict[str, Ints]:
        """The positions of all items, and of those in and outside each set, if there are any."""
        return {
            name.replace("_", " "): members
            for name, members in self.results.raw.items.groups().items()
            if name not in self.services and (len(members) or name == ALL)
        }

    @cached_property
    def services(self) -> dict[str, Ints]:
        """The positions of the items of each service, by its name."""
        items = self.results.raw.items
        names = items.services()
        return {name: members for name, members in items.groups().items() if name in names}

    @cached_property
    def domains(self) -> dict[str, Ints]:
        """Those of each domain, which is a service's name up to its first underscore."""
        domain = np.array([name.split("_")[0] for name in self.results.raw.items.service])
        return {name: np.flatnonzero(domain == name) for name in sorted({*domain.tolist()} - {""})}

    @cached_property
    def caveats(self) -> list[str]:
        """What must stand beside every number of the group."""
        return data_caveats(self.results.parts, self.task.count(self.results.raw), self.unit)

    @cached_property
    def signatures(self) -> dict[str, str]:
        """The signatures of the runs, which differ in what may differ where scores compare.

        Each comes with the names of its systems; with an empty text where there is one for all.
        """
        names: dict[str, list[str]] = {}
        for system in self.systems:
            for signature in dict.fromkeys(run.results.signature for run in system.runs):
                names.setdefault(signature, []).append(system.name)
        if len(names) == 1:
            return dict.fromkeys(names, "")
        return {signature: "; ".join(systems) for signature, systems in names.items()}

    @property
    def variants(self) -> list[str]:
        """The variants that were scored, the original first."""
        return sorted(self.results.variants, key=lambda name: name != "original")

    def families(self) -> list[list[System]]:
        """Systems that differ in their augmentation alone; the one without any is the first."""
        by_key: dict[str, list[System]] = {}
        for system in self.systems:
            key = system.first.system_key(without_augmentation=True)
            by_key.setdefault(key, []).append(system)
        families = []
        for systems in by_key.values():
            by_use = sorted(systems, key=lambda system: bool(system.first.augmentation))
            if [bool(system.first.augmentation) for system in by_use[:2]] == [False, True]:
                families.append(by_use)
        return families


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """Put runs that compare into groups, those of most runs of a task first.

    Runs of one system with different seeds come together.
    """
    by_task: dict[str, dict[Hashable, list[Run]]] = {}
    for run in runs:
        by_key = by_task.setdefault(run.results.task.name, {})
        by_key.setdefault(run.comparison_key, []).append(run)
    return [
        Group(_systems(of_group), number if len(by_key) > 1 else None)
        for by_key in by_task.values()
        for number, of_group in enumerate(sorted(by_key.values(), key=len, reverse=True), 1)
    ]


def _systems(runs: Sequence[Run]) -> list[System]:
    """The systems of some runs, under short names of their own."""
    by_key: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        repeated = 0  # A second run of the same seed is no other seed: it stays by itself.
        while any(run.seed == other.seed for other in by_key.get((run.system_key(), repeated), [])):
            repeated += 1
        by_key.setdefault((run.system_key(), repeated), []).append(run)
    firsts = [seeds[0] for seeds in by_key.values()]
    names = [run.system_name() for run in firsts]
    for others in ([run.folder for run in firsts], [str(run.path) for run in firsts]):
        if len(set(others)) > 1:  # Folders of one name tell nothing apart.
            names = [
                printable(other) if names.count(name) > 1 else name
                for name, other in zip(names, others)
            ]
    return [System(name, seeds) for name, seeds in zip(names, by_key.values())]
