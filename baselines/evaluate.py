"""Predict under every variant of the schemas, and score the result: ``sgdx evaluate``."""

from __future__ import annotations

import sys
from pathlib import Path

from sgdx_eval.inputs import Inputs
from sgdx_eval.prediction_files import versions
from sgdx_eval.score import score
from sgdx_eval.tasks import TASKS
from sgdx_eval.tasks.turns import Turns

from .command_line import door
from .predict import Request, predict
from .training.run_folder import read_json, write_json


def evaluate(request: Request, output: Path, quiet: bool = False, explain: bool = False) -> None:
    """Write predictions, and let the first process score them."""
    path = output / "run.json"  # which a training may have left
    record = read_json(path) if path.exists() else {}
    if not predict(request, output / "predictions"):
        return
    data = request.data
    facts = {
        "release": data.release.version(),
        "configs": list(request.configs),
        "versions": versions(),
    }
    write_json(path, {**record, "evaluation": facts})
    inputs = Inputs(
        {config: output / "predictions" / f"{config}.jsonl" for config in request.configs},
        data.split,
        data.source,
        own_variants=data.variants,
        dialogues=None if data.limit else data.dialogues,
    )
    task = Turns() if request.system_class.ROWS == "turns" else TASKS["state"]
    score(task, inputs, output / "scores.json", verbose=not quiet, details=explain)
    if quiet:
        print(output / "scores.json")


main = door("evaluate")

if __name__ == "__main__":
    sys.exit(main())
