"""What a built repository says of itself: the dataset card, and the leaderboards of ``eval.yaml``.

The Hub makes leaderboards of the results of models: ``eval.yaml`` of the dataset's repository names
them. A model's repository has its results in ``.eval_results/*.yaml``, which name the dataset and
the leaderboard (https://huggingface.co/docs/hub/eval-results). An ``eval.yaml`` has to name one of
the Hub's frameworks. It is inspect-ai here, whose ``inspect eval hf/YOU/sgdx`` reads the file too.
"""

from __future__ import annotations

from collections.abc import Collection
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
# The leaderboards of trackers, and the config with the questions of each.
LEADERBOARDS = {
    "jga_v1-5": "v1-5-questions",
    **{f"jga_{config}": f"{config}-questions" for config in ("original", *VARIANTS)},
}
_DESCRIPTION = """\
Does a dialogue state tracker still work when somebody else words the API's schema? Joint goal
accuracy in percent on the test split, under the original schemas, under each of the reworded ones
(v1 to v5), and as the mean under these five (jga_v1-5). Scores of sgdx_metric are those of the
official scorer, and their notes have its signature. Inspect asks about the same states in plain
text. It counts one as right only if all of it is the same but for case, punctuation and articles,
which is stricter: do not compare the two. Train on the original schemas: a model that was trained
on v1 to v5 is an oracle and says so in its notes. The notes also say where the score is of a part
of the data."""


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
        task_ids=["dialogue-modeling", "dialogue-generation"],
        tags=["dialogue-state-tracking", "task-oriented-dialogue", "robustness", "tool-calling"],
        size_categories=["10K<n<100K"],
        annotations_creators=["machine-generated"],  # by a simulator; people wrote the utterances
        language_creators=["crowdsourced", "machine-generated"],
        source_datasets=["original"],
    )
    configs: dict[str, dict[str, Any]] = {
        config: {
            "data_files": [
                {"split": split, "path": f"data/{config}/{split}-*.parquet"}
                for split in info.splits
            ],
            **({"default": True} if config == "original" else {}),
        }
        for config, info in infos.items()
    }
    # The questions of all five variants, of the same files.
    parts = [f"{variant}-questions" for variant in VARIANTS]
    if infos.keys() >= {*parts}:
        files = [f"data/{part}/test-*.parquet" for part in parts]
        configs["v1-5-questions"] = {"data_files": [{"split": "test", "path": files}]}
    MetadataConfigs(configs).to_dataset_card_data(card)
    DatasetInfosDict(infos).to_dataset_card_data(card)
    return card.to_yaml()


def _splits(infos: dict[str, datasets.DatasetInfo]) -> str:
    """A Markdown table of the number of rows in each config and split."""
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


def write_leaderboards(tested: Collection[str], folder: Path) -> None:
    """Write ``eval.yaml``, if all six variants of a leaderboard are tested."""
    if not {"original", *VARIANTS}.issubset(tested):
        return
    benchmark = {
        "name": "SGD-X: dialogue state tracking under reworded schemas",
        "description": " ".join(_DESCRIPTION.split()),
        "evaluation_framework": "inspect-ai",
        "tasks": [
            {
                "id": name,
                "config": config,
                "split": "test",
                "field_spec": {"input": "question", "target": "answer"},
                "solvers": [{"name": "generate"}],
                "scorers": [{"name": "exact"}],
            }
            for name, config in LEADERBOARDS.items()
        ],
    }
    text = yaml.safe_dump(benchmark, sort_keys=False, width=100)
    (folder / "eval.yaml").write_text(text, encoding="utf-8")
