"""What a built repository says of itself: the dataset card, and the leaderboards of ``eval.yaml``.

The Hub makes leaderboards of the results of models: ``eval.yaml`` of the dataset's repository names
them. A model's repository has its results in ``.eval_results/*.yaml``, which name the dataset and
the leaderboard (https://huggingface.co/docs/hub/eval-results). An ``eval.yaml`` may name one of the
Hub's frameworks as the one that makes the results; sgdx is not among them, so none is named.
"""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import datasets
import yaml
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData

from .configs import SPLITS, VARIANTS
from .release import Release
from .source import CITATION, COMMIT

_TEMPLATE = Path(__file__).with_name("card.md")
_SCORED = ("original", *VARIANTS)
# The leaderboards of trackers: the config of each, or None where a figure is of all six.
LEADERBOARDS: dict[str, str | None] = {
    "jga_v1-5": None,
    "jga_worst": None,
    **{f"jga_{config}": config for config in _SCORED},
}
_DESCRIPTION = """\
Does a dialogue state tracker still work when somebody else words the API's schema? Joint goal
accuracy in percent on the test split, as sgdx_metric scores it: jga_v1-5 is the mean under the five
reworded schemas v1 to v5, jga_worst the mean of each frame's score under the variant (the original
or v1 to v5) that is worst for it, and the others are under one variant each. Train on the original
schemas: a model that was trained on v1 to v5 is an oracle and says so in its notes. The notes also
say where the score is of a part of the data."""


def write_card(
    release: Release, folder: Path, infos: dict[str, datasets.DatasetInfo], repo_id: str
) -> None:
    """Write the dataset card, ``README.md``, of a repository."""
    text = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        repo_id=repo_id,
        splits=_splits(infos),
        completeness=_completeness(release),
        source=f"`{Path(release.name).name}`",
        fingerprint=release.fingerprint,
        commit=COMMIT,
        citation=CITATION,
    )
    (folder / "README.md").write_text(f"---\n{_yaml(infos)}\n---\n\n{text}", encoding="utf-8")


def _yaml(infos: dict[str, datasets.DatasetInfo]) -> str:
    card = DatasetCardData(
        pretty_name="SGD and SGD-X: schema-guided dialogue under six variants of every schema",
        license="cc-by-sa-4.0",
        language=["en"],
        task_categories=["text-generation"],
        tags=["dialogue-state-tracking", "task-oriented-dialogue", "robustness", "tool-calling"],
        size_categories=["10K<n<100K"],
        annotations_creators=["machine-generated"],
        source_datasets=["original"],
    )
    configs = {
        config: {
            "data_files": [
                {"split": split, "path": f"data/{config}/{split}-*.parquet"}
                for split in info.splits
            ],
            **({"default": True} if config == "original" else {}),
        }
        for config, info in infos.items()
    }
    MetadataConfigs(configs).to_dataset_card_data(card)
    DatasetInfosDict(infos).to_dataset_card_data(card)
    return card.to_yaml()


def _splits(infos: dict[str, datasets.DatasetInfo]) -> str:
    """A Markdown table of the number of dialogues in each config and split."""
    lines = [f"| config | {' | '.join(SPLITS)} |", "|---|---|---|---|"]
    for config, info in infos.items():
        counts = [f"{info.splits[s].num_examples:,}" if s in info.splits else "–" for s in SPLITS]
        lines.append(f"| `{config}` | {' | '.join(counts)} |")
    return "\n".join(lines)


def _completeness(release: Release) -> str:
    """A sentence that says whether this is all of SGD, a part of it, or another corpus."""
    if not release.is_sgd():
        return "This is not the SGD release: it was built from another corpus in its layout."
    if lacking := release.missing():
        return (
            f"**This is a partial copy of the release: {lacking}.**\nFigures computed from it are"
            " comparable with each other, not with published tables."
        )
    return "All files of the release are here: 16,142 train, 2,482 dev and 4,201 test dialogues."


def write_leaderboards(release: Release, folder: Path) -> None:
    """Write ``eval.yaml``, if the release has a test split under the schemas of a leaderboard."""
    scored = {config for config in release.configs() if "test" in release.splits(config)}
    tasks: list[dict[str, Any]] = []
    for name, config in LEADERBOARDS.items():
        if not scored.issuperset([config] if config else _SCORED):
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
