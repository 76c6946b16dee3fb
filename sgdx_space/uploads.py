"""What the tabs show of the files that a visitor drops: what is wrong with them."""

from collections.abc import Sequence
from html import escape
from pathlib import Path


def shown_problem(error: Exception, paths: Sequence[str] | None = None) -> str:
    """An error as HTML for the page, that names dropped files without their folders."""
    text = str(error)
    for path in paths or ():
        text = text.replace(path, Path(path).name)
    return f"<p class='problem' role='alert'>{escape(text)}</p>"
