"""How plots become pictures: their colours and panels, and their files for page and Markdown."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sgdx_dataset.io.extras import require
from sgdx_dataset.io.progress import advance

from .slots.breakage import Analyses
from .systems import ScoredSystem, SystemGroup

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
    """A kind of plot.

    Attributes:
        name: The name of its files, without ending and number.
        title: Its caption.
        note: How to read it, in whole sentences.
        draw: Draws it with matplotlib, from a group of systems and what is known of them slot by
            slot; returns a figure, or None where the runs do not give what it shows.
    """

    name: str
    title: str
    note: str
    draw: Callable[[SystemGroup[Any], Analyses], Any]


@dataclass(frozen=True)
class Picture:
    """A plot of a group of systems, drawn and saved.

    Attributes:
        name: The name of its files, without ending.
        title: Its caption.
        note: How to read it, in whole sentences.
        svg, png: The content of its files.
        inline: The SVG as it stands in the page: with the colours of the page's text, and ids that
            no other picture has.
        is_wide: Whether it needs the page's whole width.
    """

    name: str
    title: str
    note: str
    svg: bytes
    png: bytes
    inline: str
    is_wide: bool


def draw_pictures(
    plots: Sequence[Plot], group: SystemGroup[Any], analyses: Analyses
) -> dict[str, Picture]:
    """Draw every plot that a group's runs give.

    Args:
        plots: What to draw.
        group: The systems to draw.
        analyses: What the systems do slot by slot; empty for generators.

    Returns:
        The pictures by the name of the plot.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    pictures = {}
    for plot in plots:
        name, remark = plot.name + group.file_suffix, "; ".join(group.caveats)
        draw = partial(plot.draw, group, analyses)
        picture = draw_picture(draw, plot.title, plot.note, name, remark)
        if picture is not None:
            pictures[plot.name] = picture
        advance()
    return pictures


def draw_picture(
    draw: Callable[[], Any], title: str, note: str, name: str, remark: str = ""
) -> Picture | None:
    """Draw and save one picture.

    Args:
        draw: Draws it with matplotlib; returns a figure, or None.
        title: Its caption.
        note: How to read it, in whole sentences.
        name: The name of its files, without ending.
        remark: What must stand beside its numbers; empty for nothing.

    Returns:
        The picture; None where nothing was drawn.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    with require("matplotlib").rc_context(_STYLE):
        figure = draw()
        return None if figure is None else _save(figure, title, note, name, remark)


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, sharey: bool = False
) -> tuple[Any, Any]:
    """A figure of a size in inches, and its axes [rows, columns]."""
    figure = require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def draw_panels(
    systems: Sequence[ScoredSystem[Any]],
    draw: Callable[[Any, ScoredSystem[Any], int], None],
    height: float,
    sharey: bool = False,
) -> Any:
    """A figure with a panel for each system.

    Args:
        systems: The systems.
        draw: Draws a system, given its axes and its number from 0.
        height: The height of a panel in inches.
        sharey: Whether the panels share their upward axis.
    """
    columns = min(len(systems), 3)
    rows = -(-len(systems) // columns)
    width = 5.4 if columns == 1 else 3.6 * columns
    figure, axes = new_figure(width, height * rows + 0.3, rows, columns, sharey)
    for i, panel in enumerate(axes.flat):
        if i >= len(systems):
            panel.set_visible(False)
            continue
        draw(panel, systems[i], i)
        panel.set_title(wrap_label(systems[i].label))
    return figure


def wrap_label(text: str) -> str:
    """A label in lines that fit above a panel."""
    return "\n".join(re.findall(r".{1,44}(?:\s|$)|\S{1,44}", without_formulae(text)))


def without_formulae(text: str) -> str:
    """A text in which matplotlib finds no formulae."""
    return text.replace("$", r"\$")


def _save(figure: Any, title: str, note: str, name: str, remark: str) -> Picture:
    """Save a figure in both forms, with what must stand beside its numbers under it."""
    if remark:
        width = round(_LETTERS * figure.get_figwidth())
        figure.supxlabel(textwrap.fill(remark, width), fontsize=8)
    svg, png = io.BytesIO(), io.BytesIO()
    without_date = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(svg, format="svg", facecolor="white", metadata=without_date)
    figure.savefig(png, format="png", facecolor="white", dpi=130, metadata={"Software": None})
    label = f"{title}. {remark}" if remark else title
    inline = _inline(svg.getvalue().decode(), name, label)
    is_wide = figure.get_figwidth() > _WIDE
    return Picture(name, title, note, svg.getvalue(), png.getvalue(), inline, is_wide)


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
