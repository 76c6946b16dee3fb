"""Track and score the sample corpus that comes with the project, without torch or a download.

The lexical tracker predicts the sample's test split under the original schemas and their five
rewordings; the predictions are scored and the table of scores is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .command_line import run_command
from .data.requested import Data
from .evaluate import evaluate
from .lexical.tracker import LexicalTracker
from .predict import DEFAULT_CONFIGS, Request

_NEXT = """
These are {frames} frames of the project's own sample corpus, tracked without learning: the figures
show how the table reads, not how good a tracker is. Next, on SGD itself (PATH: a directory or
archive of the release, or the word download; later commands remember it):

  python -m sgdx_dataset prepare --source PATH             # then load_dataset("sgdx", "v3") works
  python -m baselines.evaluate --tracker lexical --output outputs/lexical
"""


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.demo", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("outputs/demo"),
        help="folder for predictions, scores.json and run.json; default: outputs/demo",
    )
    output = parser.parse_args().output
    kind = LexicalTracker
    request = Request(kind, kind.NAME, kind.OPTIONS(), Data("sample", "test"), DEFAULT_CONFIGS)
    if status := run_command("baselines.demo", lambda: evaluate(request, output)):
        return status
    with (output / "predictions" / "original.jsonl").open("rb") as file:
        frames = sum(1 for _ in file) - 1
    print(_NEXT.format(frames=frames))
    return 0


if __name__ == "__main__":
    sys.exit(main())
