"""``python -m baselines.demo``: the main job on the shipped sample, without torch or a download.

Prepares the sample corpus, tracks its test split under the original schemas and the five
rewordings with the lexical floor, scores what came out and prints the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgdx_dataset import VARIANTS
from sgdx_metric.__main__ import main as metric

from .lexical.predict import predict_configs

_NEXT = """
These are {frames} frames of the project's own sample corpus, tracked without learning: the figures
show how the table reads, not how good a tracker is. Next, on SGD itself (a copy of the release as
a directory or archive; without --source it is downloaded):

  python -m sgdx_dataset prepare --source PATH             # then load_dataset("sgdx", "v3") works
  python -m baselines.lexical.predict --source PATH --output outputs/lexical
  python -m sgdx_metric score --source PATH --output outputs/lexical/scores.json \\
{predictions}
"""


def main() -> int:
    """Run the demo; the exit status of its commands."""
    parser = argparse.ArgumentParser("python -m baselines.demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("outputs/demo"))
    output = parser.parse_args().output
    configs = ["original", *VARIANTS]
    paths = predict_configs(configs, "test", "sample", output)
    predictions = [f"--predictions={config}={path}" for config, path in paths.items()]
    scores = f"--output={output / 'scores.json'}"
    if status := metric(["score", "--source=sample", "--split=test", *predictions, scores]):
        return status
    arguments = [f"      --predictions {c}=outputs/lexical/{c}.jsonl" for c in configs]
    with paths["original"].open("rb") as file:
        frames = sum(1 for _ in file) - 1
    print(_NEXT.format(frames=frames, predictions=" \\\n".join(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
