"""The page's three plots: under every variant, the drop beside the flips, and turn by turn."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.extras import require
from sgdx_metric.columns import Floats
from sgdx_metric.result import Figure, reworded_variants
from sgdx_metric.units import Scores
from sgdx_metric.variants import ORIGINAL

from .runs import Group

# Okabe and Ito's colours, which readers with colour-blindness tell apart, less the yellow, which
# is too pale on white, and the black, which is too dark in dark mode.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = "os^DvP"
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sgdx",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.facecolor": "none",
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # where it would be put after a long search
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    # Names in them are texts, in which $ begins no formula.
    "text.parse_math": False,
}
_BARS = {"elinewidth": 0.9, "capsize": 2.5}  # of intervals
_MOST_VARIANTS = 40  # of more, the names cannot be read
_FEWEST_IN_A_TURN = 20


class Picture(NamedTuple):
    """A plot, drawn and saved."""

    name: str  # of its files, without ending
    title: str
    note: str
    svg: bytes
    png: bytes
    width: int  # in the page, in pixels


def draw_pictures(group: Group) -> list[Picture]:
    """The pictures that a group's runs give."""
    # Of other tasks and of several groups, files have names of their own.
    kind = "" if group.task == "state" else f"{group.task}_"
    suffix = "" if group.number is None else f"_{group.number}"
    pictures = []
    for draw, title, note in _PLOTS:
        with own_style(_STYLE):
            if (figure := draw(group)) is None:
                continue
            if group.caveats:  # They stand below the plot, as wide as it is.
                told = textwrap.fill("; ".join(group.caveats), round(15 * figure.get_figwidth()))
                figure.supxlabel(told, fontsize=8)
            # The layout, which takes longer than drawing, is made once and not at each saving.
            figure.get_layout_engine().execute(figure)
            figure.set_layout_engine("none")
            svg, png = io.BytesIO(), io.BytesIO()
            # Without a date or a version, so that the same figures give the same file.
            of_svg = {"Date": None, "Creator": None, "Format": None, "Type": None}
            figure.savefig(svg, format="svg", facecolor="white", metadata=of_svg)
            of_png = {"Software": None}
            figure.savefig(png, format="png", facecolor="white", metadata=of_png, dpi=130)
        name = f"{kind}{draw.__name__}{suffix}"
        # As wide that its text is about as large as the page's.
        width = round(1.4 * 72 * figure.get_figwidth())
        pictures.append(Picture(name, title, note, svg.getvalue(), png.getvalue(), width))
    return pictures


@contextmanager
def own_style(style: Mapping[str, Any]) -> Iterator[None]:
    """Draw with matplotlib's own settings and these, whatever the user's environment says."""
    # It reads MPLBACKEND and the user's matplotlibrc when it is imported. Notebooks hand on a
    # backend that others may not have; files need none.
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        matplotlib = require("matplotlib")
    except (ValueError, OSError) as error:  # such as of a matplotlibrc that is no text
        raise SgdxError(f"matplotlib cannot be loaded with its matplotlibrc: {error}") from None
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        yield


def _new(width: float, height: float) -> Any:
    """An empty figure of a size in inches."""
    return require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")


def _bars(figures: Sequence[Figure | None], scale: float) -> tuple[Floats, tuple[Floats, Floats]]:
    """The values of figures, and how long the bars of their intervals are below and above."""
    none = (np.nan, np.nan)
    value = scale * np.array([f.value if f and f.value is not None else np.nan for f in figures])
    low, high = scale * np.array([(f and f.interval) or none for f in figures], dtype=float).T
    return value, (value - low, high - value)


def by_variant(group: Group) -> Any:
    """The paper's Figure 4: a panel for each mean, and in it a line for each system."""
    names, systems = group.variants[:_MOST_VARIANTS], group.systems
    if len(names) < 2:
        return None
    labels = [textwrap.fill(system.label, 90) for system in systems]
    height = 3.2 + 0.18 * sum(label.count("\n") + 1 for label in labels)
    figure = _new(max(1.0, len(names) / 8) * max(6.4, 3.3 * len(group.headlines)), height)
    panels = figure.subplots(1, len(group.headlines), squeeze=False)[0]
    ticks = ["orig." if name == ORIGINAL else name for name in names]
    rotation = 60 if len(names) > 8 or max(map(len, names)) > 8 else 0
    for panel, metric in zip(panels, group.headlines):
        for i, system in enumerate(systems):
            of_variants = system.result.by_variant(metric.name, "mean")
            middle, bars = _bars([of_variants.get(name) for name in names], metric.scale)
            # The systems stand beside each other, so that their intervals can be told apart.
            beside = (i - (len(systems) - 1) / 2) * min(0.1, 0.5 / len(systems))
            panel.errorbar(
                np.arange(len(names)) + beside,
                middle,
                bars,
                label=labels[i] if panel is panels[0] else None,
                color=_COLOURS[i % len(_COLOURS)],
                marker=_MARKERS[(i + i // len(_COLOURS)) % len(_MARKERS)],
                markersize=5,
                linewidth=1.4,
                **_BARS,
            )
        panel.set_xticks(range(len(names)), ticks, rotation=rotation)
        panel.set_title(f"{metric.shown}, %" if metric.scale == 100 else metric.shown)
        panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]), top=max(1.0, panel.get_ylim()[1]))
    figure.legend(loc="outside upper left", ncols=1, fontsize=8)
    return figure


