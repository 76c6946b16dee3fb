"""Tables, once for the terminal, Markdown and HTML, and how figures become the texts of cells.

What comes from outside is made harmless by what writes it, and nowhere else.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from math import isnan
from textwrap import fill
from typing import Any, NamedTuple
from urllib.parse import quote

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.extras import require

NO_VALUE = "–"
# Control characters but tab and line feed, and the marks that change the direction of writing.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Underscores within a word are no markup.
_MARKUP = re.compile(r"[\\`*~\[\]|]|(?<![^\W_])_|_(?![^\W_])")
# What LaTeX does not print as it is; the others have a backslash before them.
_LATEX = re.compile(rf"[&%$#_{{}}~^\\<>\s{NO_VALUE}]")
_IN_LATEX = {
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", NO_VALUE: "--"},
    **dict.fromkeys(" \t\n", " "),
}
_LONG_HEADER = 10  # Headers of figures are folded to this where there is no room.
_LEAST = 8  # columns that a text has even beside figures that are too wide


class Cell(NamedTuple):
    """A cell: its text, an interval or a remark in smaller type, and where it leads."""

    text: str
    detail: str = ""
    link: str = ""
    # Whether Markdown shows it as code, in which nobody is mentioned and nothing is a link.
    code: bool = False


class Column(NamedTuple):
    """A column: its name, the heading above it if any, and whether it holds numbers."""

    name: str
    group: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table, with what must be known to read it."""

    title: str
    # The first names the row.
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    # How to read it, in whole sentences.
    note: str = ""
    # Whether a page shows its title alone until a reader opens it.
    folded: bool = False
    # Below which rows the terminal leaves a line free.
    breaks: Collection[int] = ()

    def headings(self) -> list[tuple[str, int]]:
        """What stands above the columns, and above how many; nothing where no column has any."""
        runs = [(name, len([*of])) for name, of in groupby(c.group for c in self.columns)]
        return runs if any(name for name, _ in runs) else []

    def row_groups(self) -> list[list[Sequence[Cell]]]:
        """The rows, those together that begin with the same cell."""
        return [list(rows) for _, rows in groupby(self.rows, key=lambda cells: cells[0])]


def table(
    title: str,
    headers: Sequence[str | Column],
    rows: Iterable[Sequence[str | Cell]],
    texts: Collection[str] = (),
    breaks: Collection[int] = (),
    note: str = "",
    folded: bool = False,
) -> Table:
    """A table of which all columns are figures but the first and those that are named."""
    columns = [
        Column(head, "", bool(i) and head not in texts) if isinstance(head, str) else head
        for i, head in enumerate(headers)
    ]
    cells = [[Cell(c) if isinstance(c, str) else c for c in row] for row in rows]
    return Table(title, columns, cells, note, folded, breaks)


# ---- texts


def number(value: float | None, decimals: int = 2) -> str:
    """A number, zero without a sign; a dash for None and NaN."""
    if value is None or isnan(value):
        return NO_VALUE
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def percent(fraction: float | None, decimals: int = 2) -> str:
    """A fraction in percent."""
    return number(None if fraction is None else 100 * fraction, decimals)


def one_decimal(fraction: float | None) -> str:
    """A fraction in percent with one decimal, as pages have it."""
    return percent(fraction, 1)


def format_figure(key: str, value: float | None, decimals: int = 2) -> str:
    """A figure by its key: BLEU as it is, all others in percent."""
    return number(value, decimals) if key.startswith("bleu") else percent(value, decimals)


def interval(ends: Sequence[float] | None, text: Callable[[float], str] = percent) -> str:
    """Both ends of an interval; empty for None."""
    return " to ".join(map(text, ends or ()))


