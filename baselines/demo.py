"""Predict and score the sample corpus that comes with the project.

Tracking is the default task. A tracker predicts the sample's test split under the original schemas
and their five rewordings. The predictions are scored, and the scores are printed. The tracker
lexical learns nothing and needs no torch. The tracker onepass is the trained model of
models/onepass, which comes with a clone of the repository.

In the task generation, three systems answer for the system of the dialogue: what the corpus says,
sentences made from the schema's descriptions, and silence. They learn nothing. They are scored in
the same way.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from sgdx_dataset import SgdxError

from .command_line import ParagraphFormatter, run_command
from .data.requested import DEFAULT_CONFIGS, RequestedData
from .evaluate import evaluate
from .predict import Request
from .system import get_system
from .use import SHIPPED_MODEL

_NEXT = """
These are {frames} frames of the project's own sample corpus: the figures show how
the table reads, not how good a tracker is. Predictions, scores.json and run.json
are in {output}.

Next, on SGD itself (PATH: a directory or archive of the release, or the word
download; later commands remember it). Then load_dataset("sgdx", "v3") works:

  python -m sgdx_dataset prepare --source PATH
  python -m baselines.evaluate {tracker} --output {run}
"""


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser(
        "python -m baselines.demo", description=__doc__, formatter_class=ParagraphFormatter
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="Write predictions and scores into this folder. Default: outputs/demo; for onepass, "
        "outputs/demo-onepass.",
    )
    parser.add_argument(
        "--task",
        choices=("tracking", "generation"),
        default="tracking",
        help="Track what the user wants, or generate what the system says. Default: tracking.",
    )
    parser.add_argument(
        "--tracker",
        choices=("lexical", "onepass"),
        default="lexical",
        help="Use this tracker in the task tracking. Default: lexical.",
    )
    options = parser.parse_args()
    trained = options.tracker == "onepass"
    output = options.output or Path("outputs/demo-onepass" if trained else "outputs/demo")
    if options.task == "generation":
        from .copies.demo import demo

        return run_command("baselines.demo", lambda: demo(output))
    return run_command("baselines.demo", lambda: _tracking(options.tracker, output))


def _tracking(tracker: str, output: Path) -> None:
    model = tracker
    if tracker == "onepass":
        model = str(SHIPPED_MODEL)
        if not SHIPPED_MODEL.is_dir():
            raise SgdxError(
                f"{model}: not there, expected the model that comes with a clone of the repository"
            )
    system_class = get_system(tracker)
    data = RequestedData("sample", "test")
    evaluate(Request(system_class, model, system_class.OPTIONS(), data, DEFAULT_CONFIGS), output)
    with (output / "predictions" / "original.jsonl").open("rb") as file:
        frames = sum(1 for _ in file) - 1
    which = f"--{'tracker' if model == tracker else 'model'} {shlex.quote(model)}"
    print(_NEXT.format(frames=frames, output=output, tracker=which, run=f"outputs/{tracker}"))


if __name__ == "__main__":
    sys.exit(main())
