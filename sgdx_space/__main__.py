"""The page of both metrics on this machine: ``python -m sgdx_space``."""

import sys

from sgdx_dataset.io.console import run
from sgdx_dataset.io.extras import require


def _serve() -> None:
    require("gradio", "app")
    from .pages import launch, tracking_and_generation

    launch(tracking_and_generation())


if __name__ == "__main__":
    sys.exit(run("sgdx_space", _serve))
