"""Read and write a result: scores.json, and beside it the scores of single items as Parquet."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import (
    JSON_MARK,
    PARQUET_MARK,
    check_output,
    file_digest,
    note_read,
    read_input,
    staged,
)
from sgdx_dataset.io.json import decode_json
from sgdx_metric.columns import Ints, column, flags
from sgdx_metric.figures import figures
from sgdx_metric.result import Metric, Result
from sgdx_metric.signature import Rules, dialogues_mark, rules_of, signature_parts
from sgdx_metric.units import Items, Scores

from .predictions import Header, oracle
from .tasks import TASKS

# Parts of a signature that belong to the system. They may differ where two systems are compared.
SYSTEM_PARTS = ("system-acts", "oracle", "predictions", "as-stated", "ranker", "version")
# This says only whether there are further figures.
_OF_OUTPUT = ("canonical",)
# What a signature without one of these parts means.
_DEFAULT_PARTS = {
    "task": "state",
    "dialogues": "all",
    "services": "all",
    "system-acts": "unknown",
    "predictions": "of-this-data",
    "as-stated": "nothing",
}
_SIGNATURES = ("sgdx_metric|", "sgsacc_metric|", "sgdx_tools|", "sgdx_tools_search|")
# The columns of items that are no scores.
_NO_SCORES = ("id", "dialogue", "turn", "service", "variant")


def items_file(path: Path) -> Path:
    """Where the items of a scores.json stand: items.parquet, or NAME.items.parquet of NAME.json."""
    beside = "items.parquet"
    return path.with_name(beside if path.name == "scores.json" else f"{path.stem}.{beside}")


def scores_file(path: Path) -> Path:
    """The scores.json of a run's folder, or the file itself."""
    return path / "scores.json" if path.is_dir() else path


def write_result(result: Result, scores: Scores, path: Path) -> None:
    """Write the scores of items, and then a scores.json that names them, a line for each figure."""
    import pyarrow.parquet as pq  # It takes a while to import.

    check_output(path, mark=JSON_MARK)  # refused before the items are written
    with staged(items_file(path), mark=PARQUET_MARK) as items:
        pq.write_table(items_table(scores), items, compression="zstd", write_statistics=False)
    result.items = file_digest(items_file(path))
    content = msgspec.to_builtins(result)
    rows = ",\n  ".join(json.dumps(row, allow_nan=False) for row in content.pop("figures"))
    rest = msgspec.json.format(json.dumps(content, allow_nan=False), indent=1)
    with staged(path, mark=JSON_MARK) as staging:
        text = rest.removesuffix("\n}") + f',\n "figures": [\n  {rows}\n ]\n}}\n'
        staging.write_text(text, encoding="utf-8")


def items_table(scores: Scores) -> pa.Table:
    """The items as rows: id, dialogue, turn, service, sets, variant, and a column for each metric.

    A score is null where it is undefined.
    """
    of, count = scores.items, len(scores.variants)

    def repeated(values: Any) -> pa.Array:
        array = pa.array(values)
        return pa.concat_arrays([array] * count)

    places = {
        "id": repeated(of.ids),
        "dialogue": repeated(of.dialogue),
        "turn": repeated(of.turn),
        "service": repeated(pa.array(of.service, pa.string())).dictionary_encode(),
        **{name: repeated(member) for name, member in of.sets.items()},
    }
    names = pa.array(np.repeat(list(scores.variants), len(of.ids)), pa.string())
    places["variant"] = names.dictionary_encode()
    metrics = {
        name: pa.array(rows.reshape(-1), pa.float64(), from_pandas=True)
        for name, rows in scores.metrics.items()
    }
    return pa.table(places | metrics)


def read_items(path: Path, digest: object, zero_mean: str) -> Scores:
    """The scores of items that stand beside a scores.json, which knows their digest."""
    import pyarrow.parquet as pq

    file = items_file(path)
    if not file.exists():
        raise SgdxError(f"{path}: found no {file.name} beside it, expected the scores of items")
    if (found := file_digest(file)) != digest:
        raise SgdxError(
            f"{file}: found other items, with SHA-256 {found}, than {path.name} is of, expected "
            f"{digest or 'none'}; score the predictions again"
        )
    try:
        note_read(file)
        table = pq.read_table(file)
        names = table["variant"].unique().to_pylist()
        count = table.num_rows // max(len(names), 1)
        first = table.slice(0, count)
        sets = [c.name for c in table.schema if pa.types.is_boolean(c.type)]
        items = Items(
            column(first, "id").cast(pa.string()),
            _codes(first["dialogue"]),
            _codes(first["turn"]),
            np.array(first["service"].to_pylist(), dtype=object),
            {name: flags(column(first, name)) for name in sets},
        )
        for i, name in enumerate(names):
            part = table.slice(i * count, count)
            same = part["variant"].unique().to_pylist() == [name]
            if not same or not column(part, "id").cast(pa.string()).equals(items.ids):
                raise ValueError(f"{name} has other items than {names[0]}")
        metrics = {
            name: np.stack(np.split(table[name].to_numpy().astype(np.float64), len(names)))
            for name in table.column_names
            if name not in (*_NO_SCORES, *sets)
        }
    except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise SgdxError(f"{file}: cannot be read as scores of items: {error}") from None
    return Scores(names, items, metrics, zero_mean)


