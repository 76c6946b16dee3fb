"""Tables for a person to review, from which lines are struck out: new words, and cases of traces.

A table is written as ``review.tsv``, and as ``review.html`` for reading. Lines that are deleted
from the first, or struck out in the second and saved, are left out when the table is read again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import HTML_MARK, is_written, read_input, write_bytes

from .data import ElementId, Tool
from .rewording import KINDS, ElementPool, Pool, check_pool

TSV, HTML = "review.tsv", "review.html"
_TEMPLATE = Path(__file__).parent / "templates" / "review.html"
_FORMULA = re.compile("'*[=+@-]")
Row = Sequence[str]


class ReviewLine(NamedTuple):
    """A line of the table of new words: one new name or description."""

    tool: str
    # Empty for the tool itself.
    path: str
    # One of KINDS.
    kind: str
    original: str
    reworded: str
    # Who found the words.
    by: str


def write_table(
    folder: Path,
    columns: Row,
    lines: Sequence[Row],
    title: str,
    text: str,
    heads: Row,
    show: Callable[[Row], Row],
    renews: bool = False,
) -> list[Path]:
    """Write both tables; returns their paths. Where they renew others, these were read before.

    The page has a title and a text above its table, whose columns have other heads, and whose cells
    ``show`` gives of a line.
    """
    table, content = folder / TSV, "".join(map(_row, [columns, *lines])).encode()
    if not renews and table.is_file() and (table.read_bytes() == content or not is_written(table)):
        return []  # the same, or struck out by a person
    write_bytes(table, content, renews)
    rows, before = [], [""]
    for line in lines:
        *first, last = show(line)
        is_new = first != before
        before = first
        cells = [*(first if is_new else [""] * len(first)), last]
        shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        mark = ' class="first"' if is_new else ""
        data = escape(_row(line).removesuffix("\n"))
        rows.append(f'<tr{mark} tabindex="0" data-line="{data}">{shown}</tr>')
    html = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        TITLE=escape(title),
        TEXT=escape(text),
        HEADS="".join(f"<th>{escape(head)}</th>" for head in heads),
        ROWS="\n".join(rows),
        COUNT=len(lines),
        COLUMNS="\t".join(columns),
    )
    write_bytes(folder / HTML, html.encode(), mark=HTML_MARK)
    return [folder / TSV, folder / HTML]


def read_table(path: Path, columns: Row) -> Iterator[tuple[int, list[str]]]:
    """The lines that are left in a table, each with its number."""
    try:
        text = io.StringIO(read_input(path).decode(), newline="")
        rows = list(csv.reader(text, "excel-tab"))
    except (csv.Error, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: cannot be read as a table: {error}") from None
    if not rows or tuple(rows[0]) != tuple(columns):
        raise SgdxError(f"{path}:1: expected the columns {', '.join(columns)}")
    for number, row in enumerate(rows[1:], 2):
        if any(row):
            if len(row) != len(columns):
                raise SgdxError(f"{path}:{number}: found {row[:3]}, expected {', '.join(columns)}")
            cells = [c[1:] if c[:1] == "'" and _FORMULA.match(c[1:]) else c for c in row]
            yield number, cells


def write_review(folder: Path, tools: Mapping[str, Tool], pool: Pool, made_by: str) -> list[Path]:
    """Write both tables of a pool of paraphrases; returns their paths."""
    lines = [
        ReviewLine(tool, path, kind, getattr(original, kind), text, made_by)
        for (tool, path), paraphrases in pool.items()
        for original in [tools[tool].elements[path]]
        for kind in KINDS
        for text in getattr(paraphrases, kind)
    ]

    def show(line: Row) -> Row:
        tool, path, *cells, _ = line
        return [f"{tool} {path}".rstrip(), *cells]

    text = (
        f"{len(lines)} new names and descriptions by {made_by or 'a file'}, each beside the "
        "original. Does each mean the same, and could somebody use the tool by it? Give the saved "
        "table to variants: {review: review.tsv} in sgdx.yaml, or to sgdx tools reword FOLDER "
        "--with review:review.tsv --output FOLDER/variants."
    )
    heads = ("tool and parameter", "kind", "original", "reworded")
    title = "New words, for review"
    return write_table(folder, ReviewLine._fields, lines, title, text, heads, show)


def read_review(path: Path, tools: Mapping[str, Tool]) -> tuple[Pool, str]:
    """The pool of the lines that are left in a table, and who found the words."""
    words: dict[ElementId, dict[str, list[str]]] = {}
    makers = set()
    elements = {tool: tools[tool].elements for tool in tools}
    for number, row in read_table(path, ReviewLine._fields):
        line = ReviewLine(*row)
        if line.kind not in KINDS:
            raise SgdxError(
                f"{path}:{number}: kind is {line.kind!r}, expected {' or '.join(KINDS)}"
            )
        element = elements.get(line.tool, {}).get(line.path)
        if element is not None and getattr(element, line.kind) != line.original:
            raise SgdxError(
                f"{path}:{number}: original is {line.original!r:.100}, and in the tools "
                f"{getattr(element, line.kind)!r:.100}: the table is of other tools"
            )
        of_element = words.setdefault((line.tool, line.path), {})
        of_element.setdefault(line.kind, []).append(line.reworded)
        makers.add(line.by)
    pool = {element: msgspec.convert(kinds, ElementPool) for element, kinds in words.items()}
    check_pool(pool, tools, str(path))
    return pool, "+".join(sorted(filter(None, makers)))


def _row(cells: Iterable[str]) -> str:
    text = io.StringIO(newline="")
    # A program that shows tables would obey a cell that begins so.
    guarded = [f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells]
    # Else a carriage return alone would end the line where the table is read.
    has_return = any("\r" in cell for cell in guarded)
    options: dict[str, Any] = {"quoting": csv.QUOTE_ALL} if has_return else {}
    csv.writer(text, "excel-tab", lineterminator="\n", **options).writerow(guarded)
    return text.getvalue()
