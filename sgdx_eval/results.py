"""Read a scores.json of any task: the scores of single items, from which all figures follow."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import decode_json
from sgdx_metric.columns import Ints
from sgdx_metric.signature import Rules, dialogues_mark, rules_of, signature_parts
from sgdx_metric.statistics import Figure, Sample
from sgdx_metric.units import Items, Scores

from .prediction_files import Header
from .task import Task
from .tasks import TASKS

# Parts of a signature that belong to the system. They may differ where two systems are compared.
SYSTEM_PARTS = ("system-acts", "oracle", "predictions")
# This says only whether there are further figures.
_OF_OUTPUT = ("canonical",)
# What a signature without one of these parts means.
_DEFAULT_PARTS = {
    "task": "state",
    "dialogues": "all",
    "services": "all",
    "oracle": "no",
    "system-acts": "unknown",
    "predictions": "of-this-data",
}
# The task of a signature that names none, by the metric that it begins with.
_METRICS = {"sgdx_metric": "state", "sgsacc_metric": "turns", "sgdx_tools": "tools"}
# The file beside a scores.json that has what is of single items, where scores.json has it not.
ITEMS = "items.json.gz"
_Listed = list[str] | dict[str, list[float | None]]


class _File(msgspec.Struct):
    """What every scores.json has."""

    signature: str
    # The ids of the items, their dialogues where ids do not tell them, the services of each set,
    # and by metric and variant the scores, None where undefined [items]. Empty if `ITEMS` has them.
    paired: dict[str, _Listed] = {}
    # What the prediction files say of themselves, by variant.
    predictions: dict[str, Header] = {}


class _Items(msgspec.Struct):
    """What `ITEMS` has beside a scores.json, as `maintenance.results` writes it."""

    paired: dict[str, _Listed]


@dataclass(frozen=True)
class Results:
    """The scores in a scores.json, or of some of its items."""

    path: Path
    signature: str
    task: Task
    raw: Scores
    headers: Mapping[str, Header]

    @cached_property
    def parts(self) -> dict[str, str]:
        """What the signature states, by key."""
        return signature_parts(self.signature, str(self.path), self.signature.split("|")[0])

    @cached_property
    def rules(self) -> Rules:
        """How the items were scored."""
        return rules_of(self.parts)

    def part(self, key: str) -> str:
        """A part of the signature; where the signature lacks it, what that means."""
        return self.parts.get(key, _DEFAULT_PARTS.get(key, "unstated"))

    @property
    def variants(self) -> Sequence[str]:
        """The variants that were scored."""
        return self.raw.variants

    def dialogue_ids(self) -> list[str]:
        """The ids of the dialogues that were scored, each once, sorted."""
        return sorted({self.task.place(item)[0] for item in self.raw.items.ids.to_pylist()})

    def scores(self, members: Ints | None = None) -> Scores:
        """The scores of some items, or all, whose means are figures."""
        return self.task.derived(
            self.raw if members is None else self.raw.only(members), self.rules
        )

    def sample(self, members: Ints | None = None) -> Sample:
        """Some items, or all, summed up for the task's figures."""
        scores = self.scores(members)
        return Sample(self.task.figures(scores), scores.items.dialogue)

    def by_variant(self, members: Ints | None = None) -> Sample:
        """The main figure of some items, or all, under each variant."""
        scores = self.scores(members)
        return Sample(self.task.by_variant(scores), scores.items.dialogue)


class Outcome(NamedTuple):
    """What `compare` and `summarise` give: the task, its figures, the first scores, and JSON."""

    task: Task
    figures: list[Figure]
    content: dict[str, Any]
    scores: Scores


def scores_file(path: Path) -> Path:
    """The scores.json of a run's folder, or the file itself."""
    return path / "scores.json" if path.is_dir() else path


