"""Keep the scores of committed runs small: figures as JSON, what is of single items compressed.

``python -m maintenance.results FOLDER ...`` moves ``paired``, and of ``variants`` the metrics by
service and domain, from ``FOLDER/scores.json`` into ``FOLDER/items.json.gz``. All commands that
read a scores.json read what lies beside it.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from sgdx_eval.results import ITEMS, stored


def split(folder: Path) -> None:
    """Split the scores of a run."""
    path = folder / "scores.json"
    content = stored(path)
    items = {key: content[key] for key in ("paired", "variants") if key in content}
    figures = {key: value for key, value in content.items() if key != "paired"}
    if "variants" in content:  # calls have none
        figures["variants"] = {
            name: {group: metrics for group, metrics in groups.items() if group.startswith("#")}
            for name, groups in content["variants"].items()
        }
    # Without a time, so that the same scores are the same bytes.
    compact = json.dumps(items, separators=(",", ":")).encode()
    path.with_name(ITEMS).write_bytes(gzip.compress(compact, mtime=0))
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        split(Path(argument))
