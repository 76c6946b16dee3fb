"""The files of a run: its answers, and the predictions under each wording that has all of them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from baselines.data.prediction_files import finished_names, write_predictions
from baselines.llm.answer_file import AnswerFile
from baselines.llm.functions import Json
from baselines.llm.predictions import AnswerTally
from baselines.llm.usage import Price
from baselines.training.run_folder import versions
from sgdx_dataset import SgdxError

from .answers import read_calls
from .plan import ToolPlan
from .predictions import Prediction


def unfinished_names(plan: ToolPlan, output: Path) -> list[str]:
    """The wordings without predictions in a folder, or with others than would be made."""
    finished = finished_names(output, {name: plan.header(name) for name in plan.names})
    return [name for name in plan.names if name not in finished]


def write_run(
    plan: ToolPlan, answers: AnswerFile, output: Path, price: Price | None = None
) -> dict[str, Json]:
    """Write the predictions of every wording whose answers are all there.

    Returns:
        The figures in the header of each file that was written, by wording.
    """
    missing = plan.missing_counts(answers)
    figures = {}
    for name in plan.names:
        if not missing[name]:
            tally = AnswerTally()
            predictions = list(_predictions(plan, name, answers, tally))
            figures[name] = tally.facts(price)
            header = msgspec.structs.replace(
                plan.header(name), counts=figures[name], versions=versions()
            )
            write_predictions(output / f"{name}.jsonl", header, predictions)
    return figures


def _predictions(
    plan: ToolPlan, name: str, answers: AnswerFile, tally: AnswerTally
) -> list[Prediction]:
    predictions = []
    for request in plan.requests_of(name):
        line = answers.get(request.keys[0])
        if line is None:
            raise SgdxError(f"{request.custom_id}: its answer has gone while it was being read")
        reading = read_calls(line["body"])
        tally.add([line], 0, reading.counts)
        repeat = int(request.custom_id.rpartition("|")[2])
        invalid = bool(reading.counts["invalid"])
        case = request.case["id"]
        predictions.append(Prediction(case, name, reading.calls, repeat, invalid))
    return predictions
