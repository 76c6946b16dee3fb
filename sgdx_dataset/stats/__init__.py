"""Statistics of a release, with the published figures beside those of SGD and SGD-X."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..io.files import write_bytes
from ..release.download import DIALOGUES, missing_from_sgd
from ..release.release import Release
from . import published
from .dialogues import dialogue_statistics
from .report import print_report
from .schemas import schema_statistics


def stats(release: Release, json_file: Path | None = None) -> None:
    """Print the statistics of a release, and write them to a file if asked."""
    figures = statistics(release)
    print_report(figures)
    if json_file:
        text = json.dumps(figures, indent=2, ensure_ascii=False)
        write_bytes(json_file, text.encode() + b"\n")


def statistics(release: Release) -> dict[str, Any]:
    """The statistics that ``stats`` prints, as JSON values; ``published`` has the same keys."""
    schemas, dialogues = schema_statistics(release), dialogue_statistics(release)
    counts = {split: kinds["combined"]["dialogues"] for split, kinds in dialogues["counts"].items()}
    is_sgd = release.is_sgd()
    return {
        "source": release.name,
        "sgd": is_sgd,
        "missing": missing_from_sgd(counts, DIALOGUES, "dialogues") if is_sgd else "",
        "schemas": schemas,
        "dialogues": dialogues,
        "published": published.FIGURES if is_sgd else None,
    }
