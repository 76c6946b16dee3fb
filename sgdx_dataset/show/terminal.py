"""A dialogue under several variants in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..io.console import escape_controls
from .dialogue import ShownDialogue, ShownTurn

_GAP = 2  # spaces after a column


def _escaped(text: str) -> str:
    """Text of the data as ``rich`` shows it: no markup, and no control characters either."""
    return escape(escape_controls(text))


def print_dialogue(shown: ShownDialogue, console: Console | None = None) -> None:
    """Print a dialogue; variants that do not fit beside each other come below each other."""
    console = console or Console(highlight=False)
    console.print(f"[bold]Dialogue {_escaped(shown.dialogue_id)}[/bold] ({shown.split})")
    widths = _widths(shown)
    groups = _beside_each_other(shown, widths, console.width)
    for turn in shown.turns:
        style = "bold" if turn.speaker == "USER" else "dim"
        console.print()
        console.print(f"[{style}]{turn.speaker}[/{style}]  {_escaped(turn.utterance)}")
        if turn.lines:
            for columns in groups:
                console.print(_table(turn, shown.variants, columns, widths))


def _widths(shown: ShownDialogue) -> list[int]:
    """The width of each variant's column in characters: that of its longest name in any turn."""
    lines = [line for turn in shown.turns for line in turn.lines]
    return [
        max(len(variant), *(len(line.names[i]) for line in lines)) if lines else len(variant)
        for i, variant in enumerate(shown.variants)
    ]


def _beside_each_other(shown: ShownDialogue, widths: Sequence[int], width: int) -> list[list[int]]:
    """Positions of the variants in each table, the same in all turns, so that no name is cut."""
    values = (len(line.value) for turn in shown.turns for line in turn.lines)
    value = min(max(values, default=0), width // 4)  # a longer value is folded
    room = width - len("asks for") - max(value, len("value")) - 2 * _GAP
    groups: list[list[int]] = []
    used = width
    for i, column in enumerate(widths):
        if used + column + _GAP > room:
            groups.append([])
            used = 0
        groups[-1].append(i)
        used += column + _GAP
    return groups


def _table(
    turn: ShownTurn, variants: Sequence[str], columns: Sequence[int], widths: Sequence[int]
) -> Table:
    """A turn's table with the variants at these positions."""
    table = Table(box=None, header_style="dim", padding=(0, _GAP, 0, 0))
    table.add_column("", min_width=len("asks for"))
    for i in columns:
        table.add_column(_escaped(variants[i]), overflow="fold", min_width=widths[i])
    table.add_column("value", overflow="fold")
    for line in turn.lines:
        style = "bold" if line.kind == "service" else None
        cells = [line.kind, *(line.names[i] for i in columns), line.value]
        table.add_row(*map(_escaped, cells), style=style)
    return table
