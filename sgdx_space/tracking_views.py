"""The tracking tab's table, plot and explanation: rows of figures, and HTML."""

from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from typing import Any

from sgdx_metric.cli.explain import Line

_GROUPS = {"all": "#ALL_SERVICES", "seen": "#SEEN_SERVICES", "unseen": "#UNSEEN_SERVICES"}
_FIGURES = {
    "JGA_orig": "jga_orig",
    "JGA_v1-5": "jga_v1-5",
    "Diff_rel": "relative_difference",
    "SS_JGA": "ss_jga",
    "JGA_worst": "jga_worst",
    "flips": "flips",
}
# Background colours from wrong to right; the text on them stays dark in both of the browser's
# colour schemes.
_SHADES = ("#f8b4b4", "#fcd9b6", "#fdf3b0", "#cfeec0", "#a7e3b5")

CSS = """
.explain { border-collapse: collapse; font-size: .85rem }
.explain th, .explain td { border: 1px solid #8884; padding: .35rem .5rem; vertical-align: top }
.explain th { text-align: left; white-space: nowrap }
.explain td > * { display: block; border: 0; padding: 0; background: none }
.explain code { opacity: .65; font-size: .75rem }
.explain i { opacity: .7 } .explain i::before { content: "gold: "; font-style: normal }
.explain span { border-radius: .3rem; padding: 0 .3rem; color: #222; width: fit-content }
"""


def overview(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Headers and rows of the main table: figures in percent, with their 95 % intervals.

    Args:
        result: What `report` returned.
    """
    variants = [name for name in result["variants"] if name != "original"]
    rows = []
    for group, services in _GROUPS.items():
        figures = result["sgdx"] if group == "all" else result["sgdx"][group]
        ends = figures["confidence"]
        row = [group, str(result["frames"][group])]
        row += [_with_interval(figures[key], ends.get(key)) for key in _FIGURES.values()]
        row += [
            _percent(result["variants"][name].get(services, {}).get("joint_goal_accuracy"))
            for name in variants
        ]
        rows.append(row)
    return ["services", "frames", *_FIGURES, *variants], rows


def by_service(result: Mapping[str, Any], seen: Iterable[str]) -> dict[str, list[Any]]:
    """Columns of the scatter plot, with a row for each service that has both figures, in percent.

    Args:
        result: What `report` returned.
        seen: Original names of the services that are in the train split.
    """
    seen_services = set(seen)
    columns: dict[str, list[Any]] = {"service": [], "JGA_v1-5": [], "SS_JGA": [], "in train": []}
    for name, figures in result["sgdx"]["by_service"].items():
        if figures["jga_v1-5"] is not None and figures["ss_jga"] is not None:
            kind = "seen" if name in seen_services else "unseen"
            row = (name, 100 * figures["jga_v1-5"], 100 * figures["ss_jga"], kind)
            for column, value in zip(columns.values(), row):
                column.append(value)
    return columns


def explanation(utterance: str, lines: list[Line]) -> str:
    """An HTML table with a row for each aspect of a frame and a column for each variant.

    Args:
        utterance: What the user says in the frame's turn.
        lines: What `explain` returned.
    """
    variants = list(dict.fromkeys(line.variant for line in lines))
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *variants))
    body = []
    for (_, aspect), group in groupby(lines, key=lambda line: (line.position, line.aspect)):
        cells = {line.variant: _cell(line) for line in group}
        row = "".join(f"<td>{cells.get(name, '')}</td>" for name in variants)
        body.append(f"<tr><th>{escape(aspect)}</th>{row}</tr>")
    return (
        f"<p>“{escape(utterance)}”</p><div style='overflow-x:auto'><table class='explain'>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(line: Line) -> str:
    """One aspect under one variant: prediction, reference, score and reason."""
    predicted = escape(" | ".join(line.predicted)) or "–"
    reference = escape(" | ".join(line.reference)) or "–"
    shade = "#ddd" if line.score is None else _SHADES[round(line.score * (len(_SHADES) - 1))]
    score = "" if line.score is None else f"{line.score:.2f} "
    badge = f"<span style='background:{shade}'>{score}{escape(line.why)}</span>"
    if not (line.predicted or line.reference):
        return badge
    slot = f"<code>{escape(line.slot)}</code>" if line.slot else ""
    return f"{slot}<b>{predicted}</b><i>{reference}</i>{badge}"


def _with_interval(value: float | None, ends: list[float] | None) -> str:
    return _percent(value) + (f" [{_percent(ends[0])}, {_percent(ends[1])}]" if ends else "")


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f}"