def drop_beside_flips(group: Group) -> Any:
    """Two bars for each system."""
    metric, systems = group.main, group.systems
    kinds = {"drop": "drop: other words less original words", "flips": f"flips: {group.unit}"}
    found = {kind: [s.result.main(metric.name, kind) for s in systems] for kind in kinds}
    if not all(f is not None for of_kind in found.values() for f in of_kind):
        return None
    labels = [textwrap.fill(system.label, 24) for system in systems]
    figure = _new(6.4, 1.2 + sum(0.35 + 0.15 * (label.count("\n") + 1) for label in labels))
    axes = figure.subplots()
    for i, (kind, label) in enumerate(kinds.items()):
        lengths, bars = _bars(found[kind], 100)
        places = np.arange(len(systems)) + (i - 0.5) * 0.38
        style = {"color": _COLOURS[i], "error_kw": _BARS, "label": label}
        drawn = axes.barh(places, lengths, 0.36, xerr=bars, **style)
        axes.bar_label(drawn, [f"{length:.1f}" for length in lengths], fontsize=7, padding=3)
    axes.set_yticks(range(len(systems)), labels)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(f"points, and % of {group.unit}")
    figure.legend(loc="outside upper left", ncols=2, fontsize=8)
    return figure


def by_turn(group: Group) -> Any:
    """The means by turn of the user, a panel for each system; None where turns are not known."""
    metric, systems = group.main, group.systems
    others, levels = reworded_variants(group.variants, group.task), {"frame": 1, "turn": 0}
    if group.item not in levels or ORIGINAL not in group.variants or not others:
        return None
    ids = systems[0].first.result.scores.items.ids.to_pylist()
    places = [i.rsplit("/", levels[group.item])[0].rpartition("/")[2] for i in ids]
    if not all(map(str.isdecimal, places)):
        return None
    turn = np.array(places, dtype=np.int64) // 2 + 1  # Users speak first, then every second time.
    numbers, counts = np.unique(turn, return_counts=True)
    numbers = numbers[counts >= _FEWEST_IN_A_TURN]
    if not len(numbers):
        return None
    lines = {"original words": ([ORIGINAL], "-"), "other words": (others, "--")}
    columns = min(len(systems), 3)
    rows, width = -(-len(systems) // columns), 5.4 if columns == 1 else 3.6 * columns
    figure = _new(width, 2.8 * rows + 0.3)
    # The panels share a scale on which every line is whole.
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True)
    highest = 1.0
    for i, (panel, system) in enumerate(zip(axes.flat, systems)):
        runs = [run.result.scores for run in system.runs]
        for label, (names, style) in lines.items():
            of_runs = [of.metrics[metric.each or metric.name][_places(of, names)] for of in runs]
            each = np.nanmean(np.stack(of_runs), axis=(0, 1))  # [items]
            heights = metric.scale * np.array([np.nanmean(each[turn == n]) for n in numbers])
            highest = max(highest, 1.05 * float(np.nanmax(heights)))
            line = {"color": _COLOURS[i % len(_COLOURS)], "marker": ".", "markersize": 4}
            panel.plot(numbers, heights, style, label=label, **line)
        panel.set_title(textwrap.fill(system.label, 44))
        panel.set(xlabel="turn of the user", ylabel="%")
        panel.legend(fontsize=8)
    axes[0, 0].set_ylim(0, highest)
    for panel in axes.flat[len(systems) :]:
        panel.set_visible(False)
    return figure


def _places(scores: Scores, names: Sequence[str]) -> list[int]:
    return [list(scores.variants).index(name) for name in names]


_PLOTS: Sequence[tuple[Callable[[Group], Any], str, str]] = [
    (
        by_variant,
        "Under every variant",
        "Means with 95 % intervals. The words of v1 are the nearest to the original ones, those of "
        "v5 the farthest.",
    ),
    (
        drop_beside_flips,
        "What the mean hides: the drop beside the flips",
        "The drop is the mean under other words less that under the original ones. The flips are "
        "right under one variant and wrong under another. If as many are won as lost, the mean "
        "does not move although they change. The bars are 95 % intervals.",
    ),
    (
        by_turn,
        "Turn by turn",
        "For the first turn of the user, the second and so on. The solid line is under the "
        "original words, the dashed line is the mean under others. Turns with fewer than "
        f"{_FEWEST_IN_A_TURN} items are left out.",
    ),
]
