"""The tracking tab's explanation and dialogue as HTML, and the style of all pages."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from sgdx_eval.explain import Line
from sgdx_eval.tables import NO_VALUE
from sgdx_eval.task import Task
from sgdx_metric.statistics import RIGHT
from sgdx_metric.units import Scores

# Background colours from wrong to right; the text on them stays dark in both of the browser's
# colour schemes.
_SHADES = ("#f8b4b4", "#fcd9b6", "#fdf3b0", "#cfeec0", "#a7e3b5")

CSS = """
.scroll table { border-collapse: collapse; font-size: .85rem; margin: 0 }
.scroll th, .scroll td { border: 1px solid #8884; padding: .35rem .5rem; vertical-align: top }
.scroll caption { text-align: left; font-weight: bold; padding: .8rem 0 .3rem; white-space: nowrap }
.scroll th { text-align: left; white-space: nowrap }
.scroll tr > th:first-child { position: sticky; left: 0; background: var(--body-background-fill) }
.scroll .number { text-align: right; white-space: nowrap }
.scroll small { opacity: .7; display: block; white-space: nowrap }
.legend { font-size: .85rem; margin-top: .8rem } .legend summary { cursor: pointer }
.headline { font-size: 1.1rem; margin: .5rem 0 }
.explain td { min-width: 8.5rem } .scroll .explain tr > th:first-child { white-space: normal }
.explain td > * { display: block; border: 0; padding: 0; background: none }
.explain code { opacity: .65; font-size: .75rem }
.explain i { opacity: .7 } .explain i::before { content: "gold: "; font-style: normal }
.explain span { border-radius: .3rem; padding: 0 .3rem; color: #222; width: fit-content }
.problem { border-left: 4px solid #c2410c; padding: .5rem .75rem; background: #c2410c1a }
.problem, .talk p { overflow-wrap: anywhere }
/* What is wider than the page scrolls, and shades its edge where there is more to see. */
.scroll { overflow-x: auto; --cover: var(--body-background-fill);
  background: linear-gradient(var(--cover), var(--cover)) left / 1.5rem 100% no-repeat local,
    linear-gradient(var(--cover), var(--cover)) right / 1.5rem 100% no-repeat local,
    linear-gradient(to right, #8889, transparent) left / .9rem 100% no-repeat scroll,
    linear-gradient(to left, #8889, transparent) right / .9rem 100% no-repeat scroll }
.talk { margin-top: 1rem } .talk p { margin: .3rem 0; padding: .1rem .6rem }
.talk b { font-size: .75rem; opacity: .65; margin-right: .5rem }
.talk .system { margin-left: 1.5rem }
.talk .now { border-left: 4px solid #2563eb; background: #2563eb1a }
.talk .marks { display: block; font-size: .75rem }
.talk .marks span { margin-right: .6rem; white-space: nowrap }
.talk .wrong { color: #b91c1c } .talk .right { color: #15803d }
.dark .talk .wrong { color: #fca5a5 } .dark .talk .right { color: #86efac }
"""


def talk(frame_id: str, turns: Sequence[tuple[str, str]], task: Task, raw: Scores) -> str:
    """A dialogue as HTML: the turn of a frame, and where its service is right, by variant."""
    dialogue_id, now, service = frame_id.rsplit("/", 2)
    ids = pa.array(f"{dialogue_id}/{number}/{service}" for number in range(len(turns)))
    places = pc.index_in(ids, value_set=raw.items.ids).to_pylist()
    right = raw.metrics[task.main] >= RIGHT
    lines = [f"<b>Dialogue {escape(dialogue_id)}; right or wrong for {escape(service)}</b>"]
    for number, ((speaker, utterance), place) in enumerate(zip(turns, places, strict=True)):
        marks = "".join(
            f"<span class='right'>{name} ✓</span>" if ok else f"<span class='wrong'>{name} ✗</span>"
            for name, ok in zip(raw.variants, [] if place is None else right[:, place])
        )
        kinds = f"{speaker.lower()} now" if str(number) == now else speaker.lower()
        lines.append(
            f"<p class='{escape(kinds)}'><b>{escape(speaker)}</b>{escape(utterance)}"
            f"<span class='marks'>{marks}</span></p>"
        )
    return f"<div class='talk'>{''.join(lines)}</div>"


def explanation(lines: Sequence[Line]) -> str:
    """An HTML table with a row for each aspect of a frame and a column for each variant."""
    variants = list(dict.fromkeys(line.variant for line in lines))
    rows = []
    for (_, aspect), group in groupby(lines, key=lambda line: (line.position, line.aspect)):
        cells = {line.variant: _cell(line) for line in group}
        rows.append((aspect, [cells.get(name, "") for name in variants]))
    return marked_table(["", *variants], rows)


def marked_table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table whose rows have a name, and cells that are HTML already."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, cells in rows
    )
    return f"<div class='scroll'><table class='explain'><tr>{head}</tr>{body}</table></div>"


def _cell(line: Line) -> str:
    """One aspect under one variant: prediction, reference, score and reason."""
    predicted = escape(" | ".join(line.predicted)) or NO_VALUE
    reference = escape(" | ".join(line.reference)) or NO_VALUE
    shade = "#ddd" if line.score is None else _SHADES[round(line.score * (len(_SHADES) - 1))]
    score = "" if line.score is None else f"{line.score:.2f} "
    badge = f"<span style='background:{shade}'>{score}{escape(line.why)}</span>"
    if not (line.predicted or line.reference):
        return badge
    slot = f"<code>{escape(line.slot)}</code>" if line.slot else ""
    return f"{slot}<b>{predicted}</b><i>{reference}</i>{badge}"
