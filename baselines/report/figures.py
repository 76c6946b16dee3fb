"""The report's figures, drawn with matplotlib: the paper's 4, 5 and 6, and our own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgdx_dataset.extras import require
from sgdx_metric.bootstrap import bootstrap
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .analysis import FEWEST_FRAMES, Analysis, slot_changes
from .runs import Group, System, original_first
from .tables import Analyses, families, headline, system_sums

# Okabe and Ito's colours, which readers with colour-blindness tell apart, less the yellow, which
# is too pale on white, and the black, which is too dark in dark mode.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "os^DvP"
# What is drawn in this colour takes the colour of the text around it in the page.
_INK = "#123456"
_SEEN, _UNSEEN = COLOURS[0], COLOURS[1]
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sgdx",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


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


def draw_figures(group: Group, analyses: Analyses, suffix: str) -> Iterator[Figure]:
    """Draw every figure that a group's runs give.

    Args:
        group: The systems to draw.
        analyses: What they do slot by slot, where the predictions and the data are at hand.
        suffix: The end of the files' names, which tells the groups of a report apart.

    Raises:
        SgdxError: matplotlib is not installed.
    """
    systems = group.systems
    analysed = [one for one in systems if one.name in analyses]
    reworded = set(PAPER_VARIANTS) <= set(group.variants)
    wanted: list[tuple[str, str, str, Callable[[], Any]]] = [
        (
            "jga_by_variant",
            "Joint goal accuracy by variant",
            "As Figure 4 of the SGD-X paper: in percent, with 95 % intervals over dialogues. The "
            "farther the variant, the farther its words are from the original's.",
            lambda: _by_variant(systems),
        )
    ]
    if reworded and families(group):
        wanted.append(
            (
                "augmentation",
                "Training on other words, by seen and unseen services",
                "As Figure 5 of the SGD-X paper: JGA_v1-5 in percent, without augmentation and "
                "with each.",
                lambda: _augmentation(group),
            )
        )
    if reworded:
        wanted.append(
            (
                "services",
                "Services: joint goal accuracy against schema sensitivity",
                "As Figure 6 of the SGD-X paper, in percent: a robust tracker has its services at "
                "the lower right. Circles are services of the original train split, triangles "
                "unseen ones.",
                lambda: _panels(systems, _services, 3.6),
            )
        )
    if ORIGINAL in group.variants and reworded:
        wanted.append(
            (
                "turns",
                "Joint goal accuracy by turn of the user",
                "In percent, for the first turn of the user, the second and so on; the whole line "
                "is under the original schemas, the dashed one the mean under v1 to v5. A turn "
                "number that fewer than 20 frames have is left out.",
                lambda: _panels(systems, _turns, 2.8),
            )
        )
    if ORIGINAL in group.variants and len(group.variants) > 1:
        wanted.append(
            (
                "flips",
                "Frames right under one wording and wrong under another",
                "In percent of all frames: those whose joint goal is right (scores 1) under the "
                "wording of the row and wrong under that of the column.",
                lambda: _panels(systems, _flips, 3.0),
            )
        )
    if analysed and ORIGINAL in group.variants and reworded:
        wanted.append(
            (
                "words_changed",
                "Loss of accuracy by the number of schema words changed",
                "A point is a slot under one of v1 to v5. Across: how many words of its name and "
                "description are inserted, deleted or replaced. Up: its accuracy under the "
                "original less that under the variant, in percentage points. The line is the mean "
                "over frames by fives of words. Slots that fewer than "
                f"{FEWEST_FRAMES} frames give a value are left out.",
                lambda: _panels(analysed, lambda a, s, i: _words(a, analyses[s.name], i), 2.8),
            )
        )
    note = "; ".join(group.marks)
    for name, title, text, draw in wanted:
        yield _finished(f"{name}{suffix}", title, text, draw, note)


def _finished(name: str, title: str, text: str, draw: Callable[[], Any], note: str) -> Figure:
    """Draw a figure, write what must stand beside its numbers under it, and save it."""
    matplotlib = require("matplotlib")
    require("matplotlib.figure")
    with matplotlib.rc_context(_STYLE):
        figure = draw()
        if note:
            figure.supxlabel(note, fontsize=8, color=_INK)
        svg, png = io.BytesIO(), io.BytesIO()
        plain = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(svg, format="svg", facecolor="white", metadata=plain)
        figure.savefig(png, format="png", facecolor="white", dpi=130, metadata={"Software": None})
        figure.supxlabel("")  # the page has the note in the caption
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata=plain)
    return Figure(name, title, text, svg.getvalue(), png.getvalue(), _inline(drawn, name, title))


def _inline(drawn: io.BytesIO, name: str, title: str) -> str:
    """An SVG for the page: no prologue, no styles that reach out of it, ids of its own."""
    svg = drawn.getvalue().decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    # Ids that nothing refers to are dropped; the others must be unlike those of other figures.
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", svg)
    svg = re.sub(r'(id="|href="#|url\(#)', lambda m: f"{m[1]}{name}-", svg)
    svg = svg.replace(_INK, "currentColor")
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    label = title.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _new(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """A figure of a size in inches, and its axes [rows, columns]."""
    figure = require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _panels(
    systems: Sequence[System], draw: Callable[[Any, System, int], None], height: float
) -> Any:
    """A figure with a panel for each system."""
    columns = min(len(systems), 3)
    rows = -(-len(systems) // columns)
    width = 5.4 if columns == 1 else 3.6 * columns
    figure, axes = _new(width, height * rows + 0.3, rows, columns)
    for i, panel in enumerate(axes.flat):
        if i >= len(systems):
            panel.set_visible(False)
            continue
        draw(panel, systems[i], i)
        panel.set_title(_wrapped(systems[i].label))
    return figure


def _wrapped(text: str) -> str:
    return "\n".join(re.findall(r".{1,44}(?:\s|$)|\S{1,44}", _plain(text)))


def _plain(text: str) -> str:
    """A text in which matplotlib finds no formulae."""
    return text.replace("$", r"\$")


def _by_variant(systems: Sequence[System]) -> Any:
    figure, ((axes,),) = _new(6.4, 3.6)
    variants = original_first(list(systems[0].first.jga))
    for i, system in enumerate(systems):
        sums, names = system_sums(system), list(system.first.jga)
        rows = {name: names.index(name) for name in variants}

        def means(weights: Any, sums: Any = sums, rows: Mapping[str, int] = rows) -> Any:
            found = sums.means(weights)
            return {name: found[..., row] for name, row in rows.items()}

        count = len(sums.total)
        ends = bootstrap(means, count)
        middle = np.array([100 * float(v[0]) for v in means(np.ones((1, count))).values()])
        low, high = 100 * np.array([ends.get(name) or (np.nan, np.nan) for name in variants]).T
        x = np.arange(len(variants)) + (i - (len(systems) - 1) / 2) * min(0.1, 0.5 / len(systems))
        colour = COLOURS[i % len(COLOURS)]
        axes.errorbar(
            x, middle, (middle - low, high - middle), color=colour, linewidth=1.4, elinewidth=0.9,
            capsize=2.5, marker=MARKERS[i % len(MARKERS)], markersize=5, label=_plain(system.label),
        )  # fmt: skip
    axes.set_xticks(range(len(variants)), variants)
    axes.set_ylabel("joint goal accuracy, %")
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside upper left", ncols=1, fontsize=8)
    return figure


def _augmentation(group: Group) -> Any:
    found = families(group)
    figure, axes = _new(max(5.4, 3.6 * len(found)), 3.4, 1, len(found))
    for panel, (plain, others) in zip(axes.flat, found):
        services = {"seen": group.first.place.seen, "unseen": ~group.first.place.seen}
        for i, system in enumerate((plain, *others)):
            heights = [
                100 * headline(system, np.flatnonzero(member)).get("jga_v1-5", np.nan)
                for member in services.values()
            ]
            x = np.arange(2) + (i - len(others) / 2) * 0.8 / (1 + len(others))
            bars = panel.bar(
                x, heights, 0.8 / (1 + len(others)), color=COLOURS[i % len(COLOURS)],
                label=_plain(system.first.augmentation or "none"),
            )  # fmt: skip
            panel.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
        panel.set_xticks((0, 1), list(services))
        panel.set_ylabel("JGA_v1-5, %")
        panel.set_title(_wrapped(plain.label))
        panel.legend(fontsize=8)
    return figure


def _services(axes: Any, system: System, _: int) -> None:
    place = system.first.place
    seen = set(place.service[place.seen])
    points: dict[str, tuple[float, float]] = {}
    for name in place.services():
        found = headline(system, np.flatnonzero(place.service == name))
        points[name] = 100 * found["jga_v1-5"], 100 * found["ss_jga"]
        style = (_SEEN, "o") if name in seen else (_UNSEEN, "^")
        axes.plot(*points[name], marker=style[1], color=style[0], markersize=4.5)
    highest = max(1.0, 1.08 * max(y for _, y in points.values()))
    axes.set(xlabel="JGA_v1-5, %", ylabel="SS_JGA, %", xlim=(0, 100), ylim=(0, highest))
    scaled = {name: (x / 100, y / highest) for name, (x, y) in points.items()}
    for name, (side, lift) in _label_places(scaled).items():
        axes.annotate(
            _plain(name), points[name], (4 if side == "left" else -4, 8 * lift), ha=side,
            va="center", textcoords="offset points", fontsize=6, color=_INK,
        )  # fmt: skip


# About how wide a letter and how high a line of a label is, as parts of a panel.
_LETTER, _LINE = 0.017, 0.032


def _label_places(points: Mapping[str, tuple[float, float]]) -> dict[str, tuple[str, int]]:
    """Where each point's label covers least of the other points and labels.

    Args:
        points: The points by their label, as parts of the panel in [0, 1].

    Returns:
        By label, the side of the text that is at the point, and by how many lines it is lifted.
    """
    half = _LINE / 2
    taken = [(x - half, y - half, x + half, y + half) for x, y in points.values()]
    places = {}
    for name, (x, y) in points.items():
        best = None
        for lift in (0, 1, -1, 2, -2):
            for side in ("left", "right"):
                left = x + 0.015 if side == "left" else x - 0.015 - _LETTER * len(name)
                middle = y + lift * _LINE
                box = left, middle - _LINE / 2, left + _LETTER * len(name), middle + _LINE / 2
                outside = max(0.0, -box[0]) + max(0.0, box[2] - 1.05)
                cost = sum(_overlap(box, other) for other in taken) + outside + 1e-4 * abs(lift)
                if best is None or cost < best[0] - 1e-9:
                    best = cost, box, (side, lift)
        if best is not None:
            taken.append(best[1])
            places[name] = best[2]
    return places


Box = tuple[float, float, float, float]


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes (left, bottom, right, top) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)


_FEWEST_IN_A_TURN = 20


def _turns(axes: Any, system: System, i: int) -> None:
    number = system.first.turn_number
    counts = np.bincount(number)
    shown = [n for n in np.unique(number).tolist() if counts[n] >= _FEWEST_IN_A_TURN]
    found = [headline(system, np.flatnonzero(number == n)) for n in shown]
    for key, style, label in (("jga_orig", "-", "original"), ("jga_v1-5", "--", "v1 to v5")):
        heights = [100 * one[key] for one in found]
        axes.plot(
            shown, heights, style, color=COLOURS[i % len(COLOURS)], label=label, marker=".",
            markersize=4,
        )  # fmt: skip
    axes.set(xlabel="turn of the user", ylabel="joint goal accuracy, %")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def _flips(axes: Any, system: System, _: int) -> None:
    variants = original_first(list(system.first.jga))
    share = np.mean([_flip_shares(run.jga, variants) for run in system.runs], axis=0)
    highest = max(float(share.max()), 1e-9)
    for (row, column), value in np.ndenumerate(share):
        if row != column:
            square = require("matplotlib.patches").Rectangle(
                (column - 0.48, row - 0.48), 0.96, 0.96, color=COLOURS[0],
                alpha=0.08 + 0.72 * float(value) / highest, linewidth=0,
            )  # fmt: skip
            axes.add_patch(square)
            axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7)
    names = ["orig." if name == ORIGINAL else name for name in variants]
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="wrong under", ylabel="right under")
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def _flip_shares(jga: Mapping[str, Any], variants: Sequence[str]) -> Any:
    """The percentage of frames right under one variant and wrong under another [row, column]."""
    right = np.array([jga[name] == 1 for name in variants], dtype=np.float64)
    wrong = np.array([jga[name] < 1 for name in variants], dtype=np.float64)
    return 100 * right @ wrong.T / max(right.shape[1], 1)


_BIN = 5


def _words(axes: Any, analysis: Analysis, i: int) -> None:
    changes = list(slot_changes(analysis))
    words = np.array([one.words for one in changes])
    loss = 100 * np.array([one.loss for one in changes])
    frames = np.array([one.frames for one in changes])
    colour = COLOURS[i % len(COLOURS)]
    axes.axhline(0, color=_INK, linewidth=0.6)
    axes.plot(words, loss, ".", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
    if len(changes):
        bins = words // _BIN
        x = np.unique(bins)
        means = [np.average(loss[bins == b], weights=frames[bins == b]) for b in x]
        axes.plot(x * _BIN + (_BIN - 1) / 2, means, "-", color=colour, marker="o", markersize=4)
    axes.set(xlabel="words changed", ylabel="accuracy lost, points")
