"""Showing a dialogue under several wordings side by side, in the terminal or as a web page.

Under every wording the dialogue's values are the same, and only names differ. So each user turn has
a table with a column of names for every wording, and the values beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as html_escape
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape as markup_escape
from rich.table import Table

from .io.console import escape_controls
from .io.errors import SgdxError
from .io.files import write_bytes
from .release.dialogue import Frame, read_dialogues
from .release.release import Release
from .release.schema import SPLITS, Schema, split_name
from .rows.dialogue_columns import dialogue_columns
from .rows.name_codes import Coder, Names

DialogueRow = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """A line of a turn's table.

    Attributes:
        kind: What the line is about: ``service``, ``intent``, ``slot`` or ``asks for``.
        names: Its name under each wording.
        value: What a slot is filled with, and empty for the other kinds.
    """

    kind: str
    names: list[str]
    value: str = ""


@dataclass(frozen=True)
class ShownTurn:
    """A turn, with the lines of its states; a system turn has none."""

    speaker: str
    utterance: str
    lines: list[Line]


@dataclass(frozen=True)
class ShownDialogue:
    """A dialogue under several wordings; ``wordings`` are the heads of the columns of names."""

    dialogue_id: str
    split: str
    wordings: list[str]
    turns: list[ShownTurn]


def show(
    release: Release,
    dialogue_id: str,
    configs: Sequence[str],
    split: str | None = None,
    html: Path | None = None,
) -> None:
    """Print a dialogue under several wordings at the terminal, and write it as a web page if asked.

    Args:
        release: The release that has the dialogue.
        dialogue_id: The dialogue's id, as in ``1_00000``.
        configs: The wordings to show, each a config of the release.
        split: The split that has the dialogue, as splits may have the same ids; None stands for the
            first of test, validation and train that has it.
        html: A file to write a web page to that needs no other file, or None.

    Raises:
        SgdxError: The dialogue, a config or the split is unknown, or the file cannot be written.
    """
    shown = shown_dialogue(release, dialogue_id, configs, split)
    print_dialogue(shown)
    if html:
        write_bytes(html, web_page(shown).encode())


def shown_dialogue(
    release: Release, dialogue_id: str, configs: Sequence[str], split: str | None = None
) -> ShownDialogue:
    """Find a dialogue and put it under several wordings; see ``show``."""
    for config in configs:
        release.check_config(config)
    splits = [split_name(split)] if split else list(reversed(SPLITS))
    split, file = _find(release, dialogue_id, splits)
    wordings = [variant for config in configs for variant in release.variants(config)]
    for config in configs:
        release.check_dialogues(config, split)
    original = release.schema(split, "original")
    found = read_dialogues(release.read(file), f"{release.name}: {file}", Frame)
    dialogues = [dialogue for dialogue in found if dialogue.dialogue_id == dialogue_id]
    named = dialogue_columns(dialogues, Frame, Coder.of(original), f"{release.name}: {file}")
    rows = []
    for wording in wordings:
        schema: Schema = release.schema(split, wording)
        names = Names.of(wording, schema, original, release.seen_services())
        rows.append(named(names).to_pylist()[0])
    turns = [_shown_turn(turns) for turns in zip(*(row["turns"] for row in rows), strict=True)]
    return ShownDialogue(dialogue_id, split, wordings, turns)


def _find(release: Release, dialogue_id: str, splits: Sequence[str]) -> tuple[str, str]:
    """The first of the splits that has a dialogue, and its file.

    Only files that mention the id are parsed.
    """
    mentioned = f'"{dialogue_id}"'.encode()
    for split in splits:
        for file in release.dialogue_files(split):
            data = release.read(file)
            if mentioned in data:
                dialogues = read_dialogues(data, f"{release.name}: {file}", Frame)
                if any(dialogue.dialogue_id == dialogue_id for dialogue in dialogues):
                    return split, file
    where = f"{release.name}: {', '.join(splits)}"
    raise SgdxError(f"{where}: found no dialogue {dialogue_id!r}, expected an id such as 1_00000")


def _shown_turn(turns: Sequence[dict[str, Any]]) -> ShownTurn:
    """One turn, from its rows under every wording."""
    lines: list[Line] = []
    for frames in zip(*(turn["frames"] for turn in turns), strict=True):
        if frames[0]["state"] is not None:
            lines += _state_lines(frames)
    return ShownTurn(turns[0]["speaker"], turns[0]["utterance"], lines)


def _state_lines(frames: Sequence[dict[str, Any]]) -> list[Line]:
    """The lines of one service's state, from its frame under every wording."""
    states = [frame["state"] for frame in frames]
    lines = [
        Line("service", [frame["service"] for frame in frames]),
        Line("intent", [state["active_intent"] for state in states]),
    ]
    for pairs in zip(*(state["slot_values"] for state in states), strict=True):
        lines.append(Line("slot", [p["slot"] for p in pairs], " / ".join(pairs[0]["values"])))
    for names in zip(*(state["requested_slots"] for state in states), strict=True):
        lines.append(Line("asks for", list(names)))
    return lines