def read_results(path: Path) -> Results:
    """Read a scores.json, or that of a run's folder."""
    path = scores_file(path)
    file = decode_json(read_input(path), _File, str(path), "a scores.json")
    if not file.paired and (items := path.with_name(ITEMS)).exists():
        file.paired = decode_json(_unpacked(items), _Items, str(items), "scores of items").paired
    metric = file.signature.split("|")[0]
    parts = signature_parts(file.signature, str(path), metric)
    task = TASKS.get(parts.get("task", _METRICS.get(metric, "")))
    if task is None:
        raise SgdxError(f"{path}: signature is {file.signature[:60]!r}, expected that of a score")
    scores = _scores(file, task, str(path), parts)
    return Results(path, file.signature, task, scores, file.predictions)


def _scores(file: _File, task: Task, where: str, parts: dict[str, str]) -> Scores:
    """The scores of all items, in the order of their ids."""
    lists = {key: part for key, part in file.paired.items() if isinstance(part, list)}
    by_metric = {key: p for key, p in file.paired.items() if isinstance(p, dict) and p}
    ids, names = next(iter(lists.values()), []), list(variants(parts))
    main = task.main_of(by_metric)
    if not ids or main not in by_metric:
        raise SgdxError(f"{where}: paired: found no {main} of any {task.unit}, expected it")
    shared = {key: by_metric.pop(key)[""] for key in [*by_metric] if [*by_metric[key]] == [""]}
    order = np.argsort(np.array(ids))
    ids = [ids[i] for i in order]
    try:
        dialogues, turns, services = zip(*map(task.place, ids))
        items = Items(
            pa.array(ids, pa.string()),
            np.unique(np.array(dialogues), return_inverse=True)[1],
            np.unique(np.array(turns), return_inverse=True)[1],
            np.array(services, dtype=object),
            {name: np.isin(services, lists.get(name, [])) for name in task.sets},
        )
        if scored := lists.get("dialogue"):
            # Numbered as they were scored, so that intervals draw the same ones.
            number = {name: i for i, name in enumerate(dict.fromkeys(scored))}
            items = replace(items, dialogue=np.array([number[name] for name in scored])[order])
        metrics = {
            metric: np.array([by_variant[name] for name in names], dtype=np.float64)[:, order]
            for metric, by_variant in by_metric.items()
        }
        together = {name: np.array(row, dtype=np.float64)[order] for name, row in shared.items()}
    except (ValueError, KeyError, IndexError) as error:
        raise SgdxError(
            f"{where}: paired: expected a score of each of the {len(ids)} {task.unit}s for "
            f"{', '.join(names)} ({error})"
        ) from None
    return Scores(names, items, metrics, rules_of(parts).zero_mean, together)


def only_dialogues(results: Results, dialogue_ids: Sequence[str], where: str) -> Results:
    """The results of some dialogues alone, with their signature; `where` names them in errors."""
    if lacking := sorted(set(dialogue_ids) - set(results.dialogue_ids())):
        raise SgdxError(
            f"{results.path}: lacks {len(lacking)} of the {len(dialogue_ids)} dialogues of "
            f"{where}, the first is {lacking[0]}"
        )
    kept = set(dialogue_ids)
    dialogues = [results.task.place(item)[0] for item in results.raw.items.ids.to_pylist()]
    return _only(results, np.flatnonzero([dialogue in kept for dialogue in dialogues]))


def only_services(results: Results, services: Collection[str]) -> Results:
    """The results of some services alone, by original names, with their signature."""
    known = results.raw.items.services()
    if lacking := sorted(set(services) - set(known)):
        raise SgdxError(
            f"{results.path}: --service {lacking[0]}: found no {results.task.unit} of it, "
            f"expected one of {', '.join(known)}"
        )
    members = np.flatnonzero([service in services for service in results.raw.items.service])
    return _only(results, members, services="+".join(sorted(set(services))))


