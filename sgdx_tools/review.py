"""The table of new words beside the original ones, from which a person strikes lines out.

It is written as ``review.tsv``, and as ``review.html`` for reading. Lines that are deleted from the
first, or struck out in the second and saved, are left out by ``reword --review FILE``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input, write_bytes

from .data import ElementId, Tool
from .json_schema import elements_of
from .pool import KINDS, ElementPool, Pool, check_pool

TSV, HTML = "review.tsv", "review.html"
_TEMPLATE = Path(__file__).parent / "templates" / "review.html"


class ReviewLine(NamedTuple):
    """A line of the table: one new name or description."""

    tool: str
    # Empty for the tool itself.
    path: str
    # One of KINDS.
    kind: str
    original: str
    reworded: str
    # Who found the words.
    by: str


_COLUMNS = ReviewLine._fields
_FORMULA = re.compile("'*[=+@-]")


def write_review(folder: Path, tools: Mapping[str, Tool], pool: Pool, made_by: str) -> list[Path]:
    """Write both tables of a pool of paraphrases; returns their paths."""
    lines = [
        ReviewLine(tool, path, kind, getattr(original, kind), text, made_by)
        for (tool, path), paraphrases in pool.items()
        for original in [elements_of(tools[tool])[path]]
        for kind in KINDS
        for text in getattr(paraphrases, kind)
    ]
    write_bytes(folder / TSV, "".join(map(_row, [_COLUMNS, *lines])).encode())
    write_bytes(folder / HTML, _page(lines).encode())
    return [folder / TSV, folder / HTML]


def _row(cells: Iterable[str]) -> str:
    text = io.StringIO()
    # A program that shows tables would obey a cell that begins so.
    guarded = [f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells]
    csv.writer(text, "excel-tab", lineterminator="\n").writerow(guarded)
    return text.getvalue()


def _unguarded(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell


def read_review(path: Path, tools: Mapping[str, Tool]) -> tuple[Pool, str]:
    """The pool of the lines that are left in a table, and who found the words."""
    try:
        rows = list(csv.reader(io.StringIO(read_input(path).decode("utf-8-sig")), "excel-tab"))
    except (csv.Error, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: cannot be read as a table: {error}") from None
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise SgdxError(f"{path}:1: expected the columns {', '.join(_COLUMNS)}")
    words: dict[ElementId, dict[str, list[str]]] = {}
    makers = set()
    elements = {tool: elements_of(tools[tool]) for tool in tools}
    for number, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        if len(row) != len(_COLUMNS) or row[2] not in KINDS:
            raise SgdxError(f"{path}:{number}: found {row[:3]}, expected {', '.join(_COLUMNS)}")
        line = ReviewLine(*map(_unguarded, row))
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


def _page(lines: list[ReviewLine]) -> str:
    """The table as a page that needs no other file."""
    rows, before = [], ("", "", "")
    for line in lines:
        element = line[:3]
        is_new = element != before
        before = element
        owner = f"{line.tool} {line.path}".rstrip()
        cells = [*([owner, line.kind, line.original] if is_new else ["", "", ""]), line.reworded]
        shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        mark = ' class="first"' if is_new else ""
        data = escape(_row(line).removesuffix("\n"))
        rows.append(f'<tr{mark} tabindex="0" data-line="{data}">{shown}</tr>')
    makers = ", ".join(sorted({line.by for line in lines} - {""})) or "a file"
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        ROWS="\n".join(rows), COUNT=len(lines), BY=escape(makers), COLUMNS="\t".join(_COLUMNS)
    )
