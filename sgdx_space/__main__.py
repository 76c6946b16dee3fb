"""The page on this machine: ``python -m sgdx_space``."""

import argparse
import sys

from sgdx_dataset.io.console import run
from sgdx_dataset.io.extras import require

_HELP = """Serve a page in the browser until Ctrl-C: track dialogues, score predictions, try words
for your own API. The environment variable SGDX_TRACKER names the tracker, as a run folder or a Hub
repository, and GRADIO_SERVER_PORT the port. Nothing is sent anywhere."""


def _serve() -> None:
    argparse.ArgumentParser("python -m sgdx_space", description=_HELP).parse_args()
    require("gradio", "app")
    from .pages import launch

    launch()


if __name__ == "__main__":
    sys.exit(run("sgdx_space", _serve))
