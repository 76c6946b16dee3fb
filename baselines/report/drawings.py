"""How each of the report's figures is drawn, with matplotlib.

Every function returns a matplotlib figure, or None where the runs do not give what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sgdx_dataset.io.extras import require
from sgdx_metric.bootstrap import bootstrap
from sgdx_metric.columns import Floats
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .analysis import slot_changes
from .provenance import Group, System, original_first
from .runs import Tracker, Trackers
from .tables import Analyses, families, headline, system_sums

# Okabe and Ito's colours, which readers with colour-blindness tell apart, less the yellow, which
# is too pale on white, and the black, which is too dark in dark mode.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "os^DvP"
# What is drawn in this colour takes the colour of the text around it in the page.
INK = "#123456"
_SEEN, _UNSEEN = COLOURS[0], COLOURS[1]
FEWEST_IN_A_TURN = 20


def _reworded(group: Trackers) -> bool:
    """Whether all of v1 to v5 were scored."""
    return set(PAPER_VARIANTS) <= set(group.first.variants)


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, sharey: bool = False
) -> tuple[Any, Any]:
    """A figure of a size in inches, and its axes [rows, columns]."""
    figure = require("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def _panels(
    systems: Sequence[System[Any]],
    draw: Callable[[Any, System[Any], int], None],
    height: float,
    sharey: bool = False,
) -> Any:
    """A figure with a panel for each system."""
    columns = min(len(systems), 3)
    rows = -(-len(systems) // columns)
    width = 5.4 if columns == 1 else 3.6 * columns
    figure, axes = new_figure(width, height * rows + 0.3, rows, columns, sharey)
    for i, panel in enumerate(axes.flat):
        if i >= len(systems):
            panel.set_visible(False)
            continue
        draw(panel, systems[i], i)
        panel.set_title(_wrapped(systems[i].label))
    return figure


def _wrapped(text: str) -> str:
    return "\n".join(re.findall(r".{1,44}(?:\s|$)|\S{1,44}", shown_text(text)))


def shown_text(text: str) -> str:
    """A text in which matplotlib finds no formulae."""
    return text.replace("$", r"\$")


def by_variant(group: Trackers, _: Analyses) -> Any:
    """The paper's Figure 4: a line for each system, with intervals."""
    systems = group.systems
    figure, ((axes,),) = new_figure(6.4, 3.6)
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
            capsize=2.5, marker=MARKERS[i % len(MARKERS)], markersize=5,
            label=shown_text(system.label),
        )  # fmt: skip
    axes.set_xticks(range(len(variants)), variants)
    axes.set_ylabel("joint goal accuracy, %")
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside upper left", ncols=1, fontsize=8)
    return figure


def augmentation(group: Trackers, _: Analyses) -> Any:
    """The paper's Figure 5: bars of JGA_v1-5 for seen and unseen services; None without any."""
    found = families(group)
    if not (found and _reworded(group)):
        return None
    figure, axes = new_figure(max(5.4, 3.6 * len(found)), 3.4, 1, len(found))
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
                label=shown_text(system.first.augmentation or "none"),
            )  # fmt: skip
            panel.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
        panel.set_xticks((0, 1), list(services))
        panel.set_ylabel("JGA_v1-5, %")
        panel.set_title(_wrapped(plain.label))
        panel.legend(fontsize=8)
    return figure


def services(group: Trackers, _: Analyses) -> Any:
    """The paper's Figure 6: a point for each service; None where a variant is missing."""
    if not _reworded(group):
        return None
    place = group.first.place
    seen = set(place.service[place.seen])
    points = {
        system.name: {
            name: (100 * found["jga_v1-5"], 100 * found["ss_jga"])
            for name in place.services()
            for found in [headline(system, np.flatnonzero(place.service == name))]
        }
        for system in group.systems
    }
    highest = max(1.0, 1.08 * max(y for of in points.values() for _, y in of.values()))

    def draw(axes: Any, system: Tracker, _: int) -> None:
        of = points[system.name]
        axes.set(xlabel="JGA_v1-5, %", ylabel="SS_JGA, %", xlim=(0, 100), ylim=(0, highest))
        for name, point in of.items():
            marker, colour = ("o", _SEEN) if name in seen else ("^", _UNSEEN)
            axes.plot(*point, marker=marker, color=colour, markersize=4.5, clip_on=False)
        scaled = {name: (x / 100, y / highest) for name, (x, y) in of.items()}
        for name, (side, lift) in _label_places(scaled).items():
            axes.annotate(
                shown_text(name), of[name], (4 if side == "left" else -4, 8 * lift), ha=side,
                va="center", textcoords="offset points", fontsize=6,
            )  # fmt: skip

    return _panels(group.systems, draw, 3.6)


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


def turns(group: Trackers, _: Analyses) -> Any:
    """Joint goal accuracy by turn of the user; None without the original or a variant."""
    if not (_reworded(group) and ORIGINAL in group.first.variants):
        return None
    number = group.first.turn_number
    counts = np.bincount(number)
    shown = [n for n in np.unique(number).tolist() if counts[n] >= FEWEST_IN_A_TURN]

    def draw(axes: Any, system: Tracker, i: int) -> None:
        found = [headline(system, np.flatnonzero(number == n)) for n in shown]
        for key, style, label in (("jga_orig", "-", "original"), ("jga_v1-5", "--", "v1 to v5")):
            heights = [100 * one[key] for one in found]
            colour = COLOURS[i % len(COLOURS)]
            axes.plot(shown, heights, style, color=colour, label=label, marker=".", markersize=4)
        axes.set(xlabel="turn of the user", ylabel="joint goal accuracy, %")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return _panels(group.systems, draw, 2.8, sharey=True)


