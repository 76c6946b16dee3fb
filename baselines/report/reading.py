"""What lies in a run's folder: scores, predictions, and the record of how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_metric.cli.predictions import decode, prediction_paths
from sgdx_metric.rows import ScoreError

from ..training.run_folder import read_log

# A line of a training's log.jsonl: the step, and the loss or the score on dev after it.
LogLine = dict[str, float]


def scores_of(path: Path) -> Path:
    """The file of scores in a run's folder, or the path itself where it is a file.

    Raises:
        SgdxError: There is no such file.
    """
    file = path / "scores.json" if path.is_dir() else path
    if not file.is_file():
        raise SgdxError(_why_no_scores(path))
    return file


def _why_no_scores(path: Path) -> str:
    if not path.exists():
        return f"{path}: no such file or folder, expected a run of baselines.evaluate"
    begun = [name for name in ("predictions", "run.json", "log.jsonl") if (path / name).exists()]
    if begun:
        return (
            f"{path}: found {begun[0]} but no scores.json, so the run is not finished; give the "
            "command of baselines.evaluate again"
        )
    return f"{path}: found no scores.json, expected a run of baselines.evaluate"


def read_facts(file: Path, paths: Mapping[str, Path]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is recorded of a system: what the predictions say of it, and its recipe.

    Args:
        file: The file of scores.
        paths: The prediction files by variant.

    Raises:
        ScoreError: A file is malformed.
    """
    record = _object(file.parent / "run.json")
    facts = _inner(record, "evaluation") or _header(paths)
    trained = record if "record" in record else _object(Path(str(facts.get("model"))) / "run.json")
    return facts, _inner(_inner(trained, "record"), "settings")


def read_logs(file: Path, facts: Mapping[str, Any]) -> dict[str, list[LogLine]]:
    """The lines of a training's ``log.jsonl``, by sub-model; "" for a model that has none.

    Args:
        file: The file of scores; the log is looked for beside it, and then in the model's folder.
        facts: What the predictions say of the system.

    Returns:
        {} where there is no log.

    Raises:
        SgdxError: A line is malformed.
    """
    for folder in (file.parent, Path(str(facts.get("model") or file.parent))):
        logs = [folder / "log.jsonl", *sorted(folder.glob("*/log.jsonl"))]
        if found := {_task(folder, log): read_log(log.parent) for log in logs if log.is_file()}:
            return found
    return {}


def _task(folder: Path, log: Path) -> str:
    return "" if log.parent == folder else log.parent.name


def _inner(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object in a record; {} where there is none."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def predictions_of(folder: Path, variants: Sequence[str]) -> dict[str, Path]:
    """The prediction files of a run by variant; {} unless all of its variants have one."""
    place = folder / "predictions"
    try:
        found = prediction_paths(place if place.is_dir() else folder, variants)
    except ScoreError:
        return {}
    return found if set(found) == set(variants) else {}


def _header(paths: Mapping[str, Path]) -> dict[str, Any]:
    """What the first prediction file says about itself; {} where it says nothing."""
    for path in paths.values():
        if path.is_file():
            with path.open("rb") as file:
                line = file.readline()
            if line.lstrip().startswith(b'{"metadata"'):
                found = decode(line, dict[str, dict[str, Any]], f"{path}:1")
                return found["metadata"]
        break
    return {}


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; {} where the file is not there."""
    if not path.is_file():
        return {}
    return decode(path.read_bytes(), dict[str, Any], str(path))
