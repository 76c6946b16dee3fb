"""Commands of sgdx in one process, in which XLA compiles each program once and no model drops out.

The argument is JSON, a list of commands. One that begins with ["until", STEP] is a training that is
broken off before that step, if it has so many.
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
    until, words = (int(words[1]), words[2:]) if words[0] == "until" else (None, words)
    step, set_mode = loop.Training.step, nn.Module.train

    def step_or_end(training: Any, batches: Any) -> None:
        if training.progress.step == until:
            raise SgdxError("broken off")
        step(training, batches)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Training, "step", step_or_end)
        patch.setattr(nn.Module, "train", lambda part, mode=True: set_mode(part, False))
        patch.setattr(sys, "argv", ["sgdx", *words])
        assert main(words) in (0, 2 if until else 0)


if __name__ == "__main__":
    for command in json.loads(sys.argv[1]):
        run(command)
