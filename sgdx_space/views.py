"""The tracking tab's plot, explanation and dialogue as HTML, and the style of all pages."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sgdx_eval.explain import Line
from sgdx_eval.report.labels import place_labels
from sgdx_eval.tables import NO_VALUE
from sgdx_eval.task import Task
from sgdx_metric.calls import CALL
from sgdx_metric.core import RIGHT, Sample, Scores
from sgdx_metric.signature import OFFICIAL

# The figures of the plot, along and up.
PLOTTED = {
    "state": ("jga_v1-5", "ss_jga"),
    "calls": (f"{CALL}.reworded", f"{CALL}.sensitivity"),
}
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
.legend { font-size: .85rem; opacity: .8; margin-top: .8rem }
.explain td { min-width: 8.5rem } .scroll .explain tr > th:first-child { white-space: normal }
.explain td > * { display: block; border: 0; padding: 0; background: none }
.explain code { opacity: .65; font-size: .75rem }
.explain i { opacity: .7 } .explain i::before { content: "gold: "; font-style: normal }
.explain span { border-radius: .3rem; padding: 0 .3rem; color: #222; width: fit-content }
.problem { border-left: 4px solid #c2410c; padding: .5rem .75rem; background: #c2410c1a }
.problem, .talk p { overflow-wrap: anywhere }
.services svg { min-width: 42rem; width: 100%; max-width: 66rem }
/* What is wider than the page scrolls, and shades its edge where there is more to see. */
.services, .scroll { overflow-x: auto; --cover: var(--body-background-fill);
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


class ServicePoint(NamedTuple):
    """A service in the plot: accuracy and sensitivity in percent, and whether train has it."""

    accuracy: float
    sensitivity: float
    is_seen: bool


def service_points(task: Task, raw: Scores) -> tuple[dict[str, ServicePoint], str, str]:
    """The points of the services of which both figures are known, and what the axes are."""
    keys, items = PLOTTED[task.name], raw.items
    figures = {figure.key: figure for figure in task.figures(raw)}
    axes = [figures[key] for key in keys]
    points = {}
    for name, members in items.groups().items():
        if name in items.services():
            values = Sample(task.derived(raw.only(members), OFFICIAL), axes).values()
            accuracy, sensitivity = map(values.get, keys)
            if accuracy is not None and sensitivity is not None:
                seen = bool(items.sets["seen"][members[0]])
                points[name] = ServicePoint(100 * accuracy, 100 * sensitivity, seen)
    return points, axes[0].title, axes[1].title


# The plot's size, and the edges of its axes, in units of its viewBox.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 420, 55, 885, 15, 370
_COLOURS = {True: "#2563eb", False: "#ea580c"}
_CIRCLE, _TRIANGLE = "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z", "m0 -6l5.5 10h-11z"


def services_plot(points: Mapping[str, ServicePoint], accuracy: str, sensitivity: str) -> str:
    """The services as an SVG of points with their names; empty where there is none."""
    if not points:
        return ""
    highest = max(10.0, *(1.08 * point.sensitivity for point in points.values()))
    lowest = max(0, 10 * int((min(point.accuracy for point in points.values()) - 5) // 10))
    scaled = {
        name: ((point.accuracy - lowest) / (100 - lowest), point.sensitivity / highest)
        for name, point in points.items()
    }
    labels = place_labels(scaled, 6.5 / (_RIGHT - _LEFT), 15 / (_BOTTOM - _TOP))
    marks = []
    for name, point in points.items():
        (x, y), (side, lift) = _place(*scaled[name]), labels[name]
        beside = f"x='{x + 9:.1f}'" if side == "left" else f"x='{x - 9:.1f}' text-anchor='end'"
        title = f"{name}: {accuracy} {point.accuracy:.1f}, {sensitivity} {point.sensitivity:.1f}"
        shape = f"M{x:.1f} {y:.1f}{_CIRCLE if point.is_seen else _TRIANGLE}"
        marks.append(
            f"<g class='service'><title>{escape(title)}</title>"
            f"<path d='{shape}' fill='{_COLOURS[point.is_seen]}'/>"
            f"<text {beside} y='{y + 4 - 15 * lift:.1f}'>{escape(name)}</text></g>"
        )
    return (
        "<div class='services'><b>Services, %: a robust tracker has them at the lower right</b> "
        f"<span style='color:{_COLOURS[True]}'>● seen in train</span> "
        f"<span style='color:{_COLOURS[False]}'>▲ not</span>"
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' font-size='12' fill='currentColor' role='img' "
        f"aria-label='{accuracy} and {sensitivity} of each service'>"
        f"{_axes(lowest, highest, accuracy, sensitivity)}{''.join(marks)}</svg></div>"
    )


def _place(x: float, y: float) -> tuple[float, float]:
    """Where a point is drawn, from its parts of the axes."""
    return _LEFT + x * (_RIGHT - _LEFT), _BOTTOM - y * (_BOTTOM - _TOP)


def _axes(lowest: int, highest: float, accuracy: str, sensitivity: str) -> str:
    """The axes, from the lowest accuracy to 100 and from 0 to the highest sensitivity."""
    step = next(step for step in (2, 5, 10, 25, 50) if highest / step <= 10)
    drawn = [
        f"<path d='M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}' fill='none' stroke='currentColor' "
        f"opacity='.5'/><text x='{_RIGHT}' y='{_HEIGHT - 8}' text-anchor='end'>{accuracy}</text>"
        f"<text transform='translate(14 {_HEIGHT // 2}) rotate(-90)'>{sensitivity}</text>"
    ]
    for value in range(lowest, 101, 10):
        x, y = _place((value - lowest) / (100 - lowest), 0)
        drawn.append(f"<text x='{x:.0f}' y='{y + 18:.0f}' text-anchor='middle'>{value}</text>")
    for value in range(0, int(highest) + 1, step):
        x, y = _place(0, value / highest)
        drawn.append(f"<text x='{x - 8:.0f}' y='{y + 4:.0f}' text-anchor='end'>{value}</text>")
    return "".join(drawn)


def talk(frame_id: str, turns: Sequence[tuple[str, str]], task: Task, raw: Scores) -> str:
    """A dialogue as HTML: the turn of a frame, and where its service is right, by wording."""
    dialogue_id, now, service = frame_id.rsplit("/", 2)
    ids = pa.array(f"{dialogue_id}/{number}/{service}" for number in range(len(turns)))
    places = pc.index_in(ids, value_set=raw.items.ids).to_pylist()
    right = raw.metrics[task.main] >= RIGHT
    lines = [f"<b>Dialogue {escape(dialogue_id)}; right or wrong for {escape(service)}</b>"]
    for number, ((speaker, utterance), place) in enumerate(zip(turns, places, strict=True)):
        marks = "".join(
            f"<span class='right'>{name} ✓</span>" if ok else f"<span class='wrong'>{name} ✗</span>"
            for name, ok in zip(raw.wordings, [] if place is None else right[:, place])
        )
        kinds = f"{speaker.lower()} now" if str(number) == now else speaker.lower()
        lines.append(
            f"<p class='{escape(kinds)}'><b>{escape(speaker)}</b>{escape(utterance)}"
            f"<span class='marks'>{marks}</span></p>"
        )
    return f"<div class='talk'>{''.join(lines)}</div>"


def explanation(lines: Sequence[Line]) -> str:
    """An HTML table with a row for each aspect of a frame and a column for each wording."""
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
