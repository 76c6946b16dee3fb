"""The table of new words beside the original ones, from which a person strikes lines out.

It is written as ``review.tsv``, and as ``review.html`` for reading. Lines that are deleted from the
first, or struck out in the second and saved, are left out by ``reword --review FILE``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_input, write_bytes

from .data import Tool
from .json_schema import elements_of
from .pool import ElementPool, Pool, ToolPool, check_pool, pool_elements

TSV, HTML = "review.tsv", "review.html"
_COLUMNS = ("tool", "path", "kind", "original", "reworded", "by")
_TEMPLATE = Path(__file__).parent / "templates" / "review.html"


class ReviewLine(NamedTuple):
    """A line of the table: one new name or description.

    Attributes:
        tool: The tool's id.
        path: The element's path; empty for the tool itself.
        kind: ``name`` or ``description``.
        original, reworded: The words.
        by: Who found them.
    """

    tool: str
    path: str
    kind: str
    original: str
    reworded: str
    by: str


def review_lines(tools: Mapping[str, Tool], pool: Pool, made_by: str) -> Iterator[ReviewLine]:
    """The lines for a pool of paraphrases."""
    elements = {tool: elements_of(tools[tool]) for tool in pool}
    for tool, path, paraphrases in pool_elements(pool):
        for kind in ("name", "description"):
            original = getattr(elements[tool][path], kind)
            for text in getattr(paraphrases, kind):
                yield ReviewLine(tool, path, kind, original, text, made_by)


def write_review(folder: Path, lines: list[ReviewLine]) -> list[Path]:
    """Write both tables; returns their paths.

    Raises:
        SgdxError: They cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, "excel-tab", lineterminator="\n")
    writer.writerows([_COLUMNS, *lines])
    write_bytes(folder / TSV, text.getvalue().encode())
    write_bytes(folder / HTML, _page(lines).encode())
    return [folder / TSV, folder / HTML]


def read_review(path: Path, tools: Mapping[str, Tool]) -> tuple[dict[str, ToolPool], str]:
    """The pool of the lines that are left in a table, and who found the words.

    Raises:
        SgdxError: The file is no such table, or does not fit the tools.
    """
    try:
        rows = list(csv.reader(io.StringIO(read_input(path).decode("utf-8-sig")), "excel-tab"))
    except (csv.Error, UnicodeDecodeError) as error:
        raise SgdxError(f"{path}: cannot be read as a table: {error}") from None
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise SgdxError(f"{path}:1: expected the columns {', '.join(_COLUMNS)}")
    words: dict[str, dict[str, dict[str, list[str]]]] = {}
    makers = set()
    for number, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        if len(row) != len(_COLUMNS) or row[2] not in ("name", "description"):
            raise SgdxError(f"{path}:{number}: found {row[:3]}, expected {', '.join(_COLUMNS)}")
        line = ReviewLine(*row)
        of_path = words.setdefault(line.tool, {}).setdefault(line.path, {})
        of_path.setdefault(line.kind, []).append(line.reworded)
        makers.add(line.by)
    pool = {
        tool: ToolPool(
            **{k: tuple(texts) for k, texts in of_tool.pop("", {}).items()},
            parameters={
                p: ElementPool(**{k: tuple(texts) for k, texts in of_path.items()})
                for p, of_path in of_tool.items()
            },
        )
        for tool, of_tool in words.items()
    }
    check_pool(pool, tools, str(path))
    return pool, "+".join(sorted(filter(None, makers)))


def _page(lines: list[ReviewLine]) -> str:
    """The table as a page that needs no other file."""
    rows, before = [], ("", "", "")
    for line in lines:
        element = line[:3]
        is_new = element != before
        before = element
        owner = f"{line.tool} {line.path}".rstrip() if is_new else ""
        cells = [owner, line.kind if is_new else "", line.original if is_new else "", line.reworded]
        shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        data = escape("\t".join(map(_quoted, line)))
        mark = ' class="first"' if is_new else ""
        rows.append(f'<tr{mark} tabindex="0" data-line="{data}">{shown}</tr>')
    makers = ", ".join(sorted({line.by for line in lines} - {""})) or "a file"
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        ROWS="\n".join(rows), COUNT=len(lines), BY=escape(makers), COLUMNS="\t".join(_COLUMNS)
    )


def _quoted(cell: str) -> str:
    """A cell of a table with tabs, quoted where it has to be."""
    special = any(character in cell for character in '\t\n\r"')
    return '"' + cell.replace('"', '""') + '"' if special else cell
