"""What lies in a run's folder: scores, predictions, and the record of how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_metric.cli.headers import parse_header
from sgdx_metric.cli.predictions import prediction_paths

from ..training.run_folder import read_log

# A line of a training's log.jsonl: the step, and the loss or the score on dev after it.
LogLine = dict[str, float]


@dataclass(frozen=True)
class RunRecord:
    """What a run's files record of the system that made its predictions.

    Attributes:
        metadata: What the predictions state about the system; empty where they state nothing.
        settings: The recipe that the model was trained with; empty where it is not at hand.
        logs: The lines of the training's log, by sub-model ("" for a model that has none); empty
            where there is no log.
    """

    metadata: Mapping[str, Any]
    settings: Mapping[str, Any]
    logs: Mapping[str, Sequence[LogLine]]

    @property
    def trainings(self) -> list[Mapping[str, Any]]:
        """What is recorded of the training of the model, and of its sub-models if it has any."""
        parts = self.metadata.get("parts")
        sub_models = parts.values() if isinstance(parts, dict) else ()
        records = (self.metadata, *sub_models, self.settings)
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


def read_record(scores: Path, predictions: Mapping[str, Path]) -> RunRecord:
    """Read what is recorded beside a file of scores, and in the folder of the model if it has one.

    Args:
        scores: The file of scores. ``run.json`` and ``log.jsonl`` are looked for beside it, and
            then in the folder of the model that the predictions name.
        predictions: The prediction files by variant, whose first line is read where there is no
            ``run.json``.

    Raises:
        SgdxError: A file is malformed.
    """
    record = _read_object(scores.parent / "run.json")
    metadata = _object_at(record, "evaluation") or _read_metadata(predictions)
    for key in ("tracker", "model"):
        if not isinstance(metadata.get(key) or "", str):
            found = f"the {key} of its predictions is {metadata[key]!r}"
            raise SgdxError(f"{scores}: {found}, expected a text")
    model = Path(str(metadata.get("model") or scores.parent))
    training = record if "record" in record else _read_object(model / "run.json")
    recipe = _object_at(training, "record")
    return RunRecord(
        metadata,
        _object_at(recipe, "settings"),
        _read_logs(scores.parent) or _read_logs(model),
    )


def _read_logs(folder: Path) -> dict[str, list[LogLine]]:
    """The lines of ``log.jsonl`` in a folder and in those of the sub-models, by sub-model."""
    logs = {"": folder / "log.jsonl"}
    logs |= {log.parent.name: log for log in sorted(folder.glob("*/log.jsonl"))}
    return {name: read_log(log.parent) for name, log in logs.items() if log.is_file()}


def _read_metadata(predictions: Mapping[str, Path]) -> dict[str, Any]:
    """What the first prediction file states about itself; {} where it states nothing."""
    path = next(iter(predictions.values()), None)
    return read_header(path) if path is not None else {}


def read_header(path: Path) -> dict[str, Any]:
    """What a prediction file states about itself; {} where it states nothing, or is a folder.

    Raises:
        SgdxError: Its first line begins as one of metadata does, and is none.
    """
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        line = file.readline()
    return parse_header(line, dict[str, Any], path) or {}


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; {} where the file is not there."""
    if not path.is_file():
        return {}
    return parse_json(read_file(path), dict[str, Any], str(path), "a JSON object")


def _object_at(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key of a record; {} where there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}
