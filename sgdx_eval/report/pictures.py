"""How plots become pictures: their colours and panels, and their files for page and Markdown."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.progress import advance

from .runs import Group, System

# Okabe and Ito's colours, which readers with colour-blindness tell apart, less the yellow, which
# is too pale on white, and the black, which is too dark in dark mode.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "os^DvP"
# What is drawn in this colour takes the colour of the text around it in the page.
INK = "#123456"
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sgdx",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # where it would be put after a long search
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}
# How many pixels of the page a point of a figure has: at most, and at least, on a phone, where a
# picture is scrolled rather than illegible.
_PIXELS, _FEWEST_PIXELS = 1.45, 1.15
# How many letters of the remark below a figure fit into an inch.
_LETTERS = 15
# A figure of more inches does not fit beside another one.
_WIDE = 7.5


class Plot(NamedTuple):
    """A kind of plot."""

    # The name of its files, without ending and number.
    name: str
    # Its caption, and how to read it, in whole sentences.
    title: str
    note: str
    # Draws a group with matplotlib; gives a figure, or None where the runs do not give what it
    # shows.
    draw: Callable[[Group], Any]


def plot(title: str, note: str) -> Callable[[Callable[[Group], Any]], Plot]:
    """Make a plot of what draws it, whose name it has."""
    return lambda draw: Plot(draw.__name__, title, note, draw)


class Picture(NamedTuple):
    """A plot of a group of systems, drawn and saved."""

    # The name of its files, without ending.
    name: str
    title: str
    note: str
    # The content of its files.
    svg: bytes
    png: bytes
    # The SVG as it stands in the page: with the colours of the page's text, and ids that no other
    # picture has.
    inline: str
    # Whether it needs the page's whole width.
    is_wide: bool


def drawn(group: Group, *plots: Plot) -> list[Picture]:
    """The pictures of those plots that a group's runs give."""
    pictures = []
    suffix = "" if group.number is None else f"_{group.number}"
    kind = "" if group.results.task.name == "state" else f"{group.results.task.name}_"
    for plot in plots:
        named = plot._replace(name=f"{kind}{plot.name}{suffix}")
        if picture := draw(named, group, "; ".join(group.caveats)):
            pictures.append(picture)
        advance()
    return pictures


def draw(plot: Plot, group: Group, remark: str) -> Picture | None:
    """A picture in both forms, with what must stand beside its numbers under it."""
    with require("matplotlib").rc_context(_STYLE):
        figure = plot.draw(group)
        if figure is None:
            return None
        if remark:
            width = round(_LETTERS * figure.get_figwidth())
            figure.supxlabel(textwrap.fill(remark, width), fontsize=8)
        # The layout, which takes longer than drawing, is made once and not at each saving.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        svg, png = io.BytesIO(), io.BytesIO()
        without_date = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(svg, format="svg", facecolor="white", metadata=without_date)
        figure.savefig(png, format="png", facecolor="white", dpi=130, metadata={"Software": None})
    label = f"{plot.title}. {remark}" if remark else plot.title
    inline = _inline(svg.getvalue().decode(), plot.name, label)
    is_wide = figure.get_figwidth() > _WIDE
    return Picture(*plot[:3], svg.getvalue(), png.getvalue(), inline, is_wide)


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, sharey: bool = False
) -> tuple[Any, Any]:
    """A figure of a size in inches, and its axes [rows, columns]."""
    figure = require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def draw_panels(
    systems: Sequence[System],
    draw: Callable[[Any, System, int], None],
    height: float,
    sharey: bool = False,
) -> Any:
    """A figure with a panel of a height in inches for each system.

    `draw` draws a system, given its axes and its number from 0.
    """
    columns = min(len(systems), 3)
    rows = -(-len(systems) // columns)
    width = 5.4 if columns == 1 else 3.6 * columns
    figure, axes = new_figure(width, height * rows + 0.3, rows, columns, sharey)
    for panel in axes.flat[len(systems) :]:
        panel.set_visible(False)
    for i, (panel, system) in enumerate(zip(axes.flat, systems)):
        draw(panel, system, i)
        panel.set_title(wrap_label(system.label))
    return figure


def wrap_label(text: str) -> str:
    """A label in lines that fit above a panel."""
    return "\n".join(re.findall(r".{1,44}(?:\s|$)|\S{1,44}", without_formulae(text)))


def without_formulae(text: str) -> str:
    """A text in which matplotlib finds no formulae."""
    return text.replace("$", r"\$")


def _inline(svg: str, name: str, label: str) -> str:
    """An SVG for the page: no prologue, no styles that reach out of it, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)  # the background
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    # Ids that nothing refers to are dropped; the others must be unlike those of other pictures.
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", svg)
    svg = re.sub(r'(id="|href="#|url\(#)', lambda m: f"{m[1]}{name}-", svg)
    svg = svg.replace(INK, "currentColor")
    # A picture is so wide that its text is about as large as the page's, and less on a phone.
    width = float(re.search(r' width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    label = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    size = f"max-width: {width * _PIXELS:.0f}px; min-width: {width * _FEWEST_PIXELS:.0f}px"
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}" style="{size}"', 1)
