"""Predict with a tracker or a generator under every wording of the schemas, and score the result.

The output folder then holds predictions/CONFIG.jsonl for each wording, scores.json and run.json. It
may be the folder of a training. In that case baselines.publish shows the scores on the model's
card. To resume a run that was killed, give the same command again.

The responses of a generator are scored by BLEU and slot error rate. SGSAcc needs a model of
entailment: score the predictions again with 'python -m sgsacc_metric score --nli MODEL'.

To predict with several processes: accelerate launch -m baselines.evaluate.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sgdx_metric import score_files as score_states
from sgsacc_metric import score_files as score_responses

from .command_line import run_command
from .predict import Request, parse_request, predict
from .training.run_folder import read_json, versions, write_json


def evaluate(request: Request, output: Path) -> None:
    """Write predictions, and let the first process score them."""
    path = output / "run.json"  # which a training may have left
    record = read_json(path, dict[str, Any], "the record of a run") if path.exists() else {}
    if not predict(request, output / "predictions"):
        return
    data = request.data
    facts = {
        "release": data.release.version(),
        "configs": list(request.configs),
        "versions": versions(),
    }
    write_json(path, {**record, "evaluation": facts})
    score_files = score_responses if request.system_class.ROWS == "turns" else score_states
    score_files(
        {config: output / "predictions" / f"{config}.jsonl" for config in request.configs},
        source=data.source,
        split=data.split,
        own_variants=data.variants,
        dialogues=data.dialogues,
        output=output / "scores.json",
        verbose=True,
    )


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""

    def run() -> None:
        request, output = parse_request(
            "baselines.evaluate", __doc__, "folder for predictions, scores.json and run.json"
        )
        evaluate(request, output)

    return run_command("baselines.evaluate", run)


if __name__ == "__main__":
    sys.exit(main())