def _escaped(text: str) -> str:
    """Text of the data as ``rich`` shows it: no markup, and no control characters either."""
    return markup_escape(escape_controls(text))


def print_dialogue(shown: ShownDialogue, console: Console | None = None) -> None:
    """Print a dialogue; wordings that do not fit beside each other come below each other."""
    console = console or Console(highlight=False)
    console.print(f"[bold]Dialogue {_escaped(shown.dialogue_id)}[/bold] ({shown.split})")
    for turn in shown.turns:
        style = "bold" if turn.speaker == "USER" else "dim"
        console.print()
        console.print(f"[{style}]{turn.speaker}[/{style}]  {_escaped(turn.utterance)}")
        if turn.lines:
            for columns in _beside_each_other(turn, shown.wordings, console.width):
                console.print(_table(turn, shown.wordings, columns))


def _beside_each_other(turn: ShownTurn, wordings: Sequence[str], width: int) -> list[list[int]]:
    """Positions of the wordings in each table, so that no name is cut at this width."""
    values = max(len(line.value) for line in turn.lines)
    room = width - len("asks for") - max(values, len("value")) - 2 * _GAP
    groups: list[list[int]] = []
    used = width
    for i, wording in enumerate(wordings):
        column = max(len(wording), *(len(line.names[i]) for line in turn.lines)) + _GAP
        if used + column > room:
            groups.append([])
            used = 0
        groups[-1].append(i)
        used += column
    return groups


_GAP = 2  # spaces after a column


def _table(turn: ShownTurn, wordings: Sequence[str], columns: Sequence[int]) -> Table:
    """A turn's table with the wordings at these positions."""
    table = Table(box=None, header_style="dim", padding=(0, _GAP, 0, 0))
    table.add_column("", min_width=len("asks for"))
    for i in columns:
        table.add_column(_escaped(wordings[i]), overflow="fold")
    table.add_column("value", overflow="fold")
    for line in turn.lines:
        style = "bold" if line.kind == "service" else None
        cells = [line.kind, *(line.names[i] for i in columns), line.value]
        table.add_row(*map(_escaped, cells), style=style)
    return table


def web_page(shown: ShownDialogue) -> str:
    """A dialogue as an HTML page that needs no other file, in light and dark colours."""
    title = f"Dialogue {html_escape(shown.dialogue_id)} ({shown.split})"
    turns = "\n".join(_html_turn(turn, shown.wordings) for turn in shown.turns)
    return _PAGE.replace("TITLE", title).replace("TURNS", turns)


def _html_turn(turn: ShownTurn, wordings: Sequence[str]) -> str:
    said = f"<p><b>{turn.speaker}</b> {html_escape(turn.utterance)}</p>"
    if not turn.lines:
        return f'<section class="{turn.speaker.lower()}">{said}</section>'
    head = "".join(f"<th>{html_escape(text)}</th>" for text in ("", *wordings, "value"))
    rows = "\n".join(_html_line(line) for line in turn.lines)
    table = f"<div><table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    return f'<section class="{turn.speaker.lower()}">{said}{table}</section>'


def _html_line(line: Line) -> str:
    """A line of a turn's table; names that differ from the first wording's are marked."""
    names = "".join(
        f'<td class="{"same" if name == line.names[0] else "new"}">{html_escape(name)}</td>'
        for name in line.names
    )
    kind = line.kind.replace(" ", "-")
    value = html_escape(line.value)
    return f'<tr class="{kind}"><th>{line.kind}</th>{names}<td>{value}</td></tr>'


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
:root { color-scheme: light dark; --quiet: light-dark(#666, #aaa);
  --line: light-dark(#ddd, #444); --new: light-dark(#0645ad, #8ab4f8) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
section { margin: 1rem 0 }
section p { margin: .25rem 0 }
section p b { color: var(--quiet); font-size: .75rem; letter-spacing: .05em; margin-right: .5rem }
section.system { padding-left: 2rem }
section div { overflow-x: auto }
table { border-collapse: collapse; font-size: .875rem }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left }
th { color: var(--quiet); font-weight: normal }
td.same, td.new { font-family: ui-monospace, monospace }
td.new { color: var(--new) }
tr.service td { font-weight: bold }
</style>
</head>
<body>
<h1>TITLE</h1>
TURNS
</body>
</html>
"""
