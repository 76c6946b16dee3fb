"""Track a split under every schema variant and score it: `accelerate launch -m baselines.evaluate`.

The folder holds predictions/VARIANT.jsonl, scores.json and run.json then. It may be the run folder
of the training, whose card shows the scores from then on. A run that was killed goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_metric.__main__ import main as metric

from .command_line import run_command
from .predict import Request, parse_request, predict
from .training.run_folder import read_json, versions, write_json


def evaluate(request: Request, output: Path) -> int:
    """Predict into ``output / "predictions"`` and score; the first process scores.

    Returns:
        The exit status of the metric's command, which has said why if it is not 0.

    Raises:
        SgdxError: As ``predict``.
    """
    record = _read_record(output)
    header = predict(request, output / "predictions")
    if header is None:
        return 0
    facts = {
        **header,
        "source": request.source,
        "configs": list(request.configs),
        "versions": versions(),
    }
    write_json(output / "run.json", {**record, "evaluation": facts})
    arguments = [f"--split={request.split}", f"--output={output / 'scores.json'}"]
    arguments += [f"--source={request.source}"] if request.source else []
    for config in request.configs:
        arguments.append(f"--predictions={config}={output / 'predictions' / config}.jsonl")
    return metric(["score", *arguments])


def _read_record(output: Path) -> dict[str, Any]:
    """What ``run.json`` says already, where the folder is that of the training."""
    path = output / "run.json"
    if not path.exists():
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise SgdxError(f"{path}: found {type(found).__name__}, expected an object")
    return found


def main() -> int:
    """Run the command; 0, or 2 after one line that says what is wrong."""

    def run() -> int:
        request, output = parse_request(
            "baselines.evaluate", __doc__, "folder for predictions, scores.json and run.json"
        )
        return evaluate(request, output)

    return run_command("baselines.evaluate", run)


if __name__ == "__main__":
    sys.exit(main())
