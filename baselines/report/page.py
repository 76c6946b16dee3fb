"""What a report consists of, and how it is written: as a page, as Markdown and as pictures."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import staged
from sgdx_metric.version import __version__

from . import tables
from .breakage import CLASSES, Breakage, Rewording
from .cells import NO_VALUE, Cell, Column, Table, markdown, printable
from .pictures import Picture
from .systems import SystemGroup, TrackerSystem


class Example(NamedTuple):
    """An error: the turn, both wordings, the reference and the prediction.

    Attributes:
        system: The name of the system whose error it is.
        breakage: What is wrong.
        service, frame_id: Where it is.
        seen: Whether the service is ``seen`` or ``unseen``.
        system_utterance, user_utterance: The user's turn and the system's turn before it; empty
            where they are not at hand.
        before, after: The name and description under the original and under the variant.
    """

    system: str
    breakage: Breakage
    service: str
    frame_id: str
    seen: str
    system_utterance: str
    user_utterance: str
    before: Cell
    after: Cell


class RewordingList(NamedTuple):
    """The costliest rewordings of slots or of intents, for one system.

    Attributes:
        system: The system.
        what: ``slots`` or ``intents``.
        rewordings: The costliest.
        number: How many rewordings cost frames, of which these are some.
    """

    system: TrackerSystem
    what: str
    rewordings: Sequence[Rewording]
    number: int


@dataclass(frozen=True)
class Section:
    """A heading, a text, and what is shown under it, in this order.

    Attributes:
        name: What links to it are called.
        title: The heading.
        text: The text.
        tables, pictures, rewordings, examples: What is shown.
        errors: How many errors there are, of which the examples are some.
    """

    name: str
    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    rewordings: Sequence[RewordingList] = ()
    examples: Sequence[Example] = ()
    errors: int = 0


@dataclass(frozen=True)
class Part:
    """All sections about systems that compare, or about models of entailment.

    Attributes:
        title: Its heading; empty in a report of one part.
        sections: What it shows.
        group: Its systems; None where it is about none.
    """

    title: str
    sections: Sequence[Section]
    group: SystemGroup[Any] | None = None


@dataclass(frozen=True)
class Report:
    """What is shown.

    Attributes:
        title: The heading.
        lead: What it is about, in a sentence.
        parts: What it shows.
        warning: Why numbers of different parts do not compare; empty where they may.
        left_out: Why a run, or a part of what the report shows of it, is not there; a sentence
            each.
        command: The command that makes the report again.
        published: Scores out of papers.
    """

    title: str
    lead: str
    parts: Sequence[Part]
    warning: str
    left_out: Sequence[str]
    command: str
    published: Sequence[Table]

    def pictures(self) -> Iterator[Picture]:
        """All pictures."""
        for part in self.parts:
            for section in part.sections:
                yield from section.pictures


# How many rewordings of each list, and errors of each part, stand in Markdown.
_LONGEST_LIST_IN_MARKDOWN = 10


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
        most=_LONGEST_LIST_IN_MARKDOWN,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write ``index.html``, ``report.md`` and ``figures/``; every file appears whole or not at all.

    Args:
        report: What to show.
        folder: The folder to write; files of an earlier report in it are replaced.

    Returns:
        The files written.

    Raises:
        SgdxError: A file cannot be written, or the extra ``report`` is not installed.
    """
    files = {
        "index.html": render_html(report).encode(),
        "report.md": render_markdown(report).encode(),
    }
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

    Args:
        name: The template's file.
        report: What to show.
        shown: Makes every text that is shown harmless, unless it is markup already.
        whole: The same for a text of the project's own, which is never cut.
        values: What the template reads besides.
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
        "by_first": lambda rows: [list(g) for _, g in groupby(rows, lambda cells: cells[0])],
        "code": lambda text: markup(f"`{printable(text).replace('`', ' ')}`"),
        "by_system": lambda columns: [(k, list(g)) for k, g in groupby(columns, _system)],
    }
    page: str = environment.get_template(name).render(
        report=report,
        version=__version__,
        classes=CLASSES,
        rewording_columns=tables.REWORDING_COLUMNS,
        rewording_cells=tables.rewording_cells,
        no_value=NO_VALUE,
        **values,
    )
    return page


def _system(column: Column) -> str:
    return column.system


def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")
