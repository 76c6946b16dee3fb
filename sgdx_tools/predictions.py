"""Prediction files of tool calls: one for each wording, in a folder.

A line is ``{"id": CASE, "variant": WORDING, "calls": [{"name", "arguments"}]}``, in the wording's
names; ``calls`` is ``[]`` where none was made. ``repeat`` counts runs from 1 where a case was asked
several times. ``invalid`` is true where an answer could not be read. The first line may be a
header.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json
from sgdx_eval.headers import Header, check_header, parse_header

from .data import ToolSet

ANSWERS = "answers.jsonl"  # what a run keeps beside its predictions


class MadeCall(msgspec.Struct, frozen=True):
    """A call that was made.

    Attributes:
        name: The tool's name under the wording; any text.
        arguments: The arguments; what is no object is wrong.
    """

    name: str
    arguments: Any = {}


class Prediction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The calls that were made in a case under a wording.

    Attributes:
        id: The case's id.
        variant: The wording's name.
        calls: The calls, in any order.
        repeat: Which run it is of, from 1.
        invalid: Whether the answer could not be read; it counts as one that makes no call.
    """

    id: str
    variant: str
    calls: tuple[MadeCall, ...]
    repeat: int = 1
    invalid: bool = False


class PredictionFile(msgspec.Struct, frozen=True):
    """The predictions under one wording.

    Attributes:
        header: What the file says of itself.
        predictions: For each run, the prediction of each case by its id.
    """

    header: Header
    predictions: Sequence[Mapping[str, Prediction]]


def read_predictions(folder: Path, tool_set: ToolSet) -> dict[str, PredictionFile]:
    """Read a folder of predictions: for each wording of the tools that has a file, its predictions.

    Raises:
        SgdxError: A file is malformed or of no wording; a case is missing, there twice or unknown.
    """
    if not folder.is_dir():
        raise SgdxError(f"{folder}: found no folder, expected one with WORDING.jsonl")
    files = {path.stem: path for path in sorted(folder.glob("*.jsonl")) if path.name != ANSWERS}
    if unknown := sorted(files.keys() - tool_set.wordings):
        names = ", ".join(tool_set.wordings)
        raise SgdxError(f"{files[unknown[0]]}: no such wording in {tool_set.path}: it has {names}")
    if not files:
        raise SgdxError(
            f"{folder}: found no predictions, expected {next(iter(tool_set.wordings))}.jsonl"
        )
    ids = [case.id for case in tool_set.cases]
    return {
        name: read_prediction_file(files[name], name, ids)
        for name in tool_set.wordings
        if name in files
    }


def read_prediction_file(path: Path, variant: str, ids: Iterable[str]) -> PredictionFile:
    """Read the predictions under one wording.

    Args:
        path: The file.
        variant: The wording's name.
        ids: The ids of all cases.

    Raises:
        SgdxError: As for ``read_predictions``.
    """
    header = Header()
    predictions = []
    for number, line in enumerate(read_input(path).splitlines(), 1):
        where = f"{path}:{number}"
        if number == 1 and (stated := parse_header(line, path)) is not None:
            header = stated
            check_header(header, path, variant=variant)
        elif line.strip():
            prediction = parse_json(line, Prediction, where, "a prediction")
            if prediction.variant != variant:
                raise SgdxError(f"{where}: variant is {prediction.variant!r}, expected {variant!r}")
            predictions.append((where, prediction))
    return PredictionFile(header, _runs(predictions, set(ids), str(path)))


def predictions_from_rows(rows: Iterable[Any], tool_set: ToolSet) -> dict[str, PredictionFile]:
    """Predictions of several wordings from rows, such as dicts.

    Raises:
        SgdxError: As for ``read_predictions``.
    """
    predictions: dict[str, list[tuple[str, Prediction]]] = {}
    for number, row in enumerate(rows, 1):
        where = f"predictions: row {number}"
        try:
            prediction = msgspec.convert(row, Prediction, from_attributes=True)
        except msgspec.ValidationError as error:
            raise SgdxError(f"{where}: {error}") from None
        if prediction.variant not in tool_set.wordings:
            raise SgdxError(f"{where}: found no wording {prediction.variant!r} in {tool_set.path}")
        predictions.setdefault(prediction.variant, []).append((where, prediction))
    if not predictions:
        raise SgdxError("predictions: found no rows, expected one for each case")
    ids = {case.id for case in tool_set.cases}
    return {
        name: PredictionFile(Header(), _runs(predictions[name], ids, f"predictions for {name}"))
        for name in tool_set.wordings
        if name in predictions
    }


def _runs(
    predictions: Iterable[tuple[str, Prediction]], ids: set[str], whose: str
) -> list[dict[str, Prediction]]:
    """The predictions of each run by case, each of which must be there once in every run.

    Args:
        predictions: Predictions, each with what an error message about it begins with.
        ids: The ids of all cases.
        whose: What an error message about all of them begins with.
    """
    runs: dict[int, dict[str, Prediction]] = {}
    for where, prediction in predictions:
        if prediction.id not in ids:
            raise SgdxError(f"{where}: found case {prediction.id!r}, which is not in the cases")
        run = runs.setdefault(prediction.repeat, {})
        if prediction.id in run:
            raise SgdxError(f"{where}: found case {prediction.id!r} twice, expected it once")
        run[prediction.id] = prediction
    if sorted(runs) != list(range(1, len(runs) + 1)) or not runs:
        raise SgdxError(f"{whose}: found the repeats {sorted(runs)}, expected 1, 2, and so on")
    for repeat, run in sorted(runs.items()):
        if len(run) < len(ids):
            of_run = f" of repeat {repeat}" if len(runs) > 1 else ""
            missing = ids - run.keys()
            raise SgdxError(
                f"{whose}: {len(missing)} of {len(ids)} cases{of_run} are missing, the first is"
                f" {min(missing)}"
            )
    return [runs[repeat] for repeat in sorted(runs)]
