"""What commands have to write of the sample corpus, known without the code that is attacked.

The utterances, the frames and the services are counted in the corpus's own JSON files. The figures
of the tracker ``lexical`` are written down here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sgdx_dataset.release.open import SAMPLE

# Of the tracker ``lexical`` on the sample's test split: the fuzzy joint goal accuracy, and how many
# slots it gives a value. ``tests/maintenance/test_attack.py`` computes the first with the plain
# scorer.
GOAL_ACCURACY = {"original": 0.31572767399267404, "v1": 0.27147675824175826}
VALUES = {"original": 820, "v1": 802}


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of all files of a folder, or of a file alone, by path."""
    files = folder.rglob("*") if folder.is_dir() else [folder]
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(files)
        if file.is_file() and file.suffix != ".lock"
    }


def fault_in(folder: Path) -> str:
    """What is wrong with the data, predictions or scores in a folder; empty where all is right."""
    for path in sorted(folder.rglob("*")):
        fault = ""
        if path.name.startswith("sgdx-test") and path.suffix == ".arrow":
            with pa.OSFile(str(path)) as file:
                fault = _fault_of_dialogues(pa.ipc.open_stream(file).read_all())
        elif path.suffix == ".parquet" and path.name.startswith("test"):
            fault = _fault_of_dialogues(pq.read_table(path))
        elif path.suffix == ".parquet" and path.parent.name == "frames":
            fault = _fault_of_frames(pq.read_table(path).to_pylist())
        elif path.name in ("original.jsonl", "v1.jsonl"):
            fault = _fault_of_predictions(path)
        elif path.name == "scores.json":
            fault = _fault_of_scores(json.loads(path.read_bytes()))
        elif path.name == "stats.json":
            services = json.loads(path.read_bytes())["schemas"]["elements"]["services"]
            fault = "" if services == len(_services()) else f"counts {services} services"
        if fault:
            return f"{path.name} {fault}"
    return ""


@cache
def utterances() -> dict[str, list[str]]:
    """The utterances of each dialogue of the sample's test split."""
    return {d["dialogue_id"]: [t["utterance"] for t in d["turns"]] for d in _dialogues()}


def _dialogues() -> Iterator[dict[str, Any]]:
    for file in sorted(SAMPLE.glob("test/dialogues_*.json")):
        yield from json.loads(file.read_bytes())


@cache
def _frame_ids() -> set[str]:
    return {
        f"{dialogue['dialogue_id']}/{number}/{frame['service']}"
        for dialogue in _dialogues()
        for number, turn in enumerate(dialogue["turns"])
        for frame in turn["frames"]
        if turn["speaker"] == "USER" and "state" in frame
    }


def _services() -> set[str]:
    schemas = (json.loads(file.read_bytes()) for file in SAMPLE.glob("*/schema.json"))
    return {service["service_name"] for schema in schemas for service in schema}


def _fault_of_dialogues(table: pa.Table) -> str:
    rows = table.select(["dialogue_id", "turns"]).to_pylist()
    read = {row["dialogue_id"]: [turn["utterance"] for turn in row["turns"]] for row in rows}
    return "" if read == utterances() else "has other dialogues than the corpus"


def _fault_of_frames(rows: list[dict[str, Any]]) -> str:
    if {row["frame_id"] for row in rows} != _frame_ids() or len(rows) != len(_frame_ids()):
        return "has other frames than the corpus"
    for row in rows:
        dialogue, turn, _ = row["frame_id"].split("/")
        if (
            row.get("utterance", utterances()[dialogue][int(turn)])
            != (utterances()[dialogue][int(turn)])
        ):
            return "has other utterances than the corpus"
    return ""


def _fault_of_predictions(path: Path) -> str:
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    rows = [row for row in rows if "metadata" not in row]
    values, expected = sum(len(row["slot_values"]) for row in rows), VALUES[path.stem]
    return _fault_of_frames(rows) or (
        "" if values == expected else f"has {values} values, not {expected}"
    )


def _fault_of_scores(scores: dict[str, Any]) -> str:
    for variant, groups in scores["variants"].items():
        figure = groups["#ALL_SERVICES"]["joint_goal_accuracy"]
        if abs(figure - GOAL_ACCURACY[variant]) > 1e-9:
            return f"says {figure} of {variant}, not {GOAL_ACCURACY[variant]}"
    return ""
