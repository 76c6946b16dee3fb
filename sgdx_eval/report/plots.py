"""The report's plots, of any task: the paper's Figures 4, 5 and 6, and our own.

Each draws with matplotlib and gives the figure, or None where the runs do not give what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sgdx_dataset.io.extras import require
from sgdx_eval.task import Keys
from sgdx_metric.columns import Floats
from sgdx_metric.statistics import Figure
from sgdx_metric.variants import ORIGINAL

from .figures import Figures, flip_shares, under_variants
from .pictures import (
    COLOURS,
    INK,
    MARKERS,
    draw_panels,
    new_figure,
    plot,
    without_formulae,
    wrap_label,
)
from .runs import Group, Logs, System

_SEEN, _UNSEEN = COLOURS[0], COLOURS[1]
Box = tuple[float, float, float, float]  # left, bottom, right, top
_MOST_VARIANTS, _MANY_VARIANTS = 40, 8


def _main(group: Group) -> tuple[Keys, dict[str, Figure]]:
    """The figures that tell what rewording costs: their keys, and those that the runs give."""
    known = Figures(group.systems[0], group.main)
    return group.keys, {key: known.by_key[key] for key in known.values() if key != "loss"}


def _axis(figure: Figure) -> str:
    return f"{figure.title}, %" if figure.scale == 100 else figure.title


@plot(
    "Under every variant",
    "Means with 95 % intervals. The words of v1 are the nearest to the original ones, those of v5 "
    "the farthest.",
)
def by_variant(group: Group) -> Any:
    """The paper's Figure 4: a panel for each mean, and in it a line for each system."""
    names = group.variants[:_MOST_VARIANTS]  # of more, the names cannot be read
    headlines = group.headlines
    if len(names) < 2:
        return None
    systems, wide = group.systems, max(1.0, len(names) / _MANY_VARIANTS)
    width = wide * max(6.4, 3.3 * len(headlines))
    height = 3.2 + 0.18 * len(systems)  # a line of the legend each
    figure, (panels,) = new_figure(width, height, 1, len(headlines))
    for panel, (metric, headline) in zip(panels, headlines.items()):
        members = group.members(metric)
        for i, system in enumerate(systems):
            means = under_variants(system, metric, members)
            middle = headline.scale * np.array([means[name].value for name in names])
            ends = [means[name].interval or (np.nan, np.nan) for name in names]
            low, high = headline.scale * np.array(ends).T
            # The systems stand a little beside each other, so that their intervals can be told
            # apart.
            beside = (i - (len(systems) - 1) / 2) * min(0.1, 0.5 / len(systems))
            panel.errorbar(
                np.arange(len(names)) + beside, middle, (middle - low, high - middle),
                color=COLOURS[i % len(COLOURS)], linewidth=1.4, elinewidth=0.9, capsize=2.5,
                marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)], markersize=5,
                label=without_formulae(system.label) if panel is panels[0] else None,
            )  # fmt: skip
        labels = ["orig." if name == ORIGINAL else without_formulae(name) for name in names]
        is_crowded = len(names) > _MANY_VARIANTS or max(map(len, labels)) > _MANY_VARIANTS
        panel.set_xticks(range(len(names)), labels, rotation=60 if is_crowded else 0)
        panel.set_title(_axis(headline))
        panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]), top=max(1.0, panel.get_ylim()[1]))
    figure.legend(loc="outside upper left", ncols=1, fontsize=8)
    return figure


