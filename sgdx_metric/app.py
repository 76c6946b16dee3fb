"""Entry point of the Space, which runs this file as a script: the page of both metrics."""

import sys

if __name__ == "__main__":
    # This folder comes first on the path, and sgdx_metric.py in it would hide the package.
    sys.path.append(sys.path.pop(0))
    from sgdx_space.pages import launch, tracking_and_generation

    launch(tracking_and_generation())