def _codes(values: pa.ChunkedArray) -> Ints:
    """Numbers for distinct values, in the order in which they are met."""
    codes: Ints = np.asarray(values.combine_chunks().dictionary_encode().indices, dtype=np.int64)
    return codes


@dataclass(frozen=True)
class Scored:
    """A result that was read, of all its items or of some."""

    path: Path
    result: Result
    # Of some of the items; None for all, which are read when they are asked for.
    chosen: Scores | None = None

    @cached_property
    def scores(self) -> Scores:
        """The scores of its items."""
        return self.chosen or read_items(self.path, self.result.items, self.rules.zero_mean)

    @property
    def signature(self) -> str:
        """What was scored and how, in a line."""
        return self.result.signature

    @property
    def task(self) -> str:
        """The name of the task."""
        return self.result.task

    @property
    def metrics(self) -> dict[str, Metric]:
        """What is measured of the items, by name."""
        return {metric.name: metric for metric in TASKS[self.task].metrics}

    @property
    def unit(self) -> str:
        """What an item is."""
        return TASKS[self.task].item

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
        # Of oracles a signature says nothing but "yes".
        default = oracle(self.headers) if key == "oracle" else _DEFAULT_PARTS.get(key, "unstated")
        return self.parts.get(key, default)

    @property
    def headers(self) -> dict[str, Header]:
        """What the predictions say of themselves, by variant."""
        systems = self.result.systems
        return {name: msgspec.convert(of, Header) for name, of in systems.items()}

    def dialogue_ids(self) -> list[str]:
        """The ids of the dialogues that were scored, each once, sorted."""
        return sorted(set(self.dialogues))

    @cached_property
    def dialogues(self) -> list[str]:
        """The id of each item's dialogue."""
        ids = self.scores.items.ids.to_pylist()
        levels = {"frame": 2, "turn": 1}.get(self.unit, 0)
        return [item.rsplit("/", levels)[0] if levels else item for item in ids]


def read_result(path: Path) -> Scored:
    """Read a scores.json, or that of a run's folder."""
    path = scores_file(path)
    content = decode_json(read_input(path), dict[str, Any], str(path), "a scores.json")
    if "figures" not in content and {"sgdx", "calls", "search", "paired"} & content.keys():
        made = {"calls": "tools score FOLDER", "paired": "score", "sgdx": "score"}
        command = next((made[key] for key in made if key in content), "tools search FOLDER")
        how = "" if "search" in command else " --predictions DIR"
        raise SgdxError(
            f"{path}: found scores of an earlier form, expected figures: score the predictions "
            f"again, as in 'sgdx {command}{how} --output scores.json'"
        )
    try:
        result = msgspec.convert(content, Result)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{path}: {error}, expected a scores.json") from None
    if result.task not in TASKS:
        raise SgdxError(f"{path}: task is {result.task!r}, expected one of {', '.join(TASKS)}")
    metrics = {metric.name for metric in TASKS[result.task].metrics}
    if unknown := sorted({figure.metric for figure in result.figures} - metrics):
        raise SgdxError(f"{path}: figures: found the metric {unknown[0]!r}, expected one of a task")
    if not result.signature.startswith(_SIGNATURES):
        raise SgdxError(f"{path}: signature is {result.signature[:60]!r}, expected that of a score")
    scored = Scored(path, result)
    scored.parts  # noqa: B018 - which reads the signature
    return scored


def only_dialogues(scored: Scored, dialogue_ids: Sequence[str], where: str) -> Scored:
    """The result of some dialogues alone, with its signature; `where` names them in errors."""
    if lacking := sorted(set(dialogue_ids) - set(scored.dialogue_ids())):
        raise SgdxError(
            f"{scored.path}: lacks {len(lacking)} of the {len(dialogue_ids)} dialogues of "
            f"{where}, the first is {lacking[0]}"
        )
    kept = set(dialogue_ids)
    return _only(scored, np.flatnonzero([of in kept for of in scored.dialogues]))


