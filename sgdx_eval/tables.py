"""Tables, once for the terminal, Markdown and HTML, and how figures become the texts of cells.

What comes from outside is made harmless by what writes it, and nowhere else.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import isnan
from statistics import mean, stdev
from textwrap import fill
from typing import Any, NamedTuple
from urllib.parse import quote

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from sgdx_dataset.io.console import escape_controls

NO_VALUE = "–"
# Control characters but tab and line feed, and the marks that change the direction of writing.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Underscores within a word are no markup.
_MARKUP = re.compile(r"[\\`*~\[\]|]|(?<![^\W_])_|_(?![^\W_])")
_GAP = 2  # blanks between columns
# Longer words are folded where there is no room, in headers of figures and in texts.
_LONG_HEADER, _LONG_WORD = 10, 28
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
    # How to read it, in whole sentences.
    note: str
    # The first names the row.
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    # What must stand beside every number in it, such as that the data is partial.
    caveats: Sequence[str] = ()
    # The signatures of the runs that it shows, each with the names of its systems, or with an
    # empty text where all systems share it.
    signatures: Mapping[str, str] = field(default_factory=dict)
    # Whether a page shows its title alone until a reader opens it.
    folded: bool = False
    # Below which rows the terminal leaves a line free.
    breaks: Collection[int] = ()


# ---- texts


def number(value: float | None, decimals: int = 2) -> str:
    """A number, zero without a sign; a dash for None and NaN."""
    if value is None or isnan(value):
        return NO_VALUE
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def percent(fraction: float | None, decimals: int = 2) -> str:
    """A fraction in percent."""
    return number(None if fraction is None else 100 * fraction, decimals)


def format_figure(key: str, value: float | None, decimals: int = 2) -> str:
    """A figure by its key: BLEU as it is, all others in percent."""
    return number(value, decimals) if key.startswith("bleu") else percent(value, decimals)


def one_decimal(fraction: float | None) -> str:
    """A fraction in percent with one decimal, as pages have it."""
    return percent(fraction, 1)


def signed_points(fraction: float) -> str:
    """A difference in percentage points, such as ``+1.5``; a dash for NaN.

    What rounds to zero keeps its sign, as in ``-0.0``: it tells whether an interval contains zero.
    """
    return NO_VALUE if isnan(fraction) else f"{100 * fraction + 0.0:+.1f}"


def interval(ends: Sequence[float] | None, text: Callable[[float], str] = percent) -> str:
    """Both ends of an interval; empty for None."""
    return " to ".join(map(text, ends or ()))


def p_value(p: float | None) -> str:
    """How likely chance alone makes so large a difference."""
    return number(p, 4)


CHANGE = ("difference", "95 % interval", "p")


def change_cells(
    change: Mapping[str, Any], text: Callable[[float | None], str] = percent
) -> list[str]:
    """The cells of `CHANGE`; dashes where there is nothing to compare with."""
    ends = change.get("interval") or [change.get(end) for end in ("low", "high")]
    shown = NO_VALUE if ends[0] is None else interval(ends, text)
    return [text(change.get("difference")), shown, p_value(change.get("p"))]


def format_over_runs(
    values: Sequence[float | None],
    ends: Sequence[float] | None = None,
    text: Callable[[float], str] = one_decimal,
) -> Cell:
    """A score of one run with its interval, or of several as mean ± deviation.

    Where the score of a run is no number, the cell is a dash.
    """
    defined = [v for v in values if isinstance(v, int | float) and not isnan(v)]
    if len(defined) < len(values) or not defined:
        return Cell(NO_VALUE)
    if len(defined) > 1:
        return Cell(text(mean(defined)), f"± {text(stdev(defined))}")
    is_point = ends is not None and ends[0] == ends[1]  # as where no item is ever right
    return Cell(text(defined[0]), interval(None if is_point else ends, text))


def printable(text: str, longest: int = 400) -> str:
    """A text without control characters and direction marks, cut where it is very long."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= longest else f"{text[:longest]} …"


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
    return Table(title, note, columns, cells, breaks=breaks, folded=folded)


# ---- the terminal


def terminal() -> Console:
    """The standard output; where it is piped, and so has no width, it is 80 columns wide."""
    return Console() if sys.stdout and sys.stdout.isatty() else Console(width=80)


def print_line(text: str, console: Console, fold: bool = False) -> None:
    """Print a text as it is, however long its lines, or folded."""
    text = "\n".join(map(escape_controls, text.split("\n")))
    console.print(Text(text), soft_wrap=not fold)


def legend(terms: Iterable[str]) -> str:
    """Terms below a table: each begins a line, and no line has over 80 characters."""
    return "\n".join(fill(term, 80, break_on_hyphens=False) for term in terms)


def to_terminal(shown: Table, console: Console) -> None:
    """Print a table; where it is too wide, headers and texts are folded, and figures never are."""
    heads = [escape_controls(f"{column.group} {column.name}".strip()) for column in shown.columns]
    rows = [
        [escape_controls(f"{c.text} ({c.detail})" if c.detail else c.text) for c in cells]
        for cells in shown.rows
    ]
    cells = [[row[i] for row in rows] for i in range(len(heads))]
    widths = _widths(shown.columns, heads, cells, console.width)
    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        width=sum(widths) + _GAP * (len(widths) - 1),
    )
    for column, head, width in zip(shown.columns, heads, widths):
        drawn.add_column(
            Text(head),
            justify="right" if column.numeric else "left",
            overflow="fold",
            width=width,
        )
    for i, row in enumerate(rows):
        drawn.add_row(*map(Text, row), end_section=i in shown.breaks)
    print_line(shown.title, console)
    console.print(drawn, crop=False)
    print_line(f"\n{legend([shown.note])}\n" if shown.note else "", console)


