"""The leaderboards of a dataset repository, which the Hub makes of the results of models.

``eval.yaml`` of the dataset's repository names them. A model's repository has its results in
``.eval_results/*.yaml``, which name the dataset and the leaderboard
(https://huggingface.co/docs/hub/eval-results). The Hub has a list of frameworks that an
``eval.yaml`` may name as the one that makes the results; sgdx is not in it, so none is named.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ..configs import VARIANTS
from ..release.release import Release

_VARIANTS = ("original", *VARIANTS)
# The leaderboards of trackers: the config of each, or None where a figure is of all six.
LEADERBOARDS: dict[str, str | None] = {
    "jga_v1-5": None,
    "jga_worst": None,
    **{f"jga_{config}": config for config in _VARIANTS},
}
_DESCRIPTION = """\
Does a dialogue state tracker still work when somebody else words the API's schema? Joint goal
accuracy in percent on the test split, as sgdx_metric scores it: jga_v1-5 is the mean under the five
reworded schemas v1 to v5, jga_worst the mean of each frame's score under the variant (the original
or v1 to v5) that is worst for it, and the others are under one variant each. Train on the original
schemas: a model that was trained on v1 to v5 is an oracle and says so in its notes. The notes also
say where the score is of a part of the data."""


def write_benchmark(release: Release, folder: Path) -> None:
    """Write ``eval.yaml``, if the release has a test split under the schemas of a leaderboard."""
    scored = {config for config in release.configs() if "test" in release.splits(config)}
    tasks: list[dict[str, Any]] = []
    for name, config in LEADERBOARDS.items():
        if not scored.issuperset([config] if config else _VARIANTS):
            continue
        tasks.append({"id": name, **({"config": config} if config else {}), "split": "test"})
    if tasks:
        benchmark = {
            "name": "SGD-X: dialogue state tracking under reworded schemas",
            "description": " ".join(_DESCRIPTION.split()),
            "tasks": tasks,
        }
        text = yaml.safe_dump(benchmark, sort_keys=False, width=100)
        (folder / "eval.yaml").write_text(text, encoding="utf-8")
