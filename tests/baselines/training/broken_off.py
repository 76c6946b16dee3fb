"""A training that is broken off after its first checkpoint and then resumed, in one process.

``test_processes`` has each of several processes run this module, with the arguments of
``sgdx``, as starting processes takes longer than the training.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from baselines import loop
from sgdx_cli import main
from sgdx_dataset import SgdxError


def run() -> int:
    save = loop.Training.save

    def save_and_end(training: Any) -> None:
        save(training)
        raise SgdxError("broken off")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Training, "save", save_and_end)
        assert main(sys.argv[1:]) == 2
    return main([*sys.argv[1:], "--resume"])


if __name__ == "__main__":
    sys.exit(run())