def _only(results: Results, members: Ints, **mark: str) -> Results:
    """The results of the items at some positions, whose signature names their dialogues."""
    scores = results.raw.only(members)
    ids = {results.task.place(item)[0] for item in scores.items.ids.to_pylist()}
    marks = {"dialogues": dialogues_mark(ids), **mark}
    parts: dict[str, str] = {}
    for key, value in results.parts.items():
        if key == results.task.counted:
            parts |= {**marks, key: str(results.task.count(scores))}
        elif key not in marks:
            parts[key] = value
    name = results.signature.split("|")[0]
    line = "|".join([name, *(f"{key}:{value}" for key, value in parts.items())])
    return replace(results, signature=line, raw=scores)


def variants(parts: Mapping[str, str]) -> dict[str, str]:
    """The fingerprint of each variant in a signature; empty for a variant of the release."""
    listed = parts.get("variants", parts.get("generator", "")).split("+")
    return {name: mark for name, _, mark in (variant.partition("@") for variant in listed)}


def check_part(first: Results, second: Results, key: str) -> None:
    """Refuse two results whose signatures differ in a part."""
    if first.part(key) != second.part(key):
        raise SgdxError(
            f"{second.path}: {key} is '{second.part(key)}' in the signature, and "
            f"'{first.part(key)}' in that of {first.path}: these scores cannot be compared"
        )


def check_alike(first: Results, second: Results, free: Collection[str] = ()) -> None:
    """Refuse two results that were not scored alike, but for `free` parts, on the same items."""
    first_marks, second_marks = variants(first.parts), variants(second.parts)
    for variant, mark in first_marks.items():
        if variant in second_marks and second_marks[variant] != mark:
            raise SgdxError(
                f"{second.path}: found another variant '{variant}' "
                f"({second_marks[variant] or 'unmarked'}) than in {first.path} "
                f"({mark or 'unmarked'}), expected the same schemas"
            )
    for key in ("task", "dialogues", *first.parts, *second.parts):
        if key not in (*free, *_OF_OUTPUT):
            check_part(first, second, key)
    left, right = first.raw.items, second.raw.items
    if apart := set(left.ids.to_pylist()) ^ set(right.ids.to_pylist()):
        raise SgdxError(
            f"{second.path}: the {first.task.unit}s are not those of {first.path}: "
            f"{len(apart)} are in only one of the two, the first is {min(apart)}"
        )
    for name, member in left.sets.items():
        if not np.array_equal(member, right.sets[name]):
            raise SgdxError(f"{second.path}: the {name} services are not those of {first.path}")


def read_runs(paths: Sequence[Path]) -> list[Results]:
    """Read the results of one system's runs, whose signatures may differ in nothing."""
    for i, path in enumerate(paths):
        if any(path.resolve() == earlier.resolve() for earlier in paths[:i]):
            raise SgdxError(f"{path}: found this file twice, expected each run once")
    runs = list(map(read_results, paths))
    for run in runs[1:]:
        check_alike(runs[0], run)
    return runs


def with_common_metrics(runs: Sequence[Results]) -> list[Results]:
    """The runs with the metrics alone that all of them have, as not all data are canonical."""
    raws = [run.raw for run in runs]
    metrics = [m for m in raws[0].metrics if all(m in raw.metrics for raw in raws)]
    shared = [m for m in raws[0].shared if all(m in raw.shared for raw in raws)]
    return [
        replace(
            run,
            raw=replace(
                run.raw,
                metrics={metric: run.raw.metrics[metric] for metric in metrics},
                shared={name: run.raw.shared[name] for name in shared},
            ),
        )
        for run in runs
    ]


def stored(path: Path) -> dict[str, Any]:
    """All that a scores.json holds."""
    content = decode_json(read_input(path), dict[str, Any], str(path), "a scores.json")
    if "paired" not in content and (items := path.with_name(ITEMS)).exists():
        content |= decode_json(_unpacked(items), dict[str, Any], str(items), "scores of items")
    return content


def _unpacked(path: Path) -> bytes:
    try:
        return gzip.decompress(read_input(path))
    except (OSError, EOFError, zlib.error) as error:
        raise SgdxError(f"{path}: cannot be unpacked: {error}") from None
