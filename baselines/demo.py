"""Track or generate, and score, the sample corpus that comes with the project, without torch.

Tracking, the default: the lexical tracker predicts the sample's test split under the original
schemas and their five rewordings; the predictions are scored and the table of scores is printed.
Generation: three systems that learn nothing (what the corpus says, sentences made of the schema's
descriptions, and silence) answer for the system and are scored in the same way.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .command_line import run_command
from .data.requested import DEFAULT_CONFIGS, RequestedData
from .evaluate import evaluate
from .lexical.tracker import LexicalTracker
from .predict import Request

_NEXT = """
These are {frames} frames of the project's own sample corpus, tracked without
learning: the figures show how the table reads, not how good a tracker is.
Predictions, scores.json and run.json are in {output}.

Next, on SGD itself (PATH: a directory or archive of the release, or the word
download; later commands remember it). Then load_dataset("sgdx", "v3") works:

  python -m sgdx_dataset prepare --source PATH
  python -m baselines.evaluate --tracker lexical --output outputs/lexical
"""


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.demo", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("outputs/demo"),
        help="folder for predictions and scores; default: outputs/demo",
    )
    parser.add_argument(
        "--task",
        choices=("tracking", "generation"),
        default="tracking",
        help="track what the user wants, or generate what the system says; default: tracking",
    )
    options = parser.parse_args()
    output = options.output
    if options.task == "generation":
        return run_command("baselines.demo", lambda: _generation(output))
    kind = LexicalTracker
    request = Request(
        kind, kind.NAME, kind.OPTIONS(), RequestedData("sample", "test"), DEFAULT_CONFIGS
    )
    if status := run_command("baselines.demo", lambda: evaluate(request, output)):
        return status
    with (output / "predictions" / "original.jsonl").open("rb") as file:
        frames = sum(1 for _ in file) - 1
    print(_NEXT.format(frames=frames, output=output))
    return 0


def _generation(output: Path) -> None:
    from .copies.demo import demo

    demo(output)


if __name__ == "__main__":
    sys.exit(main())
