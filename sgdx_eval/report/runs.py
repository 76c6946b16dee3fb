"""Runs that were scored, systems whose runs differ in their seed alone, and groups that compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.errors import ScoreError
from sgdx_metric.result import ALL, OF_TOOLS, SETS, Metric, Result
from sgdx_metric.signature import split_name

from ..compare import averaged
from ..predictions import prediction_paths, unread_answers
from ..result import (
    SYSTEM_PARTS,
    Scored,
    only_dialogues,
    only_services,
    read_result,
    scores_file,
)
from ..show import groups_of, main_metric
from ..tables import NO_VALUE, printable
from ..tasks import TASKS

# Parts of a signature in which runs may differ that compare.
_FREE = {*SYSTEM_PARTS, "canonical"}
# Facts of a training in which the seeds of one system differ, and those that augmentation changes.
_OF_TRAINING = {"seed", "weights", "keep_bias", "schemas", "overlaps", "parts"}
_OF_AUGMENTATION = {"augment", "train", "oracle"}
# A group of fewer items is marked as small.
_FEW = 1000
_LONGEST_NAME = 80


class Run:
    """The scores of one run, and what is known of the system."""

    def __init__(self, path: Path, result: Scored, settings: Mapping[str, Any]) -> None:
        """Find out what is known of a folder's or a file's scores, of all its items or of some.

        The settings are the recipe of the training; empty where it is not at hand.
        """
        self.path, self.result, self.settings = path, result, settings
        self.split = split_name(result.parts.get("split", "test"))
        # What the predictions say of the system; empty where they say nothing.
        self.facts = next((header.system for header in result.headers.values()), {})
        # What is recorded of the training of the model, and of its sub-models if it has any.
        parts = self.facts.get("parts")
        records = self.facts, *(parts.values() if isinstance(parts, dict) else ()), settings
        self.trainings = [record for record in records if isinstance(record, Mapping)]
        self.seed = next((t["seed"] for t in self.trainings if "seed" in t), None)
        # Whether the system was trained on the schemas that it is judged on.
        stated = result.part("oracle"), *(training.get("oracle") for training in self.trainings)
        self.oracle = "yes" in stated or True in stated
        of_words = result.task not in OF_TOOLS
        self.oracle_unknown = of_words and not {"yes", "no", True, False} & {*stated}
        # The reworded schemas that the system was trained on too; empty for none.
        self.augmentation = "oracle" if self.oracle else ""
        if augments := [t["augment"] for t in self.trainings if isinstance(t.get("augment"), dict)]:
            ratio = augments[0].get("ratio", 1)
            self.augmentation = f"{augments[0].get('schemas')}{'' if ratio == 1 else f' x {ratio}'}"
        # Whether the system read the system's acts: yes, no, mixed, or a dash if unknown.
        acts = result.parts.get("system-acts", "unknown")
        self.acts = NO_VALUE if acts == "unknown" else acts
        # The model that training began with, or else the model, by the last part of a path that
        # says more than that it is a model; empty where that says nothing.
        model = str(settings.get("model") or self.facts.get("model") or "")
        name = next((part for part in model.split("/")[::-1] if part not in ("", "model")), model)
        self.base_model = "" if name in (self.facts.get("tracker"), "tiny") else name
        # The name of the run's folder, or that of a file of scores with a name of its own.
        absolute = path.absolute()  # "." has no name
        is_own = not absolute.is_dir() and absolute.name != "scores.json"
        self.folder = absolute.stem if is_own else scores_file(absolute).parent.name

    @cached_property
    def predictions(self) -> dict[str, Path]:
        """The prediction files by variant; {} unless all that were scored have one."""
        folder = self.result.path.parent
        if (folder / "predictions").is_dir():
            folder /= "predictions"
        try:
            paths = prediction_paths(folder, self.result.result.variants)
        except SgdxError:
            return {}
        return paths if set(paths) == set(self.result.result.variants) else {}

    @property
    def trained_on(self) -> str:
        """The schemas, other corpora and dialogues of the training; a dash if unknown."""
        if not (self.settings or self.oracle or "train" in self.facts):
            return NO_VALUE
        # A second corpus stands in the facts, or else in the recipe; earlier ones beside it.
        also = [t["also"] for t in self.trainings if isinstance(t.get("also"), dict)][:1]
        before = self.facts.get("also_before")
        corpora = [*also, *(before if isinstance(before, list) else ())]
        # A folder is named by its last part, as its path is nobody's business.
        sources = [Path(str(corpus.get("source"))).name for corpus in corpora]
        words = " + ".join(filter(None, ("original", self.augmentation, *dict.fromkeys(sources))))
        dialogues = self.settings.get("train_dialogues")
        return words if dialogues is None else f"{words}, {dialogues:,} dialogues"

    def system_key(self, without_augmentation: bool = False) -> str:
        """What runs of one system share, as JSON: all that is recorded of it but the seed."""
        if not self.facts:  # Nothing is known, so it is a system of its own.
            return str(self.path)
        omitted = _OF_TRAINING | (_OF_AUGMENTATION if without_augmentation else set())

        def kept(record: Mapping[str, Any], omitted: set[str]) -> dict[str, Any]:
            return {
                key: kept(value, omitted) if isinstance(value, Mapping) else value
                for key, value in record.items()
                if key not in omitted
            }

        # A trained model is named by its run.
        facts = kept(self.facts, omitted | ({"model"} if "weights" in self.facts else set()))
        augmentation = "" if without_augmentation else self.augmentation
        key = facts, kept(self.settings, omitted), augmentation
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

    def caveats(self) -> list[str]:
        """What must stand beside every number of the system."""
        caveats = ["oracle: trained on v1 to v5"] if self.oracle else []
        caveats += ["oracle: unknown"] if self.oracle_unknown else []
        if any(training.get("model") == "tiny" for training in self.trainings):
            caveats.append("random weights")
        of_headers = {name: n for name, (n, _) in unread_answers(self.result.headers).items()}
        unread = self.result.result.counts.get("unread") or of_headers
        if counts := ", ".join(f"{n} under {name}" for name, n in unread.items() if n):
            caveats.append(f"answers that could not be read: {counts}")
        return caveats


def data_caveats(parts: Mapping[str, str], count: int, unit: str) -> list[str]:
    """What must stand beside every number on some data, by the parts of a signature."""
    kind, _, size = parts.get("release", "unknown").partition(":")
    numbers = [f"{int(n):,}" if n.isdecimal() else n for n in size.split("/")]
    of_release = {
        "partial": f"partial data: {' of '.join(numbers)} dialogues",
        "unverified": "data that is not known to be the release's",
        "sample": "the small sample corpus, not SGD",
        "many": "the corpus of many services, not SGD",
    }
    caveats = [of_release[kind]] if kind in of_release else []
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


class Validation(msgspec.Struct):
    """The test of a model of entailment on gold responses, as `validate --json` writes it."""

    signature: str = ""
    by_evaluator: dict[str, dict[str, Any]] = {}


class _Record(msgspec.Struct):
    settings: dict[str, Any] = {}
    # What the model has seen, which predictions repeat.
    seen: dict[str, Any] = {}


class _Training(msgspec.Struct):
    # Of an evaluation, run.json has none.
    record: _Record | None = None


def read_run(path: Path) -> Run:
    """Read a run's scores, and the recipe beside them or in the model's folder."""
    run = Run(path, read_result(path), {})
    for folder in (run.result.path.parent, Path(str(run.facts.get("model", "")))):
        if (file := folder / "run.json").is_file():
            record = decode_json(read_file(file), _Training, str(file), "a run's record").record
            facts = run.facts
            # Another model may stand in the folder by now.
            if record and all(facts.get(key, seen) == seen for key, seen in record.seen.items()):
                return Run(path, run.result, record.settings)
    return run


def read_runs(
    paths: Sequence[Path], dialogues: Path | None = None, services: Sequence[str] = ()
) -> tuple[list[Run], list[Validation], list[str]]:
    """Read runs, tests of models of entailment, and why a path is left out, a sentence each.

    `dialogues` is a file of those that are chosen, `services` their original names. A single run
    that cannot be read is an error.
    """
    runs, validations, left_out = list[Run](), list[Validation](), list[str]()
    for path in paths:
        try:
            if not (file := scores_file(path)).is_file():
                raise SgdxError(f"{path}: found no scores.json, expected a finished run")
            test = decode_json(read_file(file), Validation, str(file), "a file of scores")
            if test.by_evaluator:
                validations.append(test)
                continue
            run = read_run(path)
            result = run.result
            if dialogues:
                ids = read_dialogue_ids(dialogues, run.split)
                result = only_dialogues(result, ids, str(dialogues))
            if services:
                result = only_services(result, services)
            runs.append(Run(path, result, run.settings))
        except (SgdxError, ScoreError, OSError) as error:
            told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
            if len(paths) == 1:
                raise SgdxError(str(told)) from None
            left_out.append(printable(" ".join(f"{told}; this run is left out".split())))
    if not runs and not validations:
        raise SgdxError(f"found no run that can be read, the first says: {left_out[0]}")
    return runs, validations, left_out


# ---- systems


class System:
    """Runs that differ in their seed alone, under a name that no other system of the report has."""

    def __init__(self, name: str, runs: Sequence[Run]) -> None:
        """Put together what must stand beside every number of the system."""
        self.name, self.runs = name, runs
        self.first = runs[0]  # which examples are taken from
        seeds = [f"{len(runs)} seeds"] if len(runs) > 1 else []
        self.caveats = [*dict.fromkeys(told for run in runs for told in run.caveats()), *seeds]
        self.label = f"{name} [{'; '.join(self.caveats)}]" if self.caveats else name

        # The figures of one run, or the means of several with their deviations.
        self.result = Result(
            task=self.first.result.task,
            signature=self.first.result.signature,
            figures=list(runs[0].result.result.figures)
            if len(runs) == 1
            else [*averaged([run.result.result.figures for run in runs])],
        )

    def has(self, metric: str) -> bool:
        """Whether a metric is known."""
        return any(f.metric == metric and f.value is not None for f in self.result.figures)


class Group:
    """Systems that were scored alike on the same items, so that their scores compare."""

    def __init__(self, systems: Sequence[System], number: int | None) -> None:
        """Find out what the systems share, which have the same items and rules."""
        self.systems = systems
        self.number = number  # among the groups of its task, from 1; None for the only one
        result = systems[0].result
        self.task, self.item = result.task, TASKS[result.task].item
        self.unit = f"{self.item}s"
        self.metrics: dict[str, Metric] = {m.name: m for m in TASKS[self.task].metrics}
        # The metric that decides, and all that stand in the first table.
        self.main = main_metric(result)
        known = [m for m in self.metrics.values() if any(s.has(m.name) for s in systems)]
        self.headlines = [m for m in known if m.headline]
        self.variants = result.variants
        self.count = groups_of(result).get(ALL, 0)
        self.sets = [name for name in groups_of(result) if name in SETS]
        self.services = [name for name in groups_of(result) if name not in SETS]
        # What must stand beside every number of the group.
        self.caveats = data_caveats(systems[0].first.result.parts, self.count, self.unit)

    def signatures(self) -> dict[str, str]:
        """The signatures of the runs, each with the names of its systems; "" where all share it."""
        names: dict[str, list[str]] = {}
        for system in self.systems:
            for signature in dict.fromkeys(run.result.signature for run in system.runs):
                names.setdefault(signature, []).append(system.name)
        return {signature: "; ".join(n) if len(names) > 1 else "" for signature, n in names.items()}


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """Put runs that compare into groups by task, those of most runs first.

    Runs of one system with different seeds come together.
    """
    by_task: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: [*TASKS].index(run.result.task)):
        by_key = by_task.setdefault(run.result.task, {})
        scored = {key: part for key, part in run.result.parts.items() if key not in _FREE}
        by_key.setdefault(str(scored), []).append(run)
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
