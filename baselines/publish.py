"""Write the card of a trained model, or push a model or a report to the Hub: ``sgdx publish``."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sgdx_dataset import SgdxError
from sgdx_dataset.push import upload

from .model_card import Card
from .system import get_trainable, recorded_name

# The files of a run folder that are published: the model, its code, card, record and scores.
_PUBLISHED = (
    "*.json", "*.safetensors", "*.py", "README.md", "log.jsonl", "*.model", "*.txt",
    ".eval_results/*.yaml",
)  # fmt: skip
# What only --resume needs: the networks that a generator's prefix was made by.
_NOT_PUBLISHED = ("prefix_networks.safetensors",)
# A report, and what may lie beside it in a folder of results: how the model was trained and scored.
_REPORT = ("index.html", "report.md", "errors.jsonl", "figures/*")
_RESULTS = ("recipe.yaml", "run.json", "log.jsonl", "scores.json")
_REPORT_CARD = """---
title: Dialogue systems under reworded schemas
emoji: 📐
colorFrom: green
colorTo: blue
sdk: static
app_file: index.html
pinned: false
tags: [schema-guided-dialogue, sgd, sgd-x]
---

A report of `sgdx report`: `index.html` is the page, `report.md` the same as
Markdown. Utterances in it are from SGD (Rastogi et al. 2020), under CC BY-SA 4.0, or from the
sample corpus of sgdx, under Apache-2.0.
"""


def publish(output: Path, repository: str | None, benchmark: str | None = None) -> str | None:
    """Write the model card of a run and, if a repository is given, push the model to it."""
    system_class = get_trainable(recorded_name(str(output)))
    card = Card(output, system_class)
    if repository and card.settings.get("prefix") and not card.run.get("pretrained_commit"):
        raise SgdxError(
            f"{output}: holds a prefix for the model {card.settings['model']}, expected one for a "
            "model on the Hub: whoever loads a prefix from the Hub needs that model too"
        )
    address = repository or str(output)
    card.write(address, system_class.example(address, card.settings))
    if repository is None:
        return None
    of_owner = "/".join([*repository.split("/")[:-1], "sgdx"])
    card.write_eval_results(repository, benchmark or of_owner)
    return upload(
        output,
        repository,
        "model",
        only=published(output, system_class.TASKS),
        own=_PUBLISHED,
        mark="run.json",  # the record of a training is in every model that was pushed from here
        message="Add model",
    )


def published(output: Path, tasks: Sequence[str] = ("",)) -> list[str]:
    """Names of a run's files that are published, relative to the run folder."""
    folders = dict.fromkeys([output, *(output / task for task in tasks)])
    files = (file for folder in folders for kind in _PUBLISHED for file in folder.glob(kind))
    public = (file for file in files if file.name not in _NOT_PUBLISHED)
    return sorted(file.relative_to(output).as_posix() for file in public)


def publish_report(folder: Path, repository: str) -> str:
    """Push a report to the Hub as a static Space, which shows its page."""
    if not (folder / "index.html").is_file():
        raise SgdxError(f"{folder}: holds no index.html, expected a folder of 'sgdx report'")
    own = (*_REPORT, *_RESULTS, "README.md")
    with TemporaryDirectory() as temporary:
        page = Path(temporary)
        for file in [file for kind in (*_REPORT, *_RESULTS) for file in folder.glob(kind)]:
            target = page / file.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, target)
        (page / "README.md").write_text(_REPORT_CARD, encoding="utf-8")
        return upload(
            page, repository, "space", own=own, mark="index.html", message="Report", sdk="static"
        )
