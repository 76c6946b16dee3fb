"""Reading predictions: a JSON Lines file of utterances for each variant."""

from pathlib import Path

from sgdx_dataset.io.json import decode_json
from sgdx_eval.headers import read_prediction_lines
from sgdx_eval.predictions import Predictions
from sgdx_metric.rows import ScoreError
from sgsacc_metric.rows import Prediction


def read_predictions(path: Path, split: str, variant: str) -> Predictions[list[Prediction]]:
    """Read one variant's predictions."""
    file = read_prediction_lines(path, split=split, variant=variant)
    rows = []
    for number, line in file.numbered():
        row = decode_json(line, Prediction, f"{path}:{number}", "a prediction row")
        if row.variant != variant:
            raise ScoreError(f"{path}:{number}: variant is '{row.variant}', not '{variant}'")
        rows.append(row)
    return Predictions(rows, file.header)


def dialogues_of(rows: list[Prediction]) -> set[str]:
    """The ids of the dialogues that rows belong to."""
    return {row.turn_id.rpartition("/")[0] for row in rows}
