"""What a built repository says of itself: the dataset card, and the leaderboards of ``eval.yaml``.

The Hub makes leaderboards of the results of models: ``eval.yaml`` of the dataset's repository names
them. A model's repository has its results in ``.eval_results/*.yaml``, which name the dataset and
the leaderboard (https://huggingface.co/docs/hub/eval-results). An ``eval.yaml`` has to name one of
the Hub's frameworks. It is inspect-ai here, whose ``inspect eval hf/YOU/sgdx`` reads the file too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import datasets
import yaml
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCardData

from .configs import SPLITS, VARIANTS
from .push import addressed
from .release import Release
from .source import CITATION, COMMIT

_TEMPLATE = Path(__file__).with_name("card.md")
FILE = "-00000-of-00001.parquet"  # ends the name of a split's file
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


class Corpus(NamedTuple):
    """What a card says of the data in general; ``license`` is the Hub's name of a licence."""

    name: str
    about: str
    license: str
    licence: str  # a sentence


_LAYOUT = "in the layout of [SGD and SGD-X](https://arxiv.org/abs/2110.06800)"
_SGD = Corpus(
    "SGD and SGD-X: schema-guided dialogue under six variants of every schema",
    "People talk with an assistant that calls APIs, and the words of every API's schema vary.",
    "cc-by-sa-4.0",
    "SGD and SGD-X are licensed under CC BY-SA 4.0, and so is this repository.",
)
_PACKAGED = {
    "sample": Corpus(
        "The sample corpus of sgdx: schema-guided dialogue under six variants of every schema",
        f"A small corpus of the project's own, {_LAYOUT}, for demos and tests. **Nothing in it "
        "comes from SGD.** Scores on it show that a program runs, not how good a tracker is.",
        "apache-2.0",
        "The sample corpus is the project's own work, under Apache-2.0, and so is this repository.",
    ),
    "many": Corpus(
        "The services of sgdx: dialogues with made-up APIs, under variants of every schema",
        f"A corpus of the project's own, {_LAYOUT}, with APIs of other kinds than those of SGD. "
        "**Nothing in it comes from SGD.** A language model wrote the dialogues.",
        "cc-by-4.0",
        "The corpus is the project's own work, under CC BY 4.0, and so is this repository.",
    ),
}
_OTHER = Corpus(
    "Schema-guided dialogue in the layout of SGD",
    f"A corpus {_LAYOUT}. **It is not SGD.**",
    "unknown",
    "The licence of this corpus is not known to the program that built the repository: state it.",
)


def corpus_of(release: Release) -> Corpus:
    """What a release is."""
    if release.source in _PACKAGED:
        return _PACKAGED[release.source]
    return _SGD if release.is_sgd() else _OTHER


def write_card(
    release: Release, folder: Path, infos: dict[str, datasets.DatasetInfo], repo_id: str
) -> None:
    """Write the dataset card, ``README.md``, of a repository."""
    corpus, template = corpus_of(release), _TEMPLATE.read_text(encoding="utf-8")
    for part, is_there in {"SGD": corpus is _SGD, "backtrans": "backtrans" in infos}.items():
        kept = r"\1" if is_there else ""
        template = re.sub(rf"<!-- of {part} -->\n(.*?)<!-- end -->\n", kept, template, flags=re.S)
    text = Template(template).substitute(
        name=corpus.name,
        about=corpus.about,
        licence=corpus.licence,
        repo_id=repo_id,
        splits=_splits(infos),
        completeness=_completeness(release),
        source=f"`{Path(release.name).name}`",
        fingerprint=release.fingerprint,
        commit=COMMIT,
        citation=CITATION,
    )
    (folder / "README.md").write_text(
        f"---\n{_yaml(corpus, infos)}\n---\n\n{addressed(text)}", "utf-8"
    )


def _yaml(corpus: Corpus, infos: dict[str, datasets.DatasetInfo]) -> str:
    made: dict[str, Any] = {}
    if corpus is _SGD:  # people wrote the utterances, a simulator made the states
        made["annotations_creators"] = ["machine-generated"]
        made["language_creators"] = ["crowdsourced", "machine-generated"]
    dialogues = sum(split.num_examples for split in infos["original"].splits.values())
    card = DatasetCardData(
        pretty_name=corpus.name,
        license=corpus.license,
        language=["en"],
        task_categories=["text-generation"],
        task_ids=["dialogue-modeling", "dialogue-generation"],
        tags=["dialogue-state-tracking", "task-oriented-dialogue", "robustness", "tool-calling"],
        size_categories=[_size(dialogues)],
        **made,
        source_datasets=["original"],
    )
    configs: dict[str, dict[str, Any]] = {
        config: {
            "data_files": [
                {"split": split, "path": f"data/{config}/{split}{FILE}"} for split in info.splits
            ],
            **({"default": True} if config == "original" else {}),
        }
        for config, info in infos.items()
    }
    # The questions of all five variants, of the same files.
    parts = [f"{variant}-questions" for variant in VARIANTS]
    if infos.keys() >= {*parts}:
        files = [f"data/{part}/test{FILE}" for part in parts]
        configs["v1-5-questions"] = {"data_files": [{"split": "test", "path": files}]}
    MetadataConfigs(configs).to_dataset_card_data(card)
    DatasetInfosDict(infos).to_dataset_card_data(card)
    return card.to_yaml()


def _size(rows: int) -> str:
    """The Hub's name for a number of rows.

    >>> _size(121), _size(22_825)
    ('n<1K', '10K<n<100K')
    """
    steps = ["1K", "10K", "100K", "1M", "10M"]
    above = [step for number, step in enumerate(steps) if rows >= 10 ** (number + 3)]
    return f"{above[-1]}<n<{steps[len(above)]}" if above else "n<1K"


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


def write_leaderboards(release: Release, tested: Collection[str], folder: Path) -> None:
    """Write ``eval.yaml``, if all six variants of a leaderboard are tested."""
    if not {"original", *VARIANTS}.issubset(tested):
        return
    corpus = corpus_of(release)
    title = "SGD-X" if corpus is _SGD else corpus.name.partition(":")[0]
    benchmark = {
        "name": f"{title}: dialogue state tracking under reworded schemas",
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
