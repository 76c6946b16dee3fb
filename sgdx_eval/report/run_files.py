"""What lies in a run's folder: scores, predictions, and the record of how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_eval.headers import Header
from sgdx_eval.predictions import prediction_paths

# A line of a training's log.jsonl: the step, and the loss or the score on dev after it.
LogLine = dict[str, float]


@dataclass(frozen=True)
class RunRecord:
    """What a run's files record of the system that made its predictions."""

    # What the predictions say of it; empty where they say nothing.
    system: Mapping[str, Any]
    # The recipe that the model was trained with; empty where it is not at hand.
    settings: Mapping[str, Any]
    # The lines of the training's log, by sub-model ("" for a model that has none).
    logs: Mapping[str, Sequence[LogLine]]

    @property
    def trainings(self) -> list[Mapping[str, Any]]:
        """What is recorded of the training of the model, and of its sub-models if it has any."""
        parts = self.system.get("parts")
        sub_models = parts.values() if isinstance(parts, dict) else ()
        records = (self.system, *sub_models, self.settings)
        return [record for record in records if isinstance(record, Mapping)]


def find_scores(path: Path) -> Path:
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


def find_predictions(folder: Path, variants: Sequence[str]) -> dict[str, Path]:
    """The prediction files of a run by variant; {} unless all of its variants have one."""
    if (folder / "predictions").is_dir():
        folder /= "predictions"
    try:
        paths = prediction_paths(folder, variants)
    except SgdxError:
        return {}
    return paths if set(paths) == set(variants) else {}


def read_record(scores: Path, predictions: Mapping[str, Header]) -> RunRecord:
    """Read what is recorded beside a file of scores, and in the folder of the model if it has one.

    Args:
        scores: The file of scores. ``run.json`` and ``log.jsonl`` are looked for beside it, and
            then in the folder of the model that the predictions name.
        predictions: What the scores say of the predictions that were scored, by variant.
    """
    system = next((header.system for header in predictions.values()), {})
    model = Path(str(system.get("model") or scores.parent))
    record = _read_object(scores.parent / "run.json")
    training = record if "record" in record else _read_object(model / "run.json")
    return RunRecord(
        system,
        _object_at(_object_at(training, "record"), "settings"),
        _read_logs(scores.parent) or _read_logs(model),
    )


def _read_logs(folder: Path) -> dict[str, list[LogLine]]:
    """The lines of ``log.jsonl`` in a folder and in those of the sub-models, by sub-model."""
    logs = {"": folder / "log.jsonl"}
    logs |= {log.parent.name: log for log in sorted(folder.glob("*/log.jsonl"))}
    return {name: _read_log(log) for name, log in logs.items() if log.is_file()}


def _read_log(log: Path) -> list[LogLine]:
    """The lines of a training's log, each of which has its step."""
    lines = []
    for number, line in enumerate(read_file(log).splitlines(), 1):
        where = f"{log}:{number}"
        lines.append(parse_json(line, LogLine, where, "a line of a training's log"))
        if "step" not in lines[-1]:
            raise SgdxError(f"{where}: found no step, expected a line of a training's log")
    return lines


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; {} where the file is not there."""
    if not path.is_file():
        return {}
    return parse_json(read_file(path), dict[str, Any], str(path), "a JSON object")


def _object_at(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key of a record; {} where there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}
