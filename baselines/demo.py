"""Predict and score the sample corpus that comes with the project: ``sgdx demo``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_eval.requested import DEFAULT_CONFIGS, RequestedData

from .command_line import door
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

  sgdx prepare --source PATH
  sgdx evaluate {tracker} --output {run}
"""
_HALF_A_MINUTE = 8  # dialogues, which take onepass so long on two cores


def tracking_demo(
    tracker: str, output: Path, limit: int | None, quiet: bool, explain: bool
) -> None:
    """Track the sample, score the predictions, and say what comes next."""
    model = tracker
    if tracker == "onepass":
        model, limit = str(SHIPPED_MODEL), limit or _HALF_A_MINUTE
        if not SHIPPED_MODEL.is_dir():
            raise SgdxError(
                f"{model}: not there, expected the model that comes with a clone of the repository"
            )
        if not quiet:
            print(f"loading {model}", flush=True)
    system_class = get_system(tracker)
    data = RequestedData("sample", "test", limit=limit)
    request = Request(system_class, model, system_class.OPTIONS(), data, DEFAULT_CONFIGS)
    evaluate(request, output, quiet, explain)
    if quiet:
        return
    with (output / "predictions" / "original.jsonl").open("rb") as file:
        frames = sum(1 for _ in file) - 1
    which = f"--{'tracker' if model == tracker else 'model'} {shlex.quote(model)}"
    print(_NEXT.format(frames=frames, output=output, tracker=which, run=f"outputs/{tracker}"))


main = door("demo")

if __name__ == "__main__":
    sys.exit(main())