def flips(group: Trackers, _: Analyses) -> Any:
    """A square for each two variants; None without the original or with no other variant."""
    if ORIGINAL not in group.first.variants or len(group.first.variants) < 2:
        return None
    variants = original_first(group.first.variants)
    shares = {
        one.name: np.mean([_flip_shares(run.jga, variants) for run in one.runs], axis=0)
        for one in group.systems
    }
    highest = max(1e-9, *(float(share.max()) for share in shares.values()))
    names = ["orig." if name == ORIGINAL else name for name in variants]

    def draw(axes: Any, system: Tracker, _: int) -> None:
        rectangle = require("matplotlib.patches").Rectangle
        for (row, column), value in np.ndenumerate(shares[system.name]):
            if row != column:
                alpha = 0.06 + 0.54 * float(value) / highest
                corner = column - 0.48, row - 0.48
                square = rectangle(corner, 0.96, 0.96, color=_SEEN, alpha=alpha, linewidth=0)
                axes.add_patch(square)
                axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7)
        axes.set_xticks(range(len(names)), names)
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="wrong under", ylabel="right under", xlim=(-0.5, len(names) - 0.5))
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.tick_params(length=0)

    return _panels(group.systems, draw, 3.0)


def _flip_shares(jga: Mapping[str, Floats], variants: Sequence[str]) -> Floats:
    """The percentage of frames right under one variant and wrong under another [row, column]."""
    right = np.array([jga[name] == 1 for name in variants], dtype=np.float64)
    wrong = np.array([jga[name] < 1 for name in variants], dtype=np.float64)
    share: Floats = 100 * right @ wrong.T / max(right.shape[1], 1)
    return share


_BIN = 5


def words_changed(group: Trackers, analyses: Analyses) -> Any:
    """A point for each slot and variant, and the mean; None where nothing was analysed."""
    systems = [one for one in group.systems if one.name in analyses]
    variants = set(group.first.variants)
    if not (systems and variants & set(PAPER_VARIANTS) and ORIGINAL in variants):
        return None

    def draw(axes: Any, system: Tracker, i: int) -> None:
        changes = list(slot_changes(analyses[system.name]))
        words = np.array([one.words for one in changes])
        loss = 100 * np.array([one.loss for one in changes])
        frames = np.array([one.frames for one in changes])
        colour = COLOURS[i % len(COLOURS)]
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.plot(words, loss, ".", color=colour, alpha=0.35, markersize=4, markeredgewidth=0)
        if len(changes):
            bins = words // _BIN
            x = np.unique(bins)
            means = [np.average(loss[bins == b], weights=frames[bins == b]) for b in x]
            axes.plot(x * _BIN + (_BIN - 1) / 2, means, "-", color=colour, marker="o", markersize=4)
        axes.set(xlabel="words changed", ylabel="accuracy lost, points")

    return _panels(systems, draw, 2.8, sharey=True)


def learning_curves(group: Group[Any], *_: Any) -> Any:
    """The loss and the score on dev over training, a panel for each system; None without logs."""
    systems = [system for system in group.systems if system.first.logs]
    if not systems:
        return None

    def draw(axes: Any, system: System[Any], _: int) -> None:
        logs = system.first.logs
        timed = all("seconds" in line for log in logs.values() for line in log if "loss" in line)
        scores = axes.twinx()
        scores.spines["right"].set_visible(True)
        scores.set(ylim=(0, 100), ylabel="score on dev, %")
        axes.set(yscale="log", ylabel="loss", xlabel="minutes of training" if timed else "steps")
        axes.margins(x=0.2)
        axes.yaxis.set_major_locator(require("matplotlib.ticker").LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        whole = sum(line.get("seconds", 0.0) for log in logs.values() for line in log) / 60
        for i, (name, log) in enumerate(logs.items()):
            colour = COLOURS[i % len(COLOURS)]
            minutes = np.cumsum([line.get("seconds", 0.0) for line in log]) / 60
            loss = [n for n, line in enumerate(log) if "loss" in line]
            if not loss and not name:  # the score of all sub-models together, after the last
                minutes = np.full(len(log), whole)
            x = minutes if timed else np.array([line["step"] for line in log])
            dev = {n: v for n, line in enumerate(log) for k, v in line.items() if k[:4] == "dev_"}
            losses = [log[n]["loss"] for n in loss]
            axes.plot(x[loss], losses, color=colour, linewidth=1)
            if loss:
                axes.annotate(
                    shown_text(name), (x[loss[-1]], losses[-1]), (3, 0), color=colour, fontsize=7,
                    va="center", textcoords="offset points",
                )  # fmt: skip
            at, heights = x[list(dev)], [100 * value for value in dev.values()]
            scores.plot(at, heights, "o--", color=colour, linewidth=0.8, markersize=4)
            if not loss and dev:
                scores.annotate(
                    shown_text(name or "joined"), (at[-1], heights[-1]), (0, 5), color=colour,
                    fontsize=7, ha="center", textcoords="offset points",
                )  # fmt: skip

    return _panels(systems, draw, 3.0)