def _widths(
    columns: Sequence[Column], heads: Sequence[str], cells: Sequence[Sequence[str]], width: int
) -> list[int]:
    """How wide each column is; where not all fits, figures come first, then the longest words."""
    widest = [max(map(cell_len, texts), default=0) for texts in cells]
    whole = [max(cell_len(head), of_cells) for head, of_cells in zip(heads, widest)]
    room = width - _GAP * (len(heads) - 1)
    if sum(whole) <= room:
        return whole
    widths = []
    for column, head, texts, of_cells in zip(columns, heads, cells, widest):
        words = head.split() if column.numeric else [*head.split(), *" ".join(texts).split()]
        longest = max(map(cell_len, words), default=1)
        least = max(of_cells, min(longest, _LONG_HEADER))
        widths.append(least if column.numeric else min(longest, _LONG_WORD))
    folded = [i for i, column in enumerate(columns) if not column.numeric]
    room -= sum(widths) - sum(widths[i] for i in folded)
    room = max(room, sum(min(widths[i], _LEAST) for i in folded))
    of_words = _shared([widths[i] for i in folded], room)
    of_rest = _shared([whole[i] - n for i, n in zip(folded, of_words)], room - sum(of_words))
    for i, words_width, rest in zip(folded, of_words, of_rest):
        widths[i] = words_width + rest
    return widths


def _shared(wanted: Sequence[int], room: int) -> list[int]:
    """What each gets of the room: what it wants, or as much as all others that want more."""
    given = [0] * len(wanted)
    for done, i in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[i] = min(wanted[i], room // (len(wanted) - done))
        room -= given[i]
    return given


# ---- Markdown


def markdown(text: str) -> str:
    """A text in which nothing is markup of Markdown or HTML, on one line."""
    return _MARKUP.sub(r"\\\g<0>", html.escape(" ".join(text.split()), quote=False))


def to_markdown(shown: Table) -> str:
    """A table in Markdown, without what it rests on; its title is a heading."""
    names = [f"{c.group}: {c.name}" if c.group else c.name for c in shown.columns]
    lines = [
        [markdown(printable(name)) for name in names],
        ["---:" if column.numeric else "---" for column in shown.columns],
        *([_markdown_cell(cell) for cell in cells] for cells in shown.rows),
    ]
    rows = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    heading = f"### {markdown(printable(shown.title))}" if shown.title else ""
    return "\n\n".join(filter(None, (heading, rows, markdown(shown.note))))


def _markdown_cell(cell: Cell) -> str:
    if cell.code:
        text = " ".join(printable(cell.text).split()).replace("|", "\\|")
        fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
        blank = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{fence}{blank}{text}{blank}{fence}" if text else ""
    text = markdown(printable(cell.text))
    text = f"[{text}]({quote(cell.link)})" if cell.link else text
    return f"{text} ({markdown(printable(cell.detail))})" if cell.detail else text


# ---- HTML


def to_html(shown: Table) -> str:
    """A table in HTML, without its note and what it rests on.

    Rows that have the same first cell are a group, and show it once.
    """
    body, group_before = [], True
    for _, group in groupby(shown.rows, key=lambda cells: cells[0]):
        rows = list(group)
        if group_before or len(rows) > 1:
            body.append("<tbody>")
        group_before = len(rows) > 1
        for i, cells in enumerate(rows):
            body.append(f"<tr>{html_cells(cells, shown.columns, 0 if i else len(rows))}</tr>")
    hidden = ' class="skip"' if shown.folded else ""
    caption = f"<caption{hidden}>{_html(shown.title)}</caption>"
    return "\n".join(["<table>", caption, html_head(shown.columns), *body, "</table>"])


def html_head(columns: Sequence[Column]) -> str:
    """The head of a table, with the headings above its columns."""
    above = []
    for name, group in groupby(columns, key=lambda column: column.group):
        span = f'colspan="{len(list(group))}"'
        heading = f'<th class="number" scope="colgroup" {span}>{_html(name)}</th>'
        above.append(heading if name else f"<td {span}></td>")
    names = [f'<th scope="col"{_kind(column)}>{_html(column.name)}</th>' for column in columns]
    rows = [above, names] if any(column.group for column in columns) else [names]
    lines = [f"<tr>{''.join(row)}</tr>" for row in rows]
    return f"<thead>{''.join(lines)}</thead>"


def html_cells(cells: Sequence[Cell], columns: Sequence[Column], rows: int = 1) -> str:
    """The cells of a row, whose first one names so many rows; for 0 it is left out."""
    scope = "row" if rows == 1 else f'rowgroup" rowspan="{rows}'
    first = [f'<th scope="{scope}">{_html_cell(cells[0])}</th>'] if rows else []
    others = zip(cells[1:], columns[1:])
    return "".join([*first, *(f"<td{_kind(c)}>{_html_cell(cell)}</td>" for cell, c in others)])


def _kind(column: Column) -> str:
    return ' class="number"' if column.numeric else ""


def _html_cell(cell: Cell) -> str:
    text = _html(cell.text)
    text = f'<a href="{html.escape(cell.link)}">{text}</a>' if cell.link else text
    return f"{text}<small>{_html(cell.detail)}</small>" if cell.detail else text


def _html(text: str) -> str:
    return html.escape(printable(text))
