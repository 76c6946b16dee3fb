"""The page: what stands where, as HTML and as Markdown, and how its files are written."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import HTML_MARK, check_output, write_bytes
from sgdx_dataset.io.progress import advance, progress
from sgdx_metric.version import __version__

from ..published import entailment_table, published_generators, published_trackers
from ..show import terms_of
from ..tables import (
    NO_VALUE,
    Cell,
    Table,
    markdown,
    printable,
    render,
    table,
    to_markdown,
)
from . import tables
from .plots import draw_pictures
from .runs import Group, Validation, data_caveats, group_runs, read_runs
from .slots import Analysis, analyse_group, choose_mistakes, error_classes
from .verdict import frames, verdict

# What each task's systems are called, one and several, and what a page of them is about.
_NAMES = {
    "state": ("tracker", "Trackers", "dialogue state trackers"),
    "turns": ("generator", "Generators", "response generators"),
    "tools": ("caller", "Tools", "calls of tools"),
    "search": ("search", "Search", "search for tools"),
}
_OTHER = "system", "Systems", "systems"
_TEMPLATES = Path(__file__).parents[1] / "templates"
# How many rewordings and errors are shown at first, and how many errors at most.
_FIRST_REWORDINGS, _FIRST_ERRORS, _MOST_ERRORS = 10, 20, 200
# What comes from outside is cut here; the project's own texts are shorter.
_LONGEST = 1000
_NOT_ALIKE = (
    "Runs that were scored in the same way on the same data are in one group. Compare figures only "
    "within a group; --dialogues FILE scores all runs on the same dialogues."
)
_CHANCE = (
    "Chance is the share of trials in which chance alone makes the largest loss of all rewordings "
    "as large: in each trial the original and the new words of every dialogue change sides with "
    "probability 1/2. Words stand out where it is at most 0.05."
)
_ENTAILMENT = (
    "In percent, as in Table 2 of Chen et al. 2023 (arXiv 2301.12568). The paper's figures are of "
    "roberta-large-mnli on 10,000 sampled test turns. Recall is the share of actions that the gold "
    "response entails. Precision says how rarely it also entails a tampered action. The sentences "
    "are made from the schemas of the evaluator. Valid turns are those that pass."
)


def build_page(
    paths: Sequence[Path],
    command: str,
    source: str | None = None,
    references: Path | None = None,
    dialogues: Path | None = None,
    services: Sequence[str] = (),
) -> dict[str, Any]:
    """Read runs and put together what is shown of them, as the templates have it.

    Args:
        paths: Folders of runs, files of scores, and tests of models of entailment.
        command: What makes the page again.
        source, references: Where SGD is, or a folder of its frames; by default what runs name.
        dialogues, services: A file of those that are shown, and original names; by default all.
    """
    runs, validations, left_out = read_runs(paths, dialogues, services)
    groups, parts = group_runs(runs), list[dict[str, Any]]()
    counts: dict[str, int] = {}  # of systems, by task
    reasons: dict[str, list[str]] = {}  # why systems are not analysed, with their names
    with progress("Reporting", len(groups), " groups"):
        for group in groups:
            task = group.task
            counts[task] = counts.get(task, 0) + len(group.systems)
            analyses: dict[str, Analysis] = {}
            if task == "state":
                analyses, without = analyse_group(group, source, references)
                for name, reason in without.items():
                    reasons.setdefault(printable(" ".join(reason.split())), []).append(name)
            parts.append(_part(group, analyses))
            advance()
    parts += map(_entailment, validations)
    if len(parts) == 1:
        parts[0]["title"] = ""
    published = [published_trackers()] if "state" in counts else []
    if validations or "turns" in counts:
        published.append(published_generators())
    names = {task: _NAMES.get(task, _OTHER) for task in counts}
    counted = [f"{n} {names[task][0]}{'' if n == 1 else 's'}" for task, n in counts.items()]
    subject = " and ".join(dict.fromkeys(of[2] for of in names.values())) or "models of entailment"
    return {
        "title": f"{subject} under reworded schemas".capitalize(),
        "systems": " and ".join(counted),
        # Why a run is not there, and of which systems no errors are shown; a sentence each.
        "left_out": left_out,
        "not_analysed": [
            f"no slots and no errors of {'; '.join(of)}: {why}" for why, of in reasons.items()
        ],
        # Why numbers of different parts do not compare; empty where they may.
        "warning": _NOT_ALIKE if any(group.number for group in groups) else "",
        "parts": parts,
        "meanings": _meanings(groups) if groups else [],
        "published": published,
        "command": command,
    }


def _part(group: Group, analyses: Mapping[str, Analysis]) -> dict[str, Any]:
    """What is shown of a group."""
    number = "" if group.number is None else f", group {group.number}"
    kind = _NAMES.get(group.task, _OTHER)[1]
    paths = []  # of each system's runs, with the model that they began with
    for system in group.systems:
        model = f" ({system.first.base_model})" if system.first.base_model else ""
        paths.append((system.name, ", ".join(str(run.path) for run in system.runs) + model))
    errors = [error for of_system in analyses.values() for error in of_system.errors]
    # Each by variant and turn; and how many there are, of which these are some.
    mistakes, number_of_mistakes = choose_mistakes(errors, _MOST_ERRORS)
    return {
        "title": f"{kind}{number}: {'; '.join(group.caveats) or 'the whole split'}",
        "caveats": group.caveats,
        "verdict": verdict(group, analyses),
        "tables": [
            *tables.comparison(group),
            *tables.variant_table(group),
            *tables.augmentation(group),
            *tables.service_table(group),
            *tables.failed_table(group),
        ],
        "pictures": draw_pictures(group),
        "rewordings": [_rewordings(name, of) for name, of in analyses.items() if of.rewordings],
        "classes": error_classes(analyses),
        "mistakes": mistakes,
        "number_of_mistakes": number_of_mistakes,
        "errors": errors,
        "signatures": group.signatures(),
        "paths": paths,
    }


def _entailment(test: Validation) -> dict[str, Any]:
    """What is shown of a test of a model of entailment on gold responses."""
    parts = dict(part.split(":", 1) for part in test.signature.split("|")[1:])
    turns = max(of["turns"] for of in test.by_evaluator.values())
    title = "Entailment on gold responses"
    of_groups = ("verdict", "pictures", "rewordings", "classes", "mistakes", "errors", "paths")
    return dict.fromkeys(of_groups, ()) | {
        "title": "Models of entailment, tested on gold responses",
        "caveats": data_caveats(parts, turns, "turns"),
        "tables": [entailment_table(title, test.by_evaluator, note=_ENTAILMENT)],
        "signatures": {test.signature: ""},
    }


def _rewordings(name: str, analysis: Analysis) -> Table:
    """All rewordings that cost a tracker frames, the costliest first."""
    rows: list[list[str | Cell]] = [
        [
            str(place),
            of.service,
            of.variant,
            Cell(of.before.name, of.before.description),
            Cell(of.after.name, of.after.description),
            frames(of.lost),
            frames(of.won),
            frames(of.lost - of.won),
            f"{of.chance:.3f}",
        ]
        for place, of in enumerate(analysis.rewordings, 1)
    ]
    texts = ["service", "variant", "original words", "new words"]
    title = f"{name}: {len(rows)} rewordings of slots cost frames"
    return table(title, ["rank", *texts, "lost", "won", "net", "chance"], rows, texts, note=_CHANCE)


def _meanings(groups: Sequence[Group]) -> list[str]:
    """What the titles of the figures mean, and which are better when they are low."""
    has_turns = any(group.task == "turns" for group in groups)
    sentences = [
        *(term for group in groups for term in terms_of(group.systems[0].result)),
        "A turn is seen or unseen by its service and, as in the papers, by the domain."
        if has_turns
        else "",
        "SS is schema sensitivity as in arXiv 2110.06800 (Lee et al. 2022).",
        "The signature says what was scored and how. docs/figures.md defines all figures.",
    ]
    return list(filter(None, dict.fromkeys(sentences)))


# ---- files


def render_html(page: Mapping[str, Any]) -> str:
    """The page, in which all that comes from runs and data is escaped, and cut where it is long."""
    script, style = ((_TEMPLATES / f"page.{end}").read_text("utf-8") for end in ("js", "css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    markup = require("markupsafe").Markup
    return render(
        "page.html",
        _cut,
        page=page,
        command=markup.escape(printable(page["command"], len(page["command"]))),
        data=lambda svg: markup(f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"),
        script=markup(script),
        style=markup(style),
        script_hash=f"sha256-{digest}",
        version=__version__,
        no_value=NO_VALUE,
        first_rewordings=_FIRST_REWORDINGS,
        first_errors=_FIRST_ERRORS,
    )


def _cut(text: str) -> str:
    return printable(text, _LONGEST)


def render_markdown(page: Mapping[str, Any]) -> str:
    """The same as Markdown, with the pictures as files beside it and shorter lists."""
    markup = require("markupsafe").Markup

    def code(text: str) -> Any:
        return markup(f"`{' '.join(printable(text, len(text)).replace('`', ' ').split())}`")

    def draw(shown: Table, most: int | None = None) -> Any:
        return markup(to_markdown(replace(shown, rows=shown.rows[:most])))

    shared = {"version": __version__, "first_rewordings": _FIRST_REWORDINGS}
    return render("page.md", _as_markdown, page=page, code=code, draw=draw, **shared)


def _as_markdown(text: str) -> Any:
    return require("markupsafe").Markup(markdown(_cut(text)))


def write_page(page: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write `index.html`, `report.md`, `figures/` and, where any is known, the errors.

    Every file appears whole or not at all; those of an earlier report are replaced, and no other.
    """
    is_ours = check_output(folder / "index.html", mark=HTML_MARK).exists()
    files = {
        "index.html": render_html(page).encode(),
        "report.md": render_markdown(page).encode(),
    }
    if errors := [error for part in page["parts"] for error in part["errors"]]:
        files["errors.jsonl"] = msgspec.json.Encoder().encode_lines(errors)
    for picture in (of for part in page["parts"] for of in part["pictures"]):
        files[f"figures/{picture.name}.svg"] = picture.svg
        files[f"figures/{picture.name}.png"] = picture.png
    if others := [name for name in files if (folder / name).exists() and not is_ours]:
        found = f"found {others[0]} beside no report of ours"
        raise SgdxError(f"{folder}: {found}, expected another folder")
    for name, content in files.items():
        write_bytes(folder / name, content)
    return [folder / name for name in files]
