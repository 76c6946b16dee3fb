"""Commands of sgdx in one process, in which XLA compiles each program once and no model drops out.

The argument is JSON, a list of commands. One that begins with ["until", STEP] is a training that is
broken off before that step; after ["end", STEP], each of its models has had its last step by then.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from torch import nn

from baselines import loop
from sgdx_cli import main
from sgdx_dataset import SgdxError


def run(words: list[str]) -> None:
    """Run a command, which must end as it should."""
    how, last = "", -1
    if words[0] in ("until", "end"):
        (how, last), words = (words[0], int(words[1])), words[2:]
    step, set_mode = loop.Training.step, nn.Module.train

    def step_or_end(training: Any, batches: Any) -> None:
        if training.progress.step != last:
            step(training, batches)
        elif how == "end":
            training.progress.step = training.settings.steps
        else:
            raise SgdxError("broken off")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Training, "step", step_or_end)
        patch.setattr(nn.Module, "train", lambda part, mode=True: set_mode(part, False))
        patch.setattr(sys, "argv", ["sgdx", *words])
        assert main(words) == (2 if how == "until" else 0)


if __name__ == "__main__":
    for command in json.loads(sys.argv[1]):
        run(command)
