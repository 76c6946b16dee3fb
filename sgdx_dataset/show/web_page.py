"""A dialogue under several variants as a web page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .dialogue import Line, ShownDialogue, ShownTurn

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
:root { color-scheme: light dark; --quiet: light-dark(#666, #aaa);
  --line: light-dark(#ddd, #444); --new: light-dark(#0645ad, #8ab4f8) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 96rem; margin: 2rem auto; padding: 0 1rem }
section { margin: 1rem 0 }
section p { margin: .25rem 0 }
section p b { color: var(--quiet); font-size: .75rem; letter-spacing: .05em; margin-right: .5rem }
section.system { padding-left: 2rem }
table { border-collapse: collapse; font-size: .875rem; table-layout: fixed; width: 100% }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left }
th { color: var(--quiet); font-weight: normal }
th:first-child { width: 4.5rem }
td.same, td.new { font-family: ui-monospace, monospace; font-size: .8125rem }
td { overflow-wrap: anywhere }
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


def web_page(shown: ShownDialogue) -> str:
    """A dialogue as an HTML page that needs no other file, in light and dark colours."""
    title = f"Dialogue {escape(shown.dialogue_id)} ({shown.split})"
    turns = "\n".join(_html_turn(turn, shown.variants) for turn in shown.turns)
    return _PAGE.replace("TITLE", title).replace("TURNS", turns)


def _breakable(name: str) -> str:
    """A name that a narrow column breaks behind an underscore first."""
    return escape(name).replace("_", "_<wbr>")


def _html_turn(turn: ShownTurn, variants: Sequence[str]) -> str:
    utterance = f"<p><b>{turn.speaker}</b> {escape(turn.utterance)}</p>"
    if not turn.lines:
        return f'<section class="{turn.speaker.lower()}">{utterance}</section>'
    head = "".join(f"<th>{escape(text)}</th>" for text in ("", *variants, "value"))
    rows = "\n".join(_html_line(line) for line in turn.lines)
    table = f"<div><table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    return f'<section class="{turn.speaker.lower()}">{utterance}{table}</section>'


def _html_line(line: Line) -> str:
    """A line of a turn's table; names that differ from the first variant's are marked."""
    names = "".join(
        f'<td class="{"same" if name == line.names[0] else "new"}">{_breakable(name)}</td>'
        for name in line.names
    )
    kind = line.kind.replace(" ", "-")
    value = escape(line.value)
    return f'<tr class="{kind}"><th>{line.kind}</th>{names}<td>{value}</td></tr>'
