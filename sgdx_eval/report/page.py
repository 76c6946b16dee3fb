"""What a report consists of, and how it is written: as a page, as Markdown and as pictures."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import staged
from sgdx_eval.tables import (
    NO_VALUE,
    Cell,
    Table,
    html_cells,
    html_head,
    markdown,
    printable,
    to_html,
    to_markdown,
)
from sgdx_metric.version import __version__

from .pictures import Picture
from .runs import Group, System
from .slots.breakage import CLASSES, Error, Mistake

# How many rewordings and errors of each list are shown at first, and stand in Markdown.
_FIRST_REWORDINGS = 10
_FIRST_ERRORS = 20
ERRORS_FILE = "errors.jsonl"


class CostlyWords(NamedTuple):
    """Words that cost much."""

    # Whose words they are, and under which variant.
    where: str
    # The name, or else the description, in both variants.
    before: str
    after: str
    # What they cost, with its interval.
    cost: str


class Verdict(NamedTuple):
    """What a report says first of what it compares."""

    # The findings; the detail of each is the 95 % interval of its last figure.
    sentences: Sequence[Cell]
    # What the costliest words are introduced by; empty where none are known.
    costly_title: str = ""
    costly: Sequence[CostlyWords] = ()


class RewordingList(NamedTuple):
    """The costliest rewordings of `slots` or of `intents`, for one system."""

    system: System
    what: str
    # Without a title; its first columns are the service and the variant.
    table: Table
    # How many rewordings cost frames, of which these are some.
    number: int


@dataclass(frozen=True)
class Section:
    """A heading, a text, and what is shown under it, in this order."""

    # What links to it are called.
    name: str
    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    rewordings: Sequence[RewordingList] = ()
    mistakes: Sequence[Mistake] = ()
    pictures: Sequence[Picture] = ()
    # How many mistakes there are, of which those that are shown are some.
    number_of_mistakes: int = 0
    # Whether the page shows the heading alone until a reader opens it.
    folded: bool = False

    def dialogues(self) -> list[tuple[str, list[Mistake]]]:
        """The mistakes by dialogue."""
        groups = groupby(self.mistakes, key=lambda mistake: mistake.first.place[0])
        return [(dialogue_id, list(mistakes)) for dialogue_id, mistakes in groups]


@dataclass(frozen=True)
class Part:
    """All sections about systems that compare, or about models of entailment."""

    # Its heading; empty in a report of one part.
    title: str
    sections: Sequence[Section]
    # Its systems, whose signatures stand at the end; None for none.
    group: Group | None = None
    verdict: Verdict | None = None

    def run_paths(self) -> list[tuple[str, str]]:
        """The paths of each system's runs, with the model that they began with."""
        systems = self.group.systems if self.group else ()
        return [
            (
                system.name,
                ", ".join(str(run.path) for run in system.runs)
                + (f" ({system.first.base_model})" if system.first.base_model else ""),
            )
            for system in systems
        ]


@dataclass(frozen=True)
class Report:
    """What is shown."""

    title: str
    # What it is about, in a sentence.
    lead: str
    parts: Sequence[Part]
    # What the titles of the figures mean, in sentences.
    meanings: Sequence[str]
    # Why numbers of different parts do not compare; empty where they may.
    warning: str
    # Why a run is not there; a sentence each.
    left_out: Sequence[str]
    # Of which systems no slots and no errors are shown, and why; likewise.
    not_analysed: Sequence[str]
    # The command that makes the report again.
    command: str
    # Scores out of papers.
    published: Sequence[Table]
    # Every error of every system, for `errors.jsonl`.
    errors: Iterable[Error]

    def pictures(self) -> Iterator[Picture]:
        """All pictures."""
        for part in self.parts:
            for section in part.sections:
                yield from section.pictures


def render_html(report: Report) -> str:
    """The page, in which all that comes from runs and data is escaped, and cut where it is long."""
    markup = require("markupsafe").Markup
    script, style = _template("page.js"), _template("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _rendered(
        "page.html",
        report,
        shown=printable,
        whole=require("markupsafe").escape,
        html=lambda table: markup(to_html(table)),
        head=lambda columns: markup(html_head(columns)),
        cells=lambda cells, columns: markup(html_cells(cells, columns)),
        script=markup(script),
        style=markup(style),
        script_hash=f"sha256-{digest}",
        svg=lambda picture: markup(picture.inline),  # matplotlib has escaped the texts in it
    )


def render_markdown(report: Report) -> str:
    """The same as Markdown, with the pictures as files beside it and shorter lists."""
    markup = require("markupsafe").Markup
    text = _rendered(
        "report.md",
        report,
        shown=lambda value: markup(markdown(printable(value))),
        whole=lambda value: markup(markdown(value)),
        markdown=lambda table: markup(to_markdown(table)),
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write `index.html`, `report.md`, `figures/` and, where any is known, the errors.

    Every file appears whole or not at all; those of an earlier report are replaced.
    """
    files = {
        "index.html": render_html(report).encode(),
        "report.md": render_markdown(report).encode(),
    }
    if lines := [msgspec.json.encode(error) + b"\n" for error in report.errors]:
        files[ERRORS_FILE] = b"".join(lines)
    for picture in report.pictures():
        files[f"figures/{picture.name}.svg"] = picture.svg
        files[f"figures/{picture.name}.png"] = picture.png
    for name, content in files.items():
        with staged(folder / name) as staging:
            staging.write_bytes(content)
    return [folder / name for name in files]


def _rendered(
    name: str,
    report: Report,
    shown: Callable[[str], str],
    whole: Callable[[str], str],
    **values: Any,
) -> str:
    """Fill a template.

    `shown` makes every text harmless that is no markup already, and `whole` a text of the
    project's own, which is never cut.
    """
    jinja2 = require("jinja2")
    markup = require("markupsafe").Markup
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,
    )
    environment.filters |= {
        "whole": whole,
        "sentence": lambda text: text[:1].upper() + text[1:] + ".",
        "uncut": lambda text: whole(printable(text, len(text))),
        "code": lambda text, *cut: markup(f"`{printable(text, *cut).replace('`', ' ')}`"),
        "first_rows": lambda table, count: replace(table, rows=table.rows[:count]),
    }
    page: str = environment.get_template(name).render(
        report=report,
        version=__version__,
        classes=CLASSES,
        first_rewordings=_FIRST_REWORDINGS,
        first_errors=_FIRST_ERRORS,
        errors_file=ERRORS_FILE,
        no_value=NO_VALUE,
        **values,
    )
    return page


def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")
