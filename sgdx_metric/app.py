"""Entry point of the Space, which runs this file as a script: the page of both metrics."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # This folder comes first on the path, and sgdx_metric.py in it would hide the package.
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != folder]
    from sgdx_space.pages import launch

    launch()
