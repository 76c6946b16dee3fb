"""Write the card of a trained model, or push a model or a report to the Hub: ``sgdx publish``."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sgdx_dataset import SgdxError
from sgdx_dataset.hub.upload import folder_files, upload

from .command_line import door
from .model_card import push, write_card, write_eval_results
from .system import get_trainable, recorded_name
from .training.run_folder import read_run

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
    run = read_run(output)
    settings = run["record"]["settings"]
    if repository and settings.get("prefix") and not run.get("pretrained_commit"):
        raise SgdxError(
            f"{output}: holds a prefix for the model {settings['model']}, expected one for a model "
            "on the Hub: whoever loads a prefix from the Hub needs that model too"
        )
    system_class = get_trainable(recorded_name(str(output)))
    address = repository or str(output)
    write_card(output, address, system_class.example(address, settings))
    if repository is None:
        return None
    of_owner = "/".join([*repository.split("/")[:-1], "sgdx"])
    write_eval_results(output, repository, benchmark or of_owner)
    return push(output, repository, system_class.TASKS)


def publish_report(folder: Path, repository: str) -> str:
    """Push a report to the Hub as a static Space, which shows its page."""
    if not (folder / "index.html").is_file():
        raise SgdxError(f"{folder}: holds no index.html, expected a folder of 'sgdx report'")
    own = (*_REPORT, *_RESULTS, "README.md")
    with TemporaryDirectory() as temporary:
        card = Path(temporary) / "README.md"
        card.write_text(_REPORT_CARD, encoding="utf-8")
        files = {**folder_files(folder, (*_REPORT, *_RESULTS)), "README.md": card}
        return upload(
            files, repository, "space", own=own, mark="index.html", message="Report", sdk="static"
        )


main = door("publish")

if __name__ == "__main__":
    sys.exit(main())
