"""Samples that other harnesses scored: Inspect's logs (.json, .eval) and lm-eval's samples_*.jsonl.

Two systems are compared on the samples that all their logs have. An epoch is a repetition of a
sample, so a sample counts once, with the mean of its epochs, and is the cluster that is drawn.
"""

from __future__ import annotations

import json
import math
import re
import sys
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_metric.figures import figures
from sgdx_metric.result import Figure, Metric
from sgdx_metric.signature import signature_line
from sgdx_metric.statistics import RESAMPLES, SEED
from sgdx_metric.units import Items, Scores
from sgdx_metric.version import __version__

from .compare import Comparison, names_of
from .tasks import SAMPLES

_MOST = 2_000_000_000  # bytes of a file in a log, which is compressed
# What another form of file, or a damaged one, raises where it is read.
_FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError),
    *(EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error, pa.ArrowException),
)
# What Inspect's `value_to_float` makes of a score that is a word.
_WORDS = {"C": 1, "I": 0, "P": 0.5, "N": 0, "yes": 1, "true": 1, "no": 0, "false": 0}


class Log(NamedTuple):
    """What one file has of each sample."""

    path: Path
    kind: str
    # What the harness calls the task, and the model.
    task: str
    model: str
    # By sample what it expects, and by metric and sample the scores of its epochs.
    expected: dict[str, str]
    scores: dict[str, dict[str, list[float]]]
    # The metrics of which less is better.
    lower: set[str]


def is_log(path: Path) -> bool:
    """Whether a file is one of another harness, by its name or its content."""
    if not path.is_file() or path.name.endswith("scores.json"):
        return False
    if path.suffix in (".eval", ".jsonl"):
        return True
    with path.open("rb") as file:
        return re.match(rb'\s*{\s*"version"\s*:\s*\d+\s*,\s*"status"', file.read(200)) is not None


def compare_logs(first: Sequence[Path], second: Sequence[Path]) -> Comparison:
    """By how much each metric of the second side's logs is above the first's, paired by sample.

    A side has a log for each run. Only metrics and samples that all logs have are compared.
    """
    logs = [_read(path) for path in (*first, *second)]
    start, *others = logs
    for log in others:
        if log.kind != start.kind:
            raise SgdxError(f"{log.path}: found {log.kind}, expected {start.kind} as in the first")
    common = [i for i in start.expected if all(i in log.expected for log in logs)]
    for log in others:
        if other := [i for i in common if log.expected[i] != start.expected[i]]:
            where = f"{log.path}: sample {other[0]}"
            raise SgdxError(f"{where}: found another one than in {start.path}, expected the same")
    metrics = [name for name in start.scores if all(name in log.scores for log in logs)]
    scored = [i for i in common if all(i in log.scores[m] for log in logs for m in metrics)]
    if not scored or not metrics:
        what = ", ".join(metrics) or "no metric"
        raise SgdxError(f"{others[0].path}: found {what} of {len(scored)} samples in all logs")
    every = len({i for log in logs for i in log.expected})
    if len(scored) < every:
        left = f"{every - len(scored)} of {every} samples lack a score in some log"
        print(f"note: {left}, and are left out of all", file=sys.stderr)
    count = np.arange(len(scored))
    items = Items(pa.array(scored), count, count, np.full(len(scored), "", object), {})
    values = {
        m: np.array([[np.mean(log.scores[m][i]) for i in scored] for log in logs]) for m in metrics
    }
    # Scores are made as wide as 1, which intervals of few samples suppose.
    width = {m: float(max(of.max(), 1.0) - min(of.min(), 0.0)) for m, of in values.items()}
    # What a figure of one variant is called ends in its name.
    scores = [
        Scores(["mean"], items, {m: values[m][[i]] / width[m] for m in metrics})
        for i in range(len(logs))
    ]
    known = [
        Metric(
            name=m,
            higher_is_better=m not in start.lower,
            scale=100.0 if width[m] == 1 else 1.0,
            headline=True,
        )
        for m in metrics
    ]
    sides = scores[: len(first)], scores[len(first) :]
    found = figures(sides[0], known, others=sides[1])
    parts = {
        "log": "/".join(dict.fromkeys(log.task for log in logs)),
        "read": start.kind,
        "samples": len(scored),
        "ci": f"95%-bootstrap-{RESAMPLES}-seed-{SEED}",
        "version": __version__,
    }
    models = [
        "+".join(dict.fromkeys(log.model for log in side))
        for side in (logs[: len(first)], logs[len(first) :])
    ]
    return Comparison(
        task=SAMPLES,
        signature=signature_line(SAMPLES, parts),
        names=models if models[0] != models[1] else names_of(first, second),
        runs=[len(first), len(second)],
        system_acts=["unknown"] * 2,
        oracle=["unknown"] * 2,
        metrics=known,
        figures=[_as_wide(figure, width[figure.metric]) for figure in found],
    )


