"""A dialogue under several variants side by side, in the terminal or as a web page.

Under every variant the dialogue's values are the same, and only names differ. So each user turn has
a table with a column of names for every variant, and the values beside them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from msgspec.json import encode
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .configs import SPLITS, split_name
from .io.console import escape_controls
from .io.errors import SgdxError
from .io.files import HTML_MARK, write_bytes
from .io.json import pretty_json
from .release import Release
from .rows import Row, read_dialogues, row_tables

# Of what rich writes; lines that are longer than the window go on in the next one.
_PAGE = """<!doctype html>
<meta charset="utf-8"><meta name="generator" content="sgdx">
<meta name="viewport" content="width=device-width, initial-scale=1">
<pre style="white-space: pre-wrap"><code>{code}</code></pre>
"""


def show(
    release: Release,
    dialogue_id: str | None,
    configs: Sequence[str],
    split: str | None = None,
    html: Path | None = None,
) -> None:
    """Print a dialogue under several variants, and write it as a web page if asked."""
    for config in configs:
        release.check_dialogues(config)
    release, split, dialogue_id = _find(release, dialogue_id, configs, split)
    rows = [
        row
        for config in configs
        for _, table in row_tables(release, split, config, dialogue_ids=[dialogue_id])
        for row in table.to_pylist()
    ]
    if html:
        page = Console(record=True, file=io.StringIO(), width=160, highlight=False)
        _print_dialogue(rows, split, page)
        shown = page.export_html(inline_styles=True, code_format=_PAGE)
        write_bytes(html, shown.encode(), mark=HTML_MARK)
    _print_dialogue(rows, split, Console(highlight=False))


def _find(
    release: Release, dialogue_id: str | None, configs: Sequence[str], split: str | None
) -> tuple[Release, str, str]:
    """The files and the split that have a dialogue, and its id.

    Without an id, it is the first one that has a service in other words, or else the first.
    """
    variants = [variant for config in configs for variant in release.variants(config)]
    splits = [split_name(split)] if split else list(reversed(SPLITS))
    for name in splits:
        if not release.dialogue_files(name):
            continue
        searched = release.with_dialogue(name, dialogue_id) if dialogue_id else release
        reworded = {
            old.service_name
            for variant in variants
            if name in release.schema_splits(variant)
            for old, new in zip(release.schema(name, "original"), release.schema(name, variant))
            if encode(old) != encode(new)
        }
        first = ""
        for _, dialogues in read_dialogues(searched, name):
            for dialogue in dialogues:
                found = dialogue["dialogue_id"]
                first = first or found
                if found == dialogue_id or not (
                    dialogue_id or reworded.isdisjoint(dialogue["services"])
                ):
                    return searched, name, found
        if not dialogue_id:
            return release, name, first
    expected = f" {dialogue_id!r}, expected an id such as 1_00000" if dialogue_id else ""
    raise SgdxError(f"{release.name}: {', '.join(splits)}: found no dialogue{expected}")


def _print_dialogue(rows: Sequence[Row], split: str, console: Console) -> None:
    """Print the rows of a dialogue; variants that do not fit beside each other come below."""
    console.print(f"[bold]Dialogue {_shown(rows[0]['dialogue_id'])}[/bold] ({split})")
    variants = [row["variant"] for row in rows]
    turns, widths = [], list(map(len, variants))  # of the longest names
    for versions in zip(*(row["turns"] for row in rows), strict=True):
        lines = []  # what each is about, the name in each variant, the value
        for frames in zip(*(turn["frames"] for turn in versions), strict=True):
            if any(states := [frame["state"] for frame in frames]):
                lines.append(("service", [frame["service"] for frame in frames], ""))
                lines.append(("intent", [state["active_intent"] for state in states], ""))
                for pairs in zip(*(state["slot_values"] for state in states)):
                    value = " / ".join(pairs[0]["values"])
                    lines.append(("slot", [pair["slot"] for pair in pairs], value))
                for asked in zip(*(state["requested_slots"] for state in states)):
                    lines.append(("asks for", list(asked), ""))
        turns.append((versions[0], lines))
        for _, names, _ in lines:
            widths = [max(width, len(name)) for width, name in zip(widths, names)]
    # How many are in a group: 34 columns are for kind and value.
    size = max(1, (console.width - 34) // (max(widths) + 2))
    for turn, lines in turns:
        style = "bold" if turn["speaker"] == "USER" else "dim"
        console.print(f"\n[{style}]{turn['speaker']}[/{style}]  {_shown(turn['utterance'])}")
        for start in range(0, len(variants) if lines else 0, size):
            table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
            table.add_column("", min_width=len("asks for"))
            for variant, width in list(zip(variants, widths))[start : start + size]:
                table.add_column(_shown(variant), overflow="fold", min_width=width)
            table.add_column("value", overflow="fold")
            for kind, names, value in lines:
                cells = [kind, *names[start : start + size], value]
                table.add_row(*map(_shown, cells), style="bold" if kind == "service" else None)
            console.print(table)


def _shown(text: str) -> str:
    """Text of the data as ``rich`` shows it: no markup, and no control characters either."""
    return escape(escape_controls(text))


def words_of_service(release: Release, service_name: str) -> str:
    """All names and descriptions of a service, as JSON that ``--variant NAME=FILE`` takes."""
    schemas = (release.schema(s, "original") for s in release.schema_splits("original"))
    services = {service.service_name: service for schema in schemas for service in schema}
    if service_name not in services:
        names = ", ".join(sorted(services))
        raise SgdxError(f"{release.name}: has no service {service_name}, expected one of {names}")
    service = services[service_name]
    words: dict[str, object] = {"name": service_name, "description": service.description}
    for kind, elements in (("slots", service.slots), ("intents", service.intents)):
        words[kind] = {e.name: {"name": e.name, "description": e.description} for e in elements}
    return pretty_json({service_name: words}, 2).decode().rstrip()
