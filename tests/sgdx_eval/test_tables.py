"""The one table: figures as texts, and what it looks like on the terminal, in Markdown and HTML."""

from __future__ import annotations

import html
import io
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from sgdx_eval.tables import (
    NO_VALUE,
    Cell,
    Column,
    Table,
    printable,
    table,
    to_html,
    to_markdown,
    to_terminal,
)


def printed(shown: Table, width: int = 80) -> list[str]:
    output = io.StringIO()
    to_terminal(shown, Console(file=output, width=width))
    return output.getvalue().splitlines()


def test_on_the_terminal() -> None:
    rows = [["all", "1.00", "-1.00 to 2.00"], ["seen", "12.00", "–"]]
    headers = ["services", "a figure", "95 % interval"]
    assert printed(table("In %", headers, rows, breaks=[0])) == [
        "In %",
        "services  a figure  95 % interval",
        "─────────────────────────────────",
        "all           1.00  -1.00 to 2.00",
        "                                 ",
        "seen         12.00              –",
        "",
    ]


GROUPS = Table(
    "Scores",
    [Column("system", numeric=False), Column("orig", "a"), Column("v1-5", "a")],
    [
        [Cell("one", "2 seeds"), Cell("50.0", "48.0 to 52.0"), Cell("40.0")],
        [Cell("one", "2 seeds"), Cell("5.0"), Cell(NO_VALUE)],
        [Cell("two_b", link="x/my runs"), Cell("5.0"), Cell("4.0")],
    ],
    "Read it so.",
)


def test_in_markdown() -> None:
    assert to_markdown(GROUPS).splitlines() == [
        "### Scores",
        "",
        "| system | a: orig | a: v1-5 |",
        "| --- | ---: | ---: |",
        "| one (2 seeds) | 50.0 (48.0 to 52.0) | 40.0 |",
        "| one (2 seeds) | 5.0 | – |",
        "| [two_b](x/my%20runs) | 5.0 | 4.0 |",
        "",
        "Read it so.",
    ]


def test_in_html() -> None:
    number = '<td class="number">'
    assert to_html(GROUPS).replace("\n", "") == (
        "<table><caption>Scores</caption>"
        '<thead><tr><td colspan="1"></td><th class="number" scope="colgroup" colspan="2">a</th>'
        '</tr><tr><th scope="col">system</th><th scope="col" class="number">orig</th>'
        '<th scope="col" class="number">v1-5</th></tr></thead>'
        '<tbody><tr><th scope="rowgroup" rowspan="2">one<small>2 seeds</small></th>'
        f"{number}50.0<small>48.0 to 52.0</small></td>{number}40.0</td></tr>"
        f"<tr>{number}5.0</td>{number}–</td></tr>"
        '<tbody><tr><th scope="row"><a href="x/my runs">two_b</a></th>'
        f"{number}5.0</td>{number}4.0</td></tr></table>"
    )


HARMFUL = st.text(max_size=90) | st.text("<>&|`*_[]()~!#\\\"' -a\n\t\x1b\u202e界", max_size=30)


@given(st.lists(HARMFUL, min_size=5, max_size=5))
def test_any_text_stays_text_in_all_three(texts: list[str]) -> None:
    title, name, head, detail, other = texts
    columns = [Column(head, numeric=False), Column("n"), Column("x", numeric=False)]
    shown = Table(title, columns, [[Cell(name, detail), Cell("12.34"), Cell(other)]])

    lines = printed(Table("", columns, shown.rows))
    assert max(map(cell_len, lines)) <= 80 and any("12.34" in line for line in lines)
    for text in ("\n".join(lines), "\n".join(printed(shown))):
        assert not [c for c in text if c in "\x1b\u202e\t" or (ord(c) < 32 and c != "\n")]

    page, tags = to_html(shown), {"table", "caption", "thead", "tbody", "tr", "th", "td", "small"}
    assert {*re.findall(r"</?([^\s>]*)", page)} <= tags
    found = re.findall(r"<(?:td|th|caption|small)\b[^>]*>([^<]*)", page)
    expected = [title, head, "n", "x", name, *([detail] if detail else []), "12.34", other]
    assert list(map(html.unescape, found)) == list(map(printable, expected))

    tokens = MarkdownIt("commonmark").enable("table").parse(to_markdown(shown))
    inline = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children or ()}
    assert kinds <= {"text", "text_special"}
    cells = ["".join(child.content for child in token.children or ()) for token in inline]
    shown_texts = [head, "n", "x", name, "12.34", other]
    flat = [" ".join(printable(text).split()) for text in shown_texts]
    if detail:
        flat[3] += f" ({' '.join(printable(detail).split())})"
    assert [cell.strip() for cell in cells[-len(flat) :]] == [text.strip() for text in flat]