@plot(
    "What the mean hides: the drop beside the flips",
    "The drop is the average loss in percentage points. The flips are right under one variant and "
    "wrong under another, in percent. If as many are won as lost, the mean does not move although "
    "they change. The bars are 95 % intervals.",
)
def drop_beside_flips(group: Group) -> Any:
    """Two bars for each system."""
    keys, known = _main(group)
    if not {keys.original, keys.reworded, keys.flips} <= known.keys():
        return None
    systems = group.systems
    figure, ((axes,),) = new_figure(6.4, 1.1 + 0.55 * len(systems))
    estimates = [Figures(system, group.main).estimates() for system in systems]
    titles = [known[keys.original].title, known[keys.reworded].title]
    better, worse = titles[::-1] if known[keys.reworded].lower_is_better else titles
    drop = f"drop: {better} less {worse}"
    labels = {"loss": drop, keys.flips: f"flips: {group.unit} that change sides"}
    for i, (key, label) in enumerate(labels.items()):
        lengths = np.array([100 * of_system[key].value for of_system in estimates])
        intervals = [of_system[key].interval or (np.nan, np.nan) for of_system in estimates]
        low, high = 100 * np.array(intervals).T
        bars = axes.barh(
            np.arange(len(systems)) + (i - 0.5) * 0.38, lengths, 0.36, color=COLOURS[i],
            xerr=(lengths - low, high - lengths), label=label,
            error_kw={"elinewidth": 0.9, "capsize": 2.5},
        )  # fmt: skip
        axes.bar_label(bars, [f"{length:.1f}" for length in lengths], fontsize=7, padding=3)
    axes.set_yticks(range(len(systems)), [wrap_label(system.label) for system in systems])
    axes.invert_yaxis()
    axes.axvline(0, color=INK, linewidth=0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(f"percentage points, and % of {group.unit}")
    figure.legend(loc="outside upper left", ncols=2, fontsize=8)
    return figure


@plot(
    "Training on other words, by seen and unseen services",
    "The mean under other words, without augmentation and with each kind of augmentation, as in "
    "Figure 5 of the SGD-X paper.",
)
def augmentation(group: Group) -> Any:
    """The paper's Figure 5: bars for seen and unseen services; None without augmentation."""
    families, (keys, known) = group.families(), _main(group)
    if not families or keys.reworded not in known:
        return None
    figure, axes = new_figure(max(5.4, 3.6 * len(families)), 3.4, 1, len(families))
    sets = {name: members for name, members in group.sets.items() if "seen" in name}
    for panel, family in zip(axes.flat, families):
        width = 0.8 / len(family)
        for i, system in enumerate(family):
            heights = [
                known[keys.reworded].scale * Figures(system, members).values()[keys.reworded]
                for members in sets.values()
            ]
            x = np.arange(len(sets)) + (i - (len(family) - 1) / 2) * width
            bars = panel.bar(
                x, heights, width, color=COLOURS[i % len(COLOURS)],
                label=without_formulae(system.first.augmentation or "none"),
            )  # fmt: skip
            panel.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
        panel.set_xticks(range(len(sets)), list(sets))
        panel.set_ylabel(_axis(known[keys.reworded]))
        panel.set_title(wrap_label(family[0].label))
        panel.legend(fontsize=8)
    return figure


# About how wide a letter and how high a line of a label is, as parts of a panel.
_LETTER_AND_LINE = 0.017, 0.032


@plot(
    "Services: the mean under other words against schema sensitivity",
    "The figures are in percent, as in Figure 6 of the SGD-X paper. A robust system has its "
    "services at the bottom: other words change little. Circles are services of the original train "
    "split. Triangles are unseen services.",
)
def services(group: Group) -> Any:
    """The paper's Figure 6: a point for each service; None without one."""
    members, (keys, known) = group.services, _main(group)
    if not members or not {keys.reworded, keys.sensitivity} <= known.keys():
        return None
    seen = set(group.results.raw.items.service[group.results.raw.items.seen])
    points: dict[str, dict[str, tuple[float, float]]] = {}
    for system in group.systems:
        figures = {name: Figures(system, of_one).values() for name, of_one in members.items()}
        points[system.name] = {
            name: (100 * values[keys.reworded], 100 * values[keys.sensitivity])
            for name, values in figures.items()
        }
    heights = [y for of_system in points.values() for _, y in of_system.values()]
    highest = max(1.0, 1.08 * float(np.nanmax(heights)))

    def draw(axes: Any, system: System, _: int) -> None:
        axes.set(xlabel=_axis(known[keys.reworded]), ylabel=_axis(known[keys.sensitivity]))
        axes.set(xlim=(0, 100), ylim=(0, highest))
        of_system = points[system.name]
        for name, point in of_system.items():
            marker, colour = ("o", _SEEN) if name in seen else ("^", _UNSEEN)
            axes.plot(*point, marker=marker, color=colour, markersize=4.5, clip_on=False)
        scaled = {name: (x / 100, y / highest) for name, (x, y) in of_system.items()}
        for name, (side, lift) in _place_labels(scaled, *_LETTER_AND_LINE).items():
            axes.annotate(
                without_formulae(name), of_system[name], (4 if side == "left" else -4, 8 * lift),
                ha=side, va="center", textcoords="offset points", fontsize=6,
            )  # fmt: skip

    return draw_panels(group.systems, draw, 3.6)


def _place_labels(
    points: Mapping[str, tuple[float, float]], letter: float, line: float
) -> dict[str, tuple[str, int]]:
    """Place the labels of points one after the other, each where it covers others least.

    The points, by their label, are parts of the panel in [0, 1]; so are about how wide a letter and
    how high a line is. Gives by label the side of the text that is at the point, `left` or
    `right`, and by how many lines it is lifted.
    """
    half = line / 2
    taken = [(x - half, y - half, x + half, y + half) for x, y in points.values()]
    labels = {}
    for name, (x, y) in points.items():
        places = {}
        for lift in (0, 1, -1, 2, -2):
            for side in ("left", "right"):
                left = x + 0.015 if side == "left" else x - 0.015 - letter * len(name)
                middle = y + lift * line
                box = left, middle - half, left + letter * len(name), middle + half
                outside = max(0.0, -box[0]) + max(0.0, box[2] - 1.05)
                cost = sum(_overlap(box, other) for other in taken) + outside + 1e-4 * abs(lift)
                places[side, lift] = round(cost, 9), box
        labels[name] = min(places, key=lambda place: places[place][0])
        taken.append(places[labels[name]][1])
    return labels


def _overlap(first: Box, second: Box) -> float:
    """The area that two boxes share."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, width) * max(0.0, height)


_FEWEST_IN_A_TURN = 20


@plot(
    "By turn of the user",
    "In percent, for the first turn of the user, the second and so on. The solid line is under "
    "the original words, the dashed line is the mean under others. Turns with fewer than "
    f"{_FEWEST_IN_A_TURN} items are left out.",
)
def turns(group: Group) -> Any:
    """The means by turn of the user; None where turns are not known."""
    items, (keys, known) = group.results.raw.items, _main(group)
    places = [group.task.place(item)[1].rpartition("/")[2] for item in items.ids.to_pylist()]
    is_known = items.services() and all(map(str.isdecimal, places))
    if not is_known or not {keys.original, keys.reworded} <= known.keys():
        return None
    turn = np.array(places, dtype=np.int64) // 2 + 1  # Users speak first, then every second time.
    numbers, counts = np.unique(turn, return_counts=True)
    numbers = numbers[counts >= _FEWEST_IN_A_TURN]
    if not len(numbers):
        return None

    def draw(axes: Any, system: System, i: int) -> None:
        values = [Figures(system, np.flatnonzero(turn == n)).values() for n in numbers]
        for key, style in ((keys.original, "-"), (keys.reworded, "--")):
            heights = [known[key].scale * of_turn[key] for of_turn in values]
            axes.plot(
                numbers, heights, style, color=COLOURS[i % len(COLOURS)], label=known[key].title,
                marker=".", markersize=4,
            )  # fmt: skip
        axes.set(xlabel="turn of the user", ylabel="%")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return draw_panels(group.systems, draw, 2.8, sharey=True)


@plot(
    "Right under one variant and wrong under another",
    "In percent of all: right (scores 1) under the variant of the row and wrong under the variant "
    "of the column.",
)
def flips(group: Group) -> Any:
    """A square for each two variants; None without the original or with no other variant."""
    names = group.variants
    is_right_or_wrong = group.keys.headline in group.results.raw.metrics  # and no sum of counts
    if not (is_right_or_wrong and ORIGINAL in names and 2 <= len(names) <= _MOST_VARIANTS):
        return None
    shares = {system.name: 100 * flip_shares(system, names) for system in group.systems}
    highest = max(1e-9, *(float(share.max()) for share in shares.values()))
    labels = ["orig." if name == ORIGINAL else without_formulae(name) for name in names]

    def draw(axes: Any, system: System, _: int) -> None:
        rectangle = require("matplotlib.patches").Rectangle
        for (row, column), value in np.ndenumerate(shares[system.name]):
            if row != column:
                alpha = 0.06 + 0.54 * float(value) / highest
                corner = column - 0.48, row - 0.48
                square = rectangle(corner, 0.96, 0.96, color=_SEEN, alpha=alpha, linewidth=0)
                axes.add_patch(square)
                axes.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7)
        axes.set_xticks(range(len(labels)), labels, rotation=60 if len(labels) > 6 else 0)
        axes.set_yticks(range(len(labels)), labels)
        axes.set(xlabel="wrong under", ylabel="right under", xlim=(-0.5, len(labels) - 0.5))
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.tick_params(length=0)

    return draw_panels(group.systems, draw, max(3.0, 0.42 * len(labels)))


@plot(
    "Learning curves",
    "The lines are the training loss, on the left scale. The points are the score on dev under "
    "the original schemas, on the right scale: joint goal accuracy for trackers, the F1 of their "
    "decisions for sub-models that decide, BLEU for generators. With several seeds this is the "
    "first run.",
)
def learning_curves(group: Group) -> Any:
    """The loss and the score on dev over training, a panel for each system; None without logs."""
    systems = [system for system in group.systems if system.first.logs]
    if not systems:
        return None

    def draw(axes: Any, system: System, _: int) -> None:
        scores = axes.twinx()
        scores.spines["right"].set_visible(True)
        scores.set(ylim=(0, 100), ylabel="score on dev, %")
        axes.set(yscale="log", ylabel="loss")
        axes.set(xlabel="minutes of training" if _has_times(system.first.logs) else "steps")
        axes.margins(x=0.2)
        axes.yaxis.set_major_locator(require("matplotlib.ticker").LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        for i, (sub_model, losses, dev) in enumerate(_curves(system.first.logs)):
            colour = COLOURS[i % len(COLOURS)]
            axes.plot(*losses, color=colour, linewidth=1)
            scores.plot(dev[0], 100 * dev[1], "o--", color=colour, linewidth=0.8, markersize=4)
            text = {"color": colour, "fontsize": 7, "textcoords": "offset points"}
            name = without_formulae(sub_model)
            if losses.size:
                axes.annotate(name, losses[:, -1], (3, 0), va="center", **text)
            elif dev.size:
                end = dev[0, -1], 100 * dev[1, -1]
                scores.annotate(name or "joined", end, (0, 5), ha="center", **text)

    return draw_panels(systems, draw, 3.0)


def _has_times(logs: Logs) -> bool:
    """Whether every loss in the logs has the seconds that its steps took."""
    return all("seconds" in line for log in logs.values() for line in log if "loss" in line)


def _curves(logs: Logs) -> Iterator[tuple[str, Floats, Floats]]:
    """The sub-model of each log, and over its training the losses and the scores on dev [2, lines].

    Both have minutes of training in the first row where the logs have times, else steps. Scores are
    fractions. The sub-model is "" for a model that has none, and for all of them together.
    """
    seconds = {name: [line.get("seconds", 0.0) for line in log] for name, log in logs.items()}
    for name, log in logs.items():
        losses = {i: line["loss"] for i, line in enumerate(log) if "loss" in line}
        dev = {i: v for i, line in enumerate(log) for k, v in line.items() if k[:4] == "dev_"}
        if not _has_times(logs):
            x = np.array([line.get("step", np.nan) for line in log])
        elif losses or name:
            x = np.cumsum(seconds[name]) / 60
        else:  # the score of all sub-models together, which is known after the last
            x = np.full(len(log), sum(map(sum, seconds.values())) / 60)
        of_loss, of_dev = (np.array([x[list(y)], list(y.values())]) for y in (losses, dev))
        yield name, of_loss, of_dev
