"""What a table of the report consists of, and how scores become the text of its cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np

NO_VALUE = "–"
# Control characters but tab and line feed, and the marks that change the direction of writing.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Cell(NamedTuple):
    """A cell: its text and, in smaller type, an interval or a remark."""

    text: str
    detail: str = ""


class Column(NamedTuple):
    """A column: its name, the system that it is about if any, and whether it holds numbers."""

    name: str
    system: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Attributes:
        title: Its caption.
        note: How to read it, in whole sentences.
        columns: Its columns; the first names the row.
        rows: Its rows, each as long as ``columns``.
        caveats: What must stand beside every number in it, such as that the data is partial.
        signatures: The signatures of the runs that it shows, each with the names of its systems,
            or with an empty text where all systems share it.
        folded: Whether the page shows its title alone until a reader opens it.
    """

    title: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caveats: Sequence[str] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)
    folded: bool = False


def printable(text: str, longest: int = 400) -> str:
    """A text without control characters and direction marks, cut where it is very long."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= longest else f"{text[:longest]} …"


def percent(fraction: float | None) -> str:
    """A fraction in percent with one decimal, such as ``34.9``; a dash for None or NaN."""
    if fraction is None or np.isnan(fraction):
        return NO_VALUE
    return f"{round(100 * fraction, 1) + 0.0:.1f}"  # never -0.0


def signed_points(fraction: float) -> str:
    """A difference in percentage points, such as ``+1.5``; a dash for NaN.

    What rounds to zero keeps its sign, as in ``-0.0``: it tells whether an interval contains zero.
    """
    return NO_VALUE if np.isnan(fraction) else f"{100 * fraction + 0.0:+.1f}"


def format_over_runs(
    values: Sequence[float | None],
    interval: tuple[float, float] | None = None,
    text: Callable[[float], str] = percent,
) -> Cell:
    """The cell of a system's score: of one run with its interval, of several as mean ± deviation.

    Args:
        values: The score in each run; where one is None or NaN, the cell is a dash.
        interval: The 95 % interval of a single run's score.
        text: Formats a score.
    """
    defined = [value for value in values if value is not None and not np.isnan(value)]
    if len(defined) < len(values) or not defined:
        return Cell(NO_VALUE)
    if len(defined) > 1:
        return Cell(text(mean(defined)), f"± {text(stdev(defined))}")
    return Cell(text(defined[0]), f"{text(interval[0])} to {text(interval[1])}" if interval else "")


def markdown(text: str) -> str:
    """A text in which nothing is markup of Markdown or HTML, on one line."""
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]|])", r"\\\1", text)