def only_services(scored: Scored, services: Collection[str]) -> Scored:
    """The result of some services alone, by original names, with its signature."""
    known = scored.scores.items.services()
    if lacking := sorted(set(services) - set(known)):
        raise SgdxError(
            f"{scored.path}: --service {lacking[0]}: found no {scored.unit} of it, "
            f"expected one of {', '.join(known)}"
        )
    members = np.flatnonzero([service in services for service in scored.scores.items.service])
    return _only(scored, members, services="+".join(sorted(set(services))))


def _only(scored: Scored, members: Ints, **mark: str) -> Scored:
    """The result of the items at some positions, whose signature names their dialogues."""
    scores = scored.scores.only(members)
    marks = {"dialogues": dialogues_mark([scored.dialogues[i] for i in members]), **mark}
    parts: dict[str, str] = {}
    for key, value in scored.parts.items():
        if key == f"{scored.unit}s":
            parts |= {**marks, key: str(len(members))}
        elif key not in marks:
            parts[key] = value
    name = scored.signature.split("|")[0]
    result = Result(
        task=scored.task,
        signature="|".join([name, *(f"{key}:{value}" for key, value in parts.items())]),
        figures=figures(scores, TASKS[scored.task].metrics, scored.rules),
        systems=scored.result.systems,
    )
    return replace(scored, result=result, chosen=scores)


# ---- whether results compare


def marks(parts: Mapping[str, str]) -> dict[str, str]:
    """The fingerprint of each variant in a signature; empty for a variant of the release."""
    listed = parts.get("variants", parts.get("generator", "")).split("+")
    return {name: mark for name, _, mark in (variant.partition("@") for variant in listed)}


def check_part(first: Scored, second: Scored, key: str) -> None:
    """Refuse two results whose signatures differ in a part."""
    if first.part(key) != second.part(key):
        raise SgdxError(
            f"{second.path}: {key} is '{second.part(key)}' in the signature, and "
            f"'{first.part(key)}' in that of {first.path}: these scores cannot be compared"
        )


def check_alike(first: Scored, second: Scored, free: Collection[str] = ()) -> None:
    """Refuse two results that were not scored alike, but for `free` parts, on the same items."""
    first_marks, second_marks = marks(first.parts), marks(second.parts)
    for variant, mark in first_marks.items():
        if variant in second_marks and second_marks[variant] != mark:
            raise SgdxError(
                f"{second.path}: found another variant '{variant}' "
                f"({second_marks[variant] or 'unmarked'}) than in {first.path} "
                f"({mark or 'unmarked'}), expected the same schemas"
            )
    if first.task != second.task:
        raise SgdxError(f"{second.path}: task is '{second.task}', and '{first.task}' in the first")
    for key in ("dialogues", *first.parts, *second.parts):
        if key not in (*free, *_OF_OUTPUT):
            check_part(first, second, key)
    left, right = first.scores, second.scores
    if apart := set(left.items.ids.to_pylist()) ^ set(right.items.ids.to_pylist()):
        raise SgdxError(
            f"{second.path}: the {first.unit}s are not those of {first.path}: "
            f"{len(apart)} are in only one of the two, the first is {min(apart)}"
        )
    if list(left.variants) != list(right.variants) or not left.items.ids.equals(right.items.ids):
        raise SgdxError(f"{second.path}: items are in another order than those of {first.path}")
    for name, member in left.items.sets.items():
        other = right.items.sets.get(name)
        if other is None or not np.array_equal(member, other):
            raise SgdxError(f"{second.path}: the {name} services are not those of {first.path}")


def read_runs(paths: Sequence[Path]) -> list[Scored]:
    """Read the results of one system's runs, whose signatures may differ in nothing."""
    for i, path in enumerate(paths):
        if any(path.resolve() == earlier.resolve() for earlier in paths[:i]):
            raise SgdxError(f"{path}: found this file twice, expected each run once")
    runs = list(map(read_result, paths))
    for run in runs[1:]:
        check_alike(runs[0], run)
    return runs


def with_common_metrics(runs: Sequence[Scored]) -> list[Scores]:
    """The scores of runs with the metrics alone that all have, as not all data are canonical."""
    every = [run.scores for run in runs]
    common = [m for m in every[0].metrics if all(m in of.metrics for of in every)]
    return [replace(of, metrics={m: of.metrics[m] for m in common}) for of in every]