def printable(text: str, longest: int = 400) -> str:
    """A text without control characters and direction marks, cut where it is very long."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= longest else f"{text[:longest]} …"


# ---- the terminal


class LatexConsole(Console):
    """A console on which tables are LaTeX, and nothing else is printed."""


def terminal(form: str = "text") -> Console:
    """The standard output; where it is piped, and so has no width, it is 80 columns wide."""
    if form == "latex":
        return LatexConsole(width=10**6)
    return Console() if sys.stdout and sys.stdout.isatty() else Console(width=80)


def print_line(text: str, console: Console, fold: bool = False) -> None:
    """Print a text as it is, however long its lines, or folded."""
    if isinstance(console, LatexConsole):
        return
    text = "\n".join(map(escape_controls, text.split("\n")))
    console.print(Text(text), soft_wrap=not fold)


def legend(terms: Iterable[str]) -> str:
    """Terms below a table: each begins a line, and no line has over 80 characters."""
    return "\n".join(fill(term, 80, break_on_hyphens=False) for term in terms)


def to_terminal(shown: Table, console: Console) -> None:
    """Print a table; where it is too wide, headers and texts are folded, and figures never are."""
    if isinstance(console, LatexConsole):
        console.print(Text(f"{to_latex(shown)}\n"), soft_wrap=True)
        return
    heads = [escape_controls(f"{column.group} {column.name}".strip()) for column in shown.columns]
    rows = [
        [escape_controls(f"{c.text} ({c.detail})" if c.detail else c.text) for c in cells]
        for cells in shown.rows
    ]
    drawn = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, head, width in zip(
        shown.columns, heads, _widths(shown.columns, heads, rows, console)
    ):
        side: Any = "right" if column.numeric else "left"
        drawn.add_column(Text(head), justify=side, overflow="fold", width=width)
    for i, row in enumerate(rows):
        drawn.add_row(*map(Text, row), end_section=i in shown.breaks)
    print_line(shown.title, console)
    console.print(drawn, width=10**6, crop=False)
    print_line(f"\n{legend([shown.note])}\n" if shown.note else "", console)


def _widths(
    columns: Sequence[Column], heads: Sequence[str], rows: Sequence[Sequence[str]], console: Console
) -> list[int]:
    """How wide each column is; what lacks room is taken from texts, from words last."""
    cells = [[row[i] for row in rows] for i in range(len(heads))]
    figures = [max(map(cell_len, texts), default=0) for texts in cells]
    widths = [max(cell_len(head), widest) for head, widest in zip(heads, figures)]
    room = console.width - 2 * (len(widths) - 1)
    if sum(widths) <= room:
        return widths
    words = [
        max((cell_len(word) for text in (head, *texts) for word in text.split()), default=1)
        for head, texts in zip(heads, cells)
    ]
    for i, column in enumerate(columns):
        if column.numeric:
            longest = max((cell_len(word) for word in heads[i].split()), default=1)
            widths[i] = max(figures[i], min(longest, _LONG_HEADER))
    folded = [i for i, column in enumerate(columns) if not column.numeric]
    for least in (words, [_LEAST] * len(words)):
        while sum(widths) > room and any(widths[i] > least[i] for i in folded):
            widths[max(folded, key=lambda i: widths[i] - least[i])] -= 1
    return widths


# ---- Markdown


def markdown(text: str) -> str:
    """A text in which nothing is markup of Markdown or HTML, on one line."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(" ".join(text.split()), quote=False))


def to_markdown(shown: Table) -> str:
    """A table in Markdown; its title is a heading."""

    def cell(of: Cell) -> str:
        if of.code:
            text = " ".join(printable(of.text).split()).replace("|", "\\|")
            fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
            blank = " " if text.startswith("`") or text.endswith("`") else ""
            return f"{fence}{blank}{text}{blank}{fence}" if text else ""
        text = markdown(printable(of.text))
        text = f"[{text}]({quote(of.link)})" if of.link else text
        return f"{text} ({markdown(printable(of.detail))})" if of.detail else text

    names = [f"{c.group}: {c.name}" if c.group else c.name for c in shown.columns]
    lines = [
        [markdown(printable(name)) for name in names],
        ["---:" if column.numeric else "---" for column in shown.columns],
        *([cell(of) for of in cells] for cells in shown.rows),
    ]
    rows = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    heading = f"### {markdown(printable(shown.title))}" if shown.title else ""
    return "\n\n".join(filter(None, (heading, rows, markdown(shown.note))))


# ---- LaTeX, with the package booktabs


def _in_latex(character: re.Match[str]) -> str:
    return _IN_LATEX.get(character[0], f"\\{character[0]}")


def to_latex(shown: Table) -> str:
    """A table for a paper; what it is called is a comment above it."""
    names = [[f"{c.group} {c.name}".strip() for c in shown.columns]]
    cells = [[f"{c.text} ({c.detail})" if c.detail else c.text for c in row] for row in shown.rows]
    head, *rows = (
        " & ".join(_LATEX.sub(_in_latex, printable(text)) for text in row) + r" \\"
        for row in names + cells
    )
    sides = "".join("r" if column.numeric else "l" for column in shown.columns)
    title = " ".join(printable(shown.title).split())
    begin, end = rf"\begin{{tabular}}{{{sides}}}", r"\end{tabular}"
    rules = r"\toprule", r"\midrule", r"\bottomrule"
    return "\n".join([f"% {title}", begin, rules[0], head, rules[1], *rows, rules[2], end])


# ---- HTML


def to_html(shown: Table) -> str:
    """A table in HTML, without its note.

    Rows that have the same first cell are a group, and show it once.
    """
    return render("table.html", printable, table=shown)


def render(template: str, text: Callable[[str], str], **content: Any) -> str:
    """Fill a template; `text` is done to every text in it, which is escaped if it is no markup."""
    return str(_environment(text).get_template(template).render(content))


@cache
def _environment(text: Callable[[str], str]) -> Any:
    jinja2 = require("jinja2")
    return jinja2.Environment(
        loader=jinja2.PackageLoader("sgdx_eval"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: text(value) if type(value) is str else value,
    )