def _as_wide(figure: Figure, width: float) -> Figure:
    """A figure of scores as they were before they were divided by a width."""
    numbers = ("value", "low", "high", "first", "second", "first_sd", "second_sd")
    values = {name: of * width for name in numbers if (of := getattr(figure, name)) is not None}
    return msgspec.structs.replace(figure, **values)


def _read(path: Path) -> Log:
    """A log of either harness; what is wrong with it is one line."""
    try:
        return _lm_eval(path) if path.suffix == ".jsonl" else _inspect(path)
    except _FAULTS as error:
        why = f"lacks {error}" if isinstance(error, KeyError) else str(error)
    raise SgdxError(f"{path}: cannot be read as a log: {why[:300]}")


def _inspect(path: Path) -> Log:
    """A log of Inspect, as JSON, or as an archive that has a summary of all samples."""
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "header.json" not in names:
                raise SgdxError(f"{path}: found a run that did not end, expected header.json in it")
            content = _member(archive, "header.json")
            if "summaries.json" in names:
                samples = _member(archive, "summaries.json")
            else:
                files = [name for name in names if name.startswith("samples/")]
                samples = [_member(archive, name) for name in files]
    else:
        content = json.loads(read_input(path))
        samples = content["samples"] or []
    if content["status"] != "success":
        found = f"found a run whose status is {content['status']!r}"
        raise SgdxError(f"{path}: {found}, expected 'success'; inspect eval-retry goes on with it")
    ran = content["eval"]
    log = Log(path, "inspect", str(ran["task"]), str(ran["model"]), {}, defaultdict(dict), set())
    for sample in samples:
        name, of = str(sample["id"]), sample.get("scores")
        if of is None:  # of the first form, which has those of one scorer
            is_scored = sample.get("score") and content["results"]
            of = {content["results"]["scorer"]["name"]: sample["score"]} if is_scored else {}
        log.expected[name] = json.dumps(sample.get("target"))
        for scorer, score in of.items():
            value = score["value"]
            parts = value if isinstance(value, dict) else {"": value}
            for part, number in parts.items():
                _note(log, "/".join(filter(None, (scorer, part))), name, number)
    return log


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    """A JSON file of an archive, also in Zstandard, which Python reads only from 3.14 on."""
    info = archive.getinfo(name)
    if info.file_size > _MOST:
        raise ValueError(f"{name} has {info.file_size} bytes, expected fewer than {_MOST}")
    if info.compress_type != 93:
        return json.loads(archive.read(name))
    file: Any = archive.fp
    file.seek(info.header_offset)
    header = file.read(30)  # which ends in the lengths of two fields behind it
    file.seek(sum(int.from_bytes(header[i : i + 2], "little") for i in (26, 28)), 1)
    packed = file.read(info.compress_size)
    return json.loads(pa.decompress(packed, info.file_size, "zstd", asbytes=True))


def _lm_eval(path: Path) -> Log:
    """Samples of lm-eval, a line for each sample and filter; what is better stands beside them."""
    name = re.fullmatch(r"samples_(.+?)(_\d{4}-\d\d-\d\dT.*)?", path.stem)
    task, date = (name[1], name[2] or "") if name else (path.stem, "")
    log = Log(path, "lm-eval", task, path.absolute().parent.name, {}, defaultdict(dict), set())
    higher: dict[str, bool] = {}
    if (beside := path.with_name(f"results{date}.json")).is_file():
        higher = (json.loads(read_input(beside)).get("higher_is_better") or {}).get(task) or {}
    for number, line in enumerate(read_input(path).splitlines(), 1):
        try:
            sample = json.loads(line)
            i, of, doc = str(sample["doc_id"]), sample.get("filter", "none"), sample["doc"]
            log.expected[i] = sample.get("doc_hash") or json.dumps(doc, sort_keys=True)
            metrics = sample.get("metrics") or [k for k in sample if isinstance(sample[k], float)]
            for metric in metrics:
                shown = metric if of == "none" else f"{metric},{of}"
                log.lower.update({shown} if higher.get(metric) is False else set())
                _note(log, shown, i, sample[metric])
        except _FAULTS as error:
            raise SgdxError(f"{path}:{number}: found no sample of lm-eval: {error}") from None
    return log


def _note(log: Log, metric: str, sample: str, value: Any) -> None:
    """Keep a score that is a number, or a word that stands for one; lists and texts have none."""
    if isinstance(value, str):
        value = _WORDS.get(value, _WORDS.get(value.lower(), value))
    try:
        number = float(value)
    except (TypeError, ValueError):
        return
    if math.isfinite(number):
        log.scores[metric].setdefault(sample, []).append(number)
