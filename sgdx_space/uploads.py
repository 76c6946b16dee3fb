"""What the tabs do with the files that a visitor drops: name their variant, show what is wrong."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import msgspec

from sgdx_dataset.io.files import read_input
from sgdx_dataset.io.json import parse_json
from sgdx_metric.cli.headers import parse_header
from sgdx_metric.variants import ORIGINAL


class _Row(msgspec.Struct):
    variant: str | None = None


def stated_variant(path: Path) -> str:
    """The variant that a prediction file's first line names; the original where it names none."""
    line = read_input(path).partition(b"\n")[0]
    header = parse_header(line, path)
    if header is None:
        row = parse_json(line, _Row, f"{path}:1", "a line of predictions")
        return row.variant or ORIGINAL
    return header.variant or ORIGINAL


def shown_problem(error: Exception, paths: Sequence[str] | None = None) -> str:
    """An error as HTML for the page, that names dropped files without their folders."""
    text = str(error)
    for path in paths or ():
        text = text.replace(path, Path(path).name)
    return f"<p class='problem' role='alert'>{escape(text)}</p>"
