"""Statistics as tables on the terminal, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..io.console import escape_controls
from ..io.files import write_bytes

Statistics = dict[str, Any]
# By the name of a figure: its label, the format of what is computed here, that of the published.
_ROWS = {
    "slots_seen": ("% slots seen", ".1f", ".0f"),
    "intents_seen": ("% intents seen", ".1f", ".0f"),
    "name_distance": ("distance", ".3f", ".2f"),
    "description_bleu": ("BLEU", ".1f", ".1f"),
}


def write_json(figures: Statistics, path: Path) -> None:
    """Write what ``statistics`` returned to a file; ``SgdxError`` where it cannot be written."""
    write_bytes(path, json.dumps(figures, indent=2, ensure_ascii=False).encode() + b"\n")


def print_report(figures: Statistics, console: Console | None = None) -> None:
    """Print what ``statistics`` returned as tables; for SGD, beside the published figures."""
    console = console or Console(highlight=False)
    published = figures["published"]
    note = f"Partial copy of SGD: {figures['missing']}." if figures["missing"] else ""
    schemas = figures["schemas"]
    published_schemas = published["schemas"] if published else None
    for part, title in (("variants", "Schema variants"), ("backtrans", "Back-translated schemas")):
        if schemas[part]:
            console.print(
                _schema_table(title, schemas[part], published_schemas and published_schemas[part])
            )
            prefix = "" if part == "variants" else "backtrans_"
            _print_self_bleu(console, schemas, published_schemas, f"{prefix}self_bleu")
    if overlaps := schemas["overlaps"]:
        console.print(_overlap_table(overlaps))
    console.print(
        "{services} services, {slots} slots, {intents} intents".format(**schemas["elements"])
    )
    console.print("Seen: of unseen test services' slot and intent names, those that train has.")
    console.print("Distance: of names; insertions and deletions over both lengths (Indel).")
    console.print(f"BLEU: of descriptions; {schemas['bleu']}")
    if published:
        console.print("In brackets: {schemas}; {dialogues}.".format(**published["sources"]))
    published_counts = published["dialogues"]["counts"] if published else {}
    for split, kinds in figures["dialogues"]["counts"].items():
        console.print(_count_table(split, kinds, published_counts.get(split, {}), note))


def _schema_table(title: str, rows: Statistics, published: Statistics | None) -> Table:
    table = _table(title, rows)
    for name, (label, form, their_form) in _ROWS.items():
        values = [row.get(name) for row in rows.values()]
        if any(value is not None for value in values):
            table.add_row(label, *(_number(value, form) for value in values))
            if published:
                published_values = [published.get(variant, {}).get(name) for variant in rows]
                table.add_row(
                    "",
                    *(_beside(value, their_form) for value in published_values),
                    end_section=True,
                )
    return table


def _print_self_bleu(
    console: Console, schemas: Statistics, published: Statistics | None, name: str
) -> None:
    if scores := schemas[name]:
        beside = f" {_beside(published[name], '.1f')}" if published else ""
        text = "self-BLEU: {corpus:.1f} as corpora, {sentence:.1f} as sentences".format(**scores)
        console.print(f"{text}{beside}")


def _overlap_table(overlaps: Statistics) -> Table:
    title = "Of train texts that the original lacks, those that v1..v5 have (same element)"
    table = _table(title, overlaps)
    for part in ("names", "descriptions"):
        cells = [
            "{count} of {new} ({of_same_element})".format(**entry[part])
            for entry in overlaps.values()
        ]
        table.add_row(part, *cells)
    return table


def _count_table(split: str, kinds: Statistics, published: Statistics, note: str) -> Table:
    table = _table(f"Dialogues of {split}", kinds, note)
    for name in kinds["combined"]:
        form = ",.3f" if "_per_" in name else ",d"
        cells = []
        for kind, counts in kinds.items():
            published_count = published.get(kind, {}).get(name)
            cells.append(_pair(_number(counts[name], form), published_count, form))
        table.add_row(name.replace("_", " "), *cells)
    return table


def _table(title: str, columns: Iterable[str], note: str = "") -> Table:
    table = Table(title=title, caption=note or None, title_justify="left", caption_justify="left")
    table.add_column("")
    for column in columns:
        table.add_column(
            "avg" if column == "average" else escape(escape_controls(column)), justify="right"
        )
    return table


def _pair(text: str, published: float | None, form: str) -> str:
    return text if published is None else f"{text} {_beside(published, form)}"


def _beside(published: float | None, form: str) -> str:
    return "" if published is None else f"[dim]({published:{form}})[/dim]"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
