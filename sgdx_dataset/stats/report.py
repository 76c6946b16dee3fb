"""Statistics as tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..io.console import escape_controls

Statistics = dict[str, Any]
# By the name of a figure: its label, the format of what is computed here, that of the published.
_ROWS = {
    "slots_seen": ("% slots seen", ".1f", ".0f"),
    "intents_seen": ("% intents seen", ".1f", ".0f"),
    "name_distance": ("distance", ".3f", ".2f"),
    "description_bleu": ("BLEU", ".1f", ".1f"),
}


def print_report(figures: Statistics, console: Console | None = None) -> None:
    """Print what ``statistics`` returned as tables; for SGD, beside the published figures."""
    console = console or Console(highlight=False)
    schemas, published = figures["schemas"], figures["published"] or {}
    theirs = published.get("schemas", {})
    for part, title in (("variants", "Schema variants"), ("backtrans", "Back-translated schemas")):
        name = "self_bleu" if part == "variants" else "backtrans_self_bleu"
        if schemas[part]:
            console.print(_schema_table(title, schemas[part], theirs.get(part, {})))
        if scores := schemas[name]:
            text = "self-BLEU: {corpus:.1f} as corpora, {sentence:.1f} as sentences"
            console.print(f"{text.format(**scores)} {_beside(theirs.get(name), '.1f')}".rstrip())
    if overlaps := schemas["overlaps"]:
        title = "Of train texts that the original lacks, those that v1..v5 have (same element)"
        table, form = _table(title, overlaps), "{count} of {new} ({of_same_element})"
        for part in ("names", "descriptions"):
            table.add_row(part, *(form.format(**entry[part]) for entry in overlaps.values()))
        console.print(table)
    console.print(
        "{services} services, {slots} slots, {intents} intents".format(**schemas["elements"])
    )
    console.print("Seen: of unseen test services' slot and intent names, those that train has.")
    console.print("Distance: of names; insertions and deletions over both lengths (Indel).")
    console.print(f"BLEU: of descriptions; {schemas['bleu']}")
    if published:
        console.print("In brackets: {schemas}; {dialogues}.".format(**published["sources"]))
    note = f"Partial copy of SGD: {figures['missing']}." if figures["missing"] else ""
    published_counts = published.get("dialogues", {}).get("counts", {})
    for split, kinds in figures["dialogues"]["counts"].items():
        console.print(_count_table(split, kinds, published_counts.get(split, {}), note))


def _schema_table(title: str, rows: Statistics, published: Statistics) -> Table:
    table = _table(title, rows)
    for name, (label, form, their_form) in _ROWS.items():
        values = [row.get(name) for row in rows.values()]
        if any(value is not None for value in values):
            table.add_row(label, *("–" if v is None else format(v, form) for v in values))
            if published:
                theirs = (published.get(variant, {}).get(name) for variant in rows)
                beside = (_beside(value, their_form) for value in theirs)
                table.add_row("", *beside, end_section=True)
    return table


def _count_table(split: str, kinds: Statistics, published: Statistics, note: str) -> Table:
    table = _table(f"Dialogues of {split}", kinds, note)
    for name in kinds["combined"]:
        form = ",.3f" if "_per_" in name else ",d"
        cells = []
        for kind, counts in kinds.items():
            beside = _beside(published.get(kind, {}).get(name), form)
            cells.append(f"{counts[name]:{form}} {beside}".rstrip())
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


def _beside(published: float | None, form: str) -> str:
    return "" if published is None else f"[dim]({published:{form}})[/dim]"
