"""Write the card of a trained model, or push a model or a report to the Hub: ``sgdx publish``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.options import UploadOptions

# The files of a run folder that are published: the model, its code, record and scores.
_PUBLISHED = (
    "config.json", "generation_config.json", "run.json", "log.jsonl", "scores.json",
    "*.safetensors", "*.safetensors.index.json", "*.py", "tokenizer*.json", "*.model",
    "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt",
)  # fmt: skip
# A report, and what may lie beside it in a folder of results: how the model was trained and scored.
_REPORT = (
    "index.html", "report.md", "errors.jsonl", "figures/*",
    "recipe.yaml", "run.json", "log.jsonl", "scores.json",
)  # fmt: skip
_REPORT_CARD = """---
title: Dialogue systems under reworded schemas
emoji: 📐
colorFrom: green
colorTo: blue
sdk: static
app_file: index.html
pinned: false
license: {license}
tags: {tags}
---

A report of `sgdx report`: `index.html` is the page, `report.md` the same as
Markdown. Utterances in it are from {corpus}.
"""
_TAGS = "[schema-guided-dialogue, sgd, sgd-x]"
# What a report has utterances of.
_CORPORA = {
    "cc-by-sa-4.0": "SGD (Rastogi et al. 2020), under CC BY-SA 4.0",
    "apache-2.0": "the corpora of sgdx, under Apache-2.0; nothing in it is from SGD",
}
HERE = UploadOptions()


def publish(
    *,
    model: Annotated[Path | None, Parameter(metavar="RUN")] = None,
    report: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    push_to_hub: Annotated[str | None, Parameter(metavar="REPO")] = None,
    benchmark: Annotated[str | None, Parameter(metavar="REPO")] = None,
    upload: UploadOptions = HERE,
) -> None:
    """Write a model's card, or push a model or a report to the Hub.

    Without --push-to-hub and --output, the card is written to RUN/README.md: how to use the model,
    its scores, and how it was trained. The scores are those of RUN/scores.json, which
    'sgdx evaluate --model RUN --output RUN' writes.

    A tracker is pushed with its scores in .eval_results/sgdx.yaml; the Hub puts them on the
    leaderboards of a dataset (--benchmark). A report is pushed as a Space that shows its page.
    Pushing needs an access token, from 'hf auth login' or in $HF_TOKEN. Only files that came from
    here, and that nobody has changed there, are replaced.

    Parameters
    ----------
    model
        Publish the model in this folder of 'sgdx train'.
    report
        Push this folder of 'sgdx report'.
    push_to_hub
        Push to this repository, YOU/NAME. It is created if it does not exist.
    benchmark
        Name this dataset repository, which 'sgdx push' makes, in the card, and put the scores of a
        pushed tracker on its leaderboards. Default: sgdx of the owner of --push-to-hub.
    """
    if (model is None) == (report is None):
        raise SgdxError("found neither --model nor --report or both, expected one of them")
    if not (push_to_hub or upload.output) and (report or upload != HERE):
        raise SgdxError("found no --push-to-hub, expected YOU/NAME to push to")
    if model and not (push_to_hub or upload.output):
        print(write_card(model, benchmark))
    elif model:
        name = push_to_hub or f"YOU/{model.resolve().name}"
        print(publish_model(model, name, benchmark, upload))
    elif report:
        print(publish_report(report, push_to_hub or "YOU/report", upload))


def write_card(run: Path, benchmark: str | None = None) -> Path:
    """Write the model card of a run into its folder, with an example that uses the folder."""
    from .model_card import Card

    Card(run, benchmark or "YOU/sgdx").write(run, str(run))
    return run / "README.md"


def publish_model(
    run: Path, repository: str, benchmark: str | None = None, options: UploadOptions = HERE
) -> str | Path:
    """Push a trained model with its card and scores, or write what would be pushed."""
    from sgdx_dataset.push import Place, publish

    from .model_card import Card

    card = Card(run, benchmark or f"{repository.split('/')[0]}/sgdx")
    lacking = [name for name in card.tasks if not any((run / name).glob("*.safetensors"))]
    if lacking:
        parts = ", ".join(filter(None, lacking)) or "the model"
        raise SgdxError(
            f"{run}: found no weights of {parts}, expected a whole {card.settings['tracker']}"
        )

    def make(folder: Path) -> None:
        for place in dict.fromkeys([run, *(run / task for task in card.tasks)]):
            for file in (file for kind in _PUBLISHED for file in place.glob(kind)):
                copy = folder / file.relative_to(run)
                if file.is_file():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, copy)
        if "auto_map" in card.config and not (folder / "modeling.py").exists():
            # The model of a clone comes without the code that transformers alone needs.
            code = Path(__file__).parent / card.tracker / "modeling.py"
            shutil.copyfile(code, folder / "modeling.py")
        card.write(folder, repository)
        card.write_eval_results(folder, repository)

    return publish(make, Place(repository, "model", "model", options), "Add model")


def publish_report(folder: Path, repository: str, options: UploadOptions = HERE) -> str | Path:
    """Push a report to the Hub as a static Space, which shows its page, or write what would be."""
    from sgdx_dataset.push import Place, publish

    if not (folder / "index.html").is_file():
        raise SgdxError(f"{folder}: holds no index.html, expected a folder of 'sgdx report'")

    def make(page: Path) -> None:
        (page / "figures").mkdir()
        for file in (file for kind in _REPORT for file in folder.glob(kind)):
            shutil.copyfile(file, page / file.relative_to(folder))
        text = (folder / "report.md").read_text("utf-8") if (folder / "report.md").exists() else ""
        releases = {*re.findall(r"\|release:([^|\s]+)", text)}
        license = "apache-2.0" if releases and releases <= {"sample", "many"} else "cc-by-sa-4.0"
        tags = "[schema-guided-dialogue]" if license == "apache-2.0" else _TAGS
        card = _REPORT_CARD.format(license=license, corpus=_CORPORA[license], tags=tags)
        (page / "README.md").write_text(card, encoding="utf-8")

    place = Place(repository, "space", "report", options, sdk="static")
    return publish(make, place, "Report")
