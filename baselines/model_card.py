"""A run's model card, made from what the run wrote, and its way to the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

from sgdx_dataset import SgdxError

from .run import read_json

# What of a model's folder is published: the model, its code, card, record and scores.
_PUBLISHED = ["*.json", "*.safetensors", "*.py", "README.md", "log.jsonl", "*.model", "*.txt"]
_FIGURES = {"JGA_orig": "jga_orig", "JGA_v1-5": "jga_v1-5", "SS_JGA": "ss_jga"}


def write_card(output: Path, example: str) -> None:
    """Write ``README.md`` from ``run.json``, ``log.jsonl`` and, once there is one, ``scores.json``.

    Args:
        output: The run's folder.
        example: Python that loads the model and tracks a dialogue.
    """
    run = read_json(output / "run.json")
    settings = run["record"]["settings"]
    title = "Dialogue state tracker" + (" (oracle)" if run["oracle"] else "")
    sections = [
        _front(run),
        f"# {title}: {settings['model']}, {settings.get('format', 'classifier')}",
        _ORACLE if run["oracle"] else "",
        f"## Use\n\n```python\n{example.strip()}\n```",
        "## Results\n\n" + _results(output),
        "## Training\n\n" + _training(output, run),
        "## Licence\n\n" + _LICENCE,
    ]
    staging = output / ".README.md.incomplete"
    staging.write_text("\n\n".join(filter(None, sections)) + "\n", encoding="utf-8")
    staging.replace(output / "README.md")


_ORACLE = """**Oracle: an upper bound.** This model was trained on schema variants that the tables
below judge it on. Do not compare it with models that were not."""

_LICENCE = """Trained on SGD, which is CC BY-SA 4.0 (Rastogi et al. 2020, arXiv 1909.05855; with the
variants of SGD-X: Lee et al. 2022, arXiv 2110.06800), unless the source below is `sample`, a corpus
under Apache-2.0. The licence of the checkpoint that training began with holds besides."""


def _front(run: dict[str, Any]) -> str:
    tags = ["dialogue-state-tracking", "schema-guided-dialogue", "sgd", "sgd-x"]
    tags += ["oracle"] if run["oracle"] else []
    lines = ["---", "license: cc-by-sa-4.0", "language: en", "library_name: transformers", "tags:"]
    return "\n".join([*lines, *(f"- {tag}" for tag in tags), "---"])


def _results(output: Path) -> str:
    """The table of ``scores.json``, and the line that says how it was scored."""
    if not (output / "scores.json").exists():
        return "Not scored yet."
    scores = read_json(output / "scores.json")
    table = [f"| services | frames | {' | '.join(_FIGURES)} |", "|---|---|---|---|---|"]
    for group in ("all", "seen", "unseen"):
        figures = scores["sgdx"] if group == "all" else scores["sgdx"][group]
        cells = [_percent(figures[key]) for key in _FIGURES.values()]
        table.append(f"| {group} | {scores['frames'][group]} | {' | '.join(cells)} |")
    return "\n".join([*table, "", "In percent.", "", f"`{scores['signature']}`"])


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.2f}"


def _training(output: Path, run: dict[str, Any]) -> str:
    lines = (output / "log.jsonl").read_bytes().splitlines()
    dev = [line for line in map(msgspec.json.decode, lines) if "dev_joint_goal_accuracy" in line]
    best = max(dev, key=lambda line: line["dev_joint_goal_accuracy"], default=None)
    seen = run["record"]["seen"]
    facts = {
        "schema variants trained on": ", ".join(seen["train"]),
        "augmentation": _augmentation(seen),
        "oracle": "yes" if run["oracle"] else "no",
        "source": run["record"]["data"]["source"] or "the default",
        "train frames": run["record"]["data"]["train"]["frames"],
        "best dev joint goal accuracy": best
        and f"{_percent(best['dev_joint_goal_accuracy'])} % at step {best['step']}, "
        f"on {run['record']['data']['dev']['frames']} frames of `original`",
        "processes": run["record"]["processes"],
        "versions": ", ".join(f"{name} {number}" for name, number in run["versions"].items()),
    }
    settings = msgspec.yaml.encode(run["record"]["settings"]).decode()
    said = "\n".join(f"- {name}: {fact}" for name, fact in facts.items())
    return f"{said}\n\n```yaml\n{settings}```"


def _augmentation(seen: dict[str, Any]) -> str:
    augment = seen["augment"]
    if augment is None:
        return "none"
    told = f"{augment['schemas']}, ratio {augment['ratio']}, seed {augment['seed']}"
    return f"{told}; {seen['overlaps']} of its texts are v1..v5's and not the original's"


def published(output: Path, parts: Sequence[str] = ()) -> list[str]:
    """The files of a run that are published: of its folder and of those in it that hold models."""
    folders = [output, *(output / part for part in parts)]
    files = (file for folder in folders for kind in _PUBLISHED for file in folder.glob(kind))
    return sorted(file.relative_to(output).as_posix() for file in files)


def push(output: Path, repository: str, parts: Sequence[str] = ()) -> str:
    """Publish a run's model on the Hub, with the token that ``huggingface_hub`` finds.

    Args:
        output: The run's folder.
        repository: YOU/NAME.
        parts: Folders in it that hold models.

    Returns:
        The commit's address.

    Raises:
        SgdxError: It cannot be published.
    """
    try:
        api = HfApi()
        api.create_repo(repository, exist_ok=True)
        done = api.upload_folder(
            repo_id=repository, folder_path=output, allow_patterns=published(output, parts),
            commit_message="Add tracker",
        )  # fmt: skip
    except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
        raise SgdxError(
            f"{repository}: cannot be published: {str(error).splitlines()[0]}"
        ) from None
    return str(done)
