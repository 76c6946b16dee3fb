"""Prediction files of a log of the tasks, for ``sgdx ask from-inspect``."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import msgspec
from inspect_ai.log import read_eval_log

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import locked, write_bytes
from sgdx_eval.predictions import Header, write_predictions
from sgdx_llm.predictions import DONE
from sgdx_metric.signature import dialogues_mark


def write_predictions_of(path: Path, output: Path) -> None:
    """Write VARIANT.jsonl for every variant of a log; those of whole dialogues, if it was stopped.

    ``done.json`` then lists these dialogues, for ``--dialogues``.
    """
    if not path.is_file():
        raise SgdxError(f"{path}: No such file")
    try:
        log = read_eval_log(str(path))
    except Exception as error:  # any of several libraries' own errors
        raise SgdxError(f"{path}: cannot be read as a log: {error}") from None
    files, dialogues, lacking = predictions_of(log)
    with locked(output):
        for name, (header, rows) in files.items():
            print(write_predictions(output / f"{name}.jsonl", header, rows))
        if lacking:
            write_bytes(output / DONE, json.dumps(dialogues).encode() + b"\n")
            print(
                f"note: the log is of an unfinished run; the predictions are of the "
                f"{len(dialogues)} of {len(dialogues) + lacking} dialogues that have all of their "
                f"answers, which {output / DONE} lists for --dialogues",
                file=sys.stderr,
            )


def predictions_of(
    log: Any,
) -> tuple[dict[str, tuple[Header, list[dict[str, Any]]]], list[str], int]:
    """Of a log: headers and rows by variant, the dialogues with all answers, how many lack some."""

    def dialogue_of(sample_id: str) -> str:  # <variant>|<dialogue>/<turn>/<service>|<repeat>
        return sample_id.split("|")[1].rsplit("/", 2)[0]

    metadata = log.eval.metadata or {}
    if "sgdx" not in metadata:
        raise SgdxError(
            f"{log.location}: found a log of {log.eval.task}, expected of sgdx/state or sgdx/calls"
        )
    scored: dict[str, Any] = {}
    for sample in log.samples or ():
        for score in (sample.scores or {}).values():
            scored |= {str(sample.id): score.metadata} if score.metadata else {}
    planned = [str(name) for name in log.eval.dataset.sample_ids or scored]
    lacking = {dialogue_of(name) for name in planned if name not in scored}
    whole = sorted({dialogue_of(name) for name in planned} - lacking)
    if lacking and log.eval.task.endswith("calls"):
        found = f"found {len(scored)} of {len(planned)} answers"
        raise SgdxError(f"{log.location}: {found}, expected all; inspect eval-retry asks the rest")
    if not whole:
        raise SgdxError(f"{log.location}: found no dialogue that has all of its answers")
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, record in scored.items():
        if dialogue_of(name) not in lacking:
            variant = name.partition("|")[0]
            rows[variant] += json.loads(record["predictions"])
            counts[variant].update({"requests": 1, **record["counts"]})
    files = {}
    for name, stated in msgspec.json.decode(metadata["sgdx"], type=dict[str, Header]).items():
        stated = msgspec.structs.replace(
            stated,
            system={**stated.system, "model": log.eval.model},
            counts={"unread": 0, **counts[name], "dates": [log.eval.created]},
            dialogues=dialogues_mark(whole) if lacking else stated.dialogues,
        )
        files[name] = stated, sorted(rows[name], key=lambda row: str(row.get("frame_id")))
    return files, whole, len(lacking)
