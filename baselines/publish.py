"""Write the card of a trained model, or push a model or a report to the Hub: ``sgdx publish``."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from cyclopts import Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged

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


def publish(
    *,
    model: Annotated[Path | None, Parameter(metavar="RUN")] = None,
    report: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    push_to_hub: Annotated[str | None, Parameter(metavar="REPO")] = None,
    output: Path | None = None,
    benchmark: Annotated[str | None, Parameter(metavar="REPO")] = None,
) -> None:
    """Write a model's card, or push a model or a report to the Hub.

    The card is RUN/README.md: how to use the model, its scores, and how it was trained. The scores
    are those of RUN/scores.json, which 'sgdx evaluate --model RUN --output RUN' writes.

    A tracker is pushed with its scores in .eval_results/sgdx.yaml; the Hub puts them on the
    leaderboards of a dataset (--benchmark). A report is pushed as a Space that shows its page.
    Pushing needs an access token, from 'hf auth login' or in $HF_TOKEN.

    Parameters
    ----------
    model
        Write the card of the model in this folder of 'sgdx train'.
    report
        Push this folder of 'sgdx report'.
    push_to_hub
        Push to this repository, YOU/NAME. It is created if it does not exist.
    output
        Write what would be pushed into this new folder, and push nothing.
    benchmark
        Name this dataset repository, which 'sgdx push' makes, in the card, and put the scores of a
        pushed tracker on its leaderboards. Default: sgdx of the owner of --push-to-hub.
    """
    if (model is None) == (report is None):
        raise SgdxError("found neither --model nor --report or both, expected one of them")
    if report and not (push_to_hub or output):
        raise SgdxError("--report: found no --push-to-hub, expected YOU/NAME to push it to")
    if output and push_to_hub:
        raise SgdxError("found both --output and --push-to-hub, expected one of them")
    if model:
        print(publish_model(model, push_to_hub, benchmark, output) or model / "README.md")
    elif report:
        print(publish_report(report, push_to_hub, output))


def publish_model(
    run: Path, repository: str | None, benchmark: str | None = None, shown: Path | None = None
) -> str | Path | None:
    """Write the model card of a run, then push the model, or write what would be pushed."""
    if not run.is_dir():
        raise SgdxError(f"{run}: no such folder, expected one of 'sgdx train'")
    from .model_card import Card
    from .system import get_trainable, recorded_name

    system_class = get_trainable(recorded_name(str(run)))
    owner = repository.split("/")[0] if repository else "YOU"
    card = Card(run, system_class, benchmark or f"{owner}/sgdx")
    if repository and card.settings.get("prefix") and not card.run.get("pretrained_commit"):
        raise SgdxError(
            f"{run}: holds a prefix for the model {card.settings['model']}, expected one for a "
            "model on the Hub: whoever loads a prefix from the Hub needs that model too"
        )
    address = repository or str(run)
    card.write(address, system_class.example(address, card.settings))
    files = published(run, system_class.SETTINGS.TASKS)
    if shown:
        return _written(run, files, shown)
    if repository is None:
        return None
    from sgdx_dataset.push import upload

    card.write_eval_results(repository)
    return upload(
        run,
        repository,
        "model",
        only=published(run, system_class.SETTINGS.TASKS),  # with the scores of the leaderboards
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


def _written(folder: Path, files: Sequence[str], output: Path) -> Path:
    """A new folder with copies of some files of another."""
    if output.exists():
        raise SgdxError(f"{output}: is there already, expected a new folder")
    with staged(output) as staging:
        for name in files:
            (staging / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, staging / name)
    return output


def publish_report(folder: Path, repository: str | None, shown: Path | None = None) -> str | Path:
    """Push a report to the Hub as a static Space, which shows its page, or write what would be."""
    if not (folder / "index.html").is_file():
        raise SgdxError(f"{folder}: holds no index.html, expected a folder of 'sgdx report'")
    own = (*_REPORT, *_RESULTS, "README.md")
    found = [file for kind in (*_REPORT, *_RESULTS) for file in folder.glob(kind)]
    with TemporaryDirectory() as temporary:
        page = _written(
            folder, [str(file.relative_to(folder)) for file in found], Path(temporary) / "page"
        )
        (page / "README.md").write_text(_REPORT_CARD, encoding="utf-8")
        if shown or repository is None:
            names = [str(file.relative_to(page)) for file in page.rglob("*") if file.is_file()]
            return _written(page, names, shown or folder)
        from sgdx_dataset.push import upload

        return upload(
            page, repository, "space", own=own, mark="index.html", message="Report", sdk="static"
        )
