"""The report as a self-contained page, as Markdown and as files of figures."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import staged
from sgdx_metric.version import __version__

from . import tables
from .contents import Report
from .errors import CLASSES
from .provenance import printable

_IN_MARKDOWN = 10


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
        svg=lambda figure: markup(figure.inline),  # matplotlib has escaped the texts in it
    )


def render_markdown(report: Report) -> str:
    """The same as Markdown, with the figures as files beside it and shorter lists."""
    markup = require("markupsafe").Markup
    text = _rendered(
        "report.md",
        report,
        shown=lambda value: markup(_markdown(printable(value))),
        whole=lambda value: markup(_markdown(value)),
        most=_IN_MARKDOWN,
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
    for one in report.figures():
        files |= {f"figures/{one.name}.svg": one.svg, f"figures/{one.name}.png": one.png}
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
        nothing=tables.NOTHING,
        **values,
    )
    return page


def _system(column: tables.Column) -> str:
    return column.system


def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


def _markdown(text: str) -> str:
    """A text in which nothing is markup of Markdown or HTML, on one line."""
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|])", r"\\\1", text)
