"""Write the card of a trained model, or push a model or a report to the Hugging Face Hub.

The card is RUN/README.md: how to use the model, its scores, and how it was trained. The scores are
those of RUN/scores.json, which 'python -m baselines.evaluate --model RUN --output RUN' writes.

--push-to-hub pushes the model with its card. A tracker is pushed with its scores in
.eval_results/sgdx.yaml; the Hub puts them on the leaderboards of a dataset (--benchmark). With
--report, a report is pushed instead, as a Space that shows its page. Pushing needs an access token,
from 'hf auth login' or in $HF_TOKEN.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sgdx_dataset import SgdxError
from sgdx_dataset.hub.upload import folder_files, upload

from .command_line import ParagraphFormatter, run_command
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

A report of `python -m baselines.report` of sgdx: `index.html` is the page, `report.md` the same as
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
        raise SgdxError(f"{folder}: holds no index.html, expected a folder of baselines.report")
    own = (*_REPORT, *_RESULTS, "README.md")
    with TemporaryDirectory() as temporary:
        card = Path(temporary) / "README.md"
        card.write_text(_REPORT_CARD, encoding="utf-8")
        files = {**folder_files(folder, (*_REPORT, *_RESULTS)), "README.md": card}
        return upload(
            files, repository, "space", own=own, mark="index.html", message="Report", sdk="static"
        )


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser(
        "python -m baselines.publish", description=__doc__, formatter_class=ParagraphFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--model",
        type=Path,
        metavar="RUN",
        help="Write the card of the model in this folder of baselines.train.",
    )
    what.add_argument(
        "--report", type=Path, metavar="DIR", help="Push this folder of baselines.report."
    )
    parser.add_argument(
        "--push-to-hub",
        metavar="REPO",
        help="Push to this repository, YOU/NAME. It is created if it does not exist.",
    )
    parser.add_argument(
        "--benchmark",
        metavar="REPO",
        help="Put the scores of a pushed tracker on the leaderboards of this dataset repository, "
        "which 'python -m sgdx_dataset push' makes. Default: sgdx of the owner of "
        "--push-to-hub.",
    )
    options = parser.parse_args()

    def run() -> None:
        if options.report:
            if not options.push_to_hub:
                raise SgdxError("--report: found no --push-to-hub, expected YOU/NAME to push it to")
            print(publish_report(options.report, options.push_to_hub))
            return
        print(
            publish(options.model, options.push_to_hub, options.benchmark)
            or options.model / "README.md"
        )

    return run_command("baselines.publish", run)


if __name__ == "__main__":
    sys.exit(main())
