"""Showing a dialogue under several wordings side by side, in the terminal or as a web page.

Under every wording the dialogue's values are the same, and only names differ. So each user turn has
a table with a column of names for every wording, and the values beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..io.files import write_bytes
from ..release.release import Release
from .dialogue import shown_dialogue
from .terminal import print_dialogue
from .web_page import web_page


def show(
    release: Release,
    dialogue_id: str | None,
    configs: Sequence[str],
    split: str | None = None,
    html: Path | None = None,
) -> None:
    """Print a dialogue under several wordings, and write it as a web page if asked."""
    shown = shown_dialogue(release, dialogue_id, configs, split)
    if html:
        write_bytes(html, web_page(shown).encode())
    print_dialogue(shown)
