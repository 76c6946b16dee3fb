"""The report's figures, drawn with matplotlib: the paper's 4, 5 and 6, and our own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sgdx_dataset.io.extras import require

from . import drawings
from .analysis import FEWEST_FRAMES
from .drawings import INK
from .provenance import Group

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


# How many pixels of the page a point of a figure has.
_PIXELS = 1.45


@dataclass(frozen=True)
class Figure:
    """A drawn figure.

    Attributes:
        name: The name of its files, without ending.
        title: Its caption.
        note: How to read it, in whole sentences.
        svg, png: Its files.
        inline: The SVG as it stands in the page: with the colours of the page's text, and ids that
            no other figure has.
    """

    name: str
    title: str
    note: str
    svg: bytes
    png: bytes
    inline: str


class Drawing(NamedTuple):
    """What a figure is called, how to read it, and how it is drawn."""

    name: str
    title: str
    note: str
    draw: Callable[..., Any]


DRAWINGS = (
    Drawing(
        "jga_by_variant",
        "Joint goal accuracy by variant",
        "As Figure 4 of the SGD-X paper: in percent, with 95 % intervals over dialogues. The "
        "farther the variant, the farther its words are from the original's.",
        drawings.by_variant,
    ),
    Drawing(
        "augmentation",
        "Training on other words, by seen and unseen services",
        "As Figure 5 of the SGD-X paper: JGA_v1-5 in percent, without augmentation and with each.",
        drawings.augmentation,
    ),
    Drawing(
        "services",
        "Services: joint goal accuracy against schema sensitivity",
        "As Figure 6 of the SGD-X paper, in percent: a robust tracker has its services at the "
        "lower right. Circles are services of the original train split, triangles unseen ones.",
        drawings.services,
    ),
    Drawing(
        "turns",
        "Joint goal accuracy by turn of the user",
        "In percent, for the first turn of the user, the second and so on; the whole line is under "
        "the original schemas, the dashed one the mean under v1 to v5. A turn number that fewer "
        f"than {drawings.FEWEST_IN_A_TURN} frames have is left out.",
        drawings.turns,
    ),
    Drawing(
        "flips",
        "Frames right under one wording and wrong under another",
        "In percent of all frames: those whose joint goal is right (scores 1) under the wording of "
        "the row and wrong under that of the column.",
        drawings.flips,
    ),
    Drawing(
        "words_changed",
        "Loss of accuracy by the number of schema words changed",
        "A point is a slot under one of v1 to v5. Across: how many words of its name and "
        "description are inserted, deleted or replaced. Up: its accuracy under the original less "
        "that under the variant, in percentage points. The line is the mean over frames by fives "
        f"of words. Slots that fewer than {FEWEST_FRAMES} frames give a value are left out.",
        drawings.words_changed,
    ),
)

# Of trackers as of generators.
LEARNING_CURVES = Drawing(
    "learning_curves",
    "Learning curves",
    "The line is the loss in training, on the left scale; the points are the score on dev under "
    "the original schemas, on the right one: joint goal accuracy, for sub-models that decide the "
    "F1 of their decisions, for generators BLEU. Of several seeds this is the first run.",
    drawings.learning_curves,
)


def draw_figures(
    drawings: Sequence[Drawing], group: Group[Any], suffix: str, *known: Any
) -> dict[str, Figure]:
    """Draw every figure that a group's runs give.

    Args:
        drawings: What to draw.
        group: The systems to draw.
        suffix: The end of the files' names, which tells the groups of a report apart.
        known: What else the drawings take, such as what the systems do slot by slot.

    Returns:
        The figures by the drawing's name.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    matplotlib = require("matplotlib")
    figures = {}
    with matplotlib.rc_context(_STYLE):
        for one in drawings:
            drawn = one.draw(group, *known)
            if drawn is not None:
                figures[one.name] = _saved(drawn, one, one.name + suffix, "; ".join(group.marks))
    return figures


def _saved(drawn: Any, drawing: Drawing, name: str, note: str) -> Figure:
    """Save a figure in both forms, with what must stand beside its numbers under it."""
    if note:
        drawn.supxlabel(note, fontsize=8)
    svg, png = io.BytesIO(), io.BytesIO()
    plain = {"Date": None, "Creator": None, "Format": None, "Type": None}
    drawn.savefig(svg, format="svg", facecolor="white", metadata=plain)
    drawn.savefig(png, format="png", facecolor="white", dpi=130, metadata={"Software": None})
    label = f"{drawing.title}. {note}" if note else drawing.title
    inline = _inline(svg.getvalue().decode(), name, label)
    return Figure(name, drawing.title, drawing.note, svg.getvalue(), png.getvalue(), inline)


def _inline(svg: str, name: str, label: str) -> str:
    """An SVG for the page: no prologue, no styles that reach out of it, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)  # the background
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    # Ids that nothing refers to are dropped; the others must be unlike those of other figures.
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", svg)
    svg = re.sub(r'(id="|href="#|url\(#)', lambda m: f"{m[1]}{name}-", svg)
    svg = svg.replace(INK, "currentColor")
    # A figure is as wide as its text is about as large as that of the page, or less on a phone.
    width = float(re.search(r' width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    label = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    size = f"max-width: {width * _PIXELS:.0f}px"
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}" style="{size}"', 1)
