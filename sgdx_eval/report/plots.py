"""The report's plots of trackers: the paper's Figures 4, 5 and 6, and our own.

Each is a function that draws it with matplotlib and returns the figure, or None where the runs do
not give what it shows; below the function stands the ``Plot`` with its caption.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sgdx_dataset.io.extras import require
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .labels import place_labels
from .numbers import (
    flip_shares,
    frames_by_service,
    has_times,
    headline_estimates,
    headline_scores,
    means_by_variant,
    training_curves,
)
from .pictures import (
    COLOURS,
    INK,
    MARKERS,
    Plot,
    draw_panels,
    new_figure,
    without_formulae,
    wrap_label,
)
from .slots.breakage import Analyses
from .slots.show import WORDS_CHANGED
from .systems import (
    ScoredSystem,
    SystemGroup,
    TrackerGroup,
    TrackerSystem,
    augmentation_families,
    original_first,
)

_SEEN, _UNSEEN = COLOURS[0], COLOURS[1]


def _has_rewordings(group: TrackerGroup) -> bool:
    """Whether all of v1 to v5 were scored."""
    return set(PAPER_VARIANTS) <= set(group.first.variants)


def jga_by_variant(group: TrackerGroup, _: Analyses) -> Any:
    """The paper's Figure 4: a line for each system, with intervals."""
    systems = group.systems
    figure, ((axes,),) = new_figure(6.4, 3.2 + 0.18 * len(systems))  # a line of the legend each
    variants = original_first(group.first.variants)
    for i, system in enumerate(systems):
        means = means_by_variant(system)
        middle = np.array([100 * means[name].value for name in variants])
        intervals = [means[name].interval or (np.nan, np.nan) for name in variants]
        low, high = 100 * np.array(intervals).T
        # The systems stand a little beside each other, so that their intervals can be told apart.
        x = np.arange(len(variants)) + (i - (len(systems) - 1) / 2) * min(0.1, 0.5 / len(systems))
        colour = COLOURS[i % len(COLOURS)]
        axes.errorbar(
            x, middle, (middle - low, high - middle), color=colour, linewidth=1.4, elinewidth=0.9,
            capsize=2.5, marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)], markersize=5,
            label=without_formulae(system.label),
        )  # fmt: skip
    axes.set_xticks(range(len(variants)), variants)
    axes.set_ylabel("joint goal accuracy, %")
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside upper left", ncols=1, fontsize=8)
    return figure


_JGA_BY_VARIANT = Plot(
    "jga_by_variant",
    "Joint goal accuracy by variant",
    "The figures are in percent, with 95 % intervals over dialogues, as in Figure 4 of the SGD-X "
    "paper. From v1 to v5, the words of the schemas are farther and farther from the original "
    "words.",
    jga_by_variant,
)


def drop_beside_flips(group: TrackerGroup, _: Analyses) -> Any:
    """Two bars for each system; None unless it was scored under all six wordings."""
    if not (_has_rewordings(group) and ORIGINAL in group.first.variants):
        return None
    systems = group.systems
    figure, ((axes,),) = new_figure(6.4, 1.1 + 0.55 * len(systems))
    estimates = [headline_estimates(system) for system in systems]
    labels = {"drop": "drop: JGA_orig less JGA_v1-5", "flips": "flips: frames that change sides"}
    for i, (name, label) in enumerate(labels.items()):
        lengths = np.array([100 * of_system[name].value for of_system in estimates])
        intervals = [of_system[name].interval or (np.nan, np.nan) for of_system in estimates]
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
    axes.set_xlabel("percentage points, and % of frames")
    figure.legend(loc="outside upper left", ncols=2, fontsize=8)
    return figure


_DROP_BESIDE_FLIPS = Plot(
    "drop_beside_flips",
    "What the mean hides: the drop beside the flips",
    "The drop is the average loss in percentage points. The flips are the frames that are right "
    "under one of the six wordings and wrong under another, in percent. If as many frames are "
    "won as lost, the mean does not move although frames change. The bars are 95 % intervals "
    "over dialogues.",
    drop_beside_flips,
)


def augmentation(group: TrackerGroup, _: Analyses) -> Any:
    """The paper's Figure 5: bars of JGA_v1-5 for seen and unseen services; None without any."""
    families = augmentation_families(group)
    if not (families and _has_rewordings(group)):
        return None
    figure, axes = new_figure(max(5.4, 3.6 * len(families)), 3.4, 1, len(families))
    seen = group.first.results.frame_index.seen
    services = {"seen": np.flatnonzero(seen), "unseen": np.flatnonzero(~seen)}
    for panel, family in zip(axes.flat, families):
        width = 0.8 / len(family.systems)
        for i, system in enumerate(family.systems):
            heights = [
                100 * headline_scores(system, frames).get("jga_v1-5", np.nan)
                for frames in services.values()
            ]
            x = np.arange(2) + (i - len(family.augmented) / 2) * 0.8 / len(family.systems)
            bars = panel.bar(
                x, heights, width, color=COLOURS[i % len(COLOURS)],
                label=without_formulae(system.first.augmentation or "none"),
            )  # fmt: skip
            panel.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
        panel.set_xticks((0, 1), list(services))
        panel.set_ylabel("JGA_v1-5, %")
        panel.set_title(wrap_label(family.plain.label))
        panel.legend(fontsize=8)
    return figure


_AUGMENTATION = Plot(
    "augmentation",
    "Training on other words, by seen and unseen services",
    "JGA_v1-5 in percent, without augmentation and with each kind of augmentation, as in Figure "
    "5 of the SGD-X paper.",
    augmentation,
)


# About how wide a letter and how high a line of a label is, as parts of a panel.
_LETTER_AND_LINE = 0.017, 0.032


def services(group: TrackerGroup, _: Analyses) -> Any:
    """The paper's Figure 6: a point for each service; None where a variant is missing."""
    if not _has_rewordings(group):
        return None
    index = group.first.results.frame_index
    seen = set(index.service[index.seen])
    points = {system.name: _service_points(system) for system in group.systems}
    heights = [y for services in points.values() for _, y in services.values()]
    highest = max(1.0, 1.08 * max(heights))

    def draw(axes: Any, system: TrackerSystem, _: int) -> None:
        axes.set(xlabel="JGA_v1-5, %", ylabel="SS_JGA, %", xlim=(0, 100), ylim=(0, highest))
        services = points[system.name]
        for name, point in services.items():
            marker, colour = ("o", _SEEN) if name in seen else ("^", _UNSEEN)
            axes.plot(*point, marker=marker, color=colour, markersize=4.5, clip_on=False)
        scaled = {name: (x / 100, y / highest) for name, (x, y) in services.items()}
        for name, (side, lift) in place_labels(scaled, *_LETTER_AND_LINE).items():
            axes.annotate(
                without_formulae(name), services[name], (4 if side == "left" else -4, 8 * lift),
                ha=side, va="center", textcoords="offset points", fontsize=6,
            )  # fmt: skip

    return draw_panels(group.systems, draw, 3.6)


_SERVICES = Plot(
    "services",
    "Services: joint goal accuracy against schema sensitivity",
    "The figures are in percent, as in Figure 6 of the SGD-X paper. A robust tracker has its "
    "services at the lower right. Circles are services of the original train split. Triangles "
    "are unseen services.",
    services,
)


def _service_points(system: TrackerSystem) -> dict[str, tuple[float, float]]:
    """JGA_v1-5 and SS_JGA of each service, in percent."""
    points = {}
    for name, frames in frames_by_service(system).items():
        scores = headline_scores(system, frames)
        points[name] = 100 * scores["jga_v1-5"], 100 * scores["ss_jga"]
    return points


_FEWEST_IN_A_TURN = 20


def turns(group: TrackerGroup, _: Analyses) -> Any:
    """Joint goal accuracy by turn of the user; None without the original or a variant."""
    if not (_has_rewordings(group) and ORIGINAL in group.first.variants):
        return None
    turn = group.first.user_turns
    counts = np.bincount(turn)
    numbers = [n for n in np.unique(turn).tolist() if counts[n] >= _FEWEST_IN_A_TURN]

    def draw(axes: Any, system: TrackerSystem, i: int) -> None:
        scores = [headline_scores(system, np.flatnonzero(turn == n)) for n in numbers]
        for key, style, label in (("jga_orig", "-", "original"), ("jga_v1-5", "--", "v1 to v5")):
            heights = [100 * of_turn[key] for of_turn in scores]
            colour = COLOURS[i % len(COLOURS)]
            axes.plot(numbers, heights, style, color=colour, label=label, marker=".", markersize=4)
        axes.set(xlabel="turn of the user", ylabel="joint goal accuracy, %")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)

    return draw_panels(group.systems, draw, 2.8, sharey=True)


_TURNS = Plot(
    "turns",
    "Joint goal accuracy by turn of the user",
    "In percent, for the first turn of the user, the second and so on. The solid line is under "
    "the original schemas, the dashed line is the mean under v1 to v5. Turns with fewer than "
    f"{_FEWEST_IN_A_TURN} frames are left out.",
    turns,
)


def flips(group: TrackerGroup, _: Analyses) -> Any:
    """A square for each two variants; None without the original or with no other variant."""
    if ORIGINAL not in group.first.variants or len(group.first.variants) < 2:
        return None
    variants = original_first(group.first.variants)
    shares = {system.name: 100 * flip_shares(system, variants) for system in group.systems}
    highest = max(1e-9, *(float(share.max()) for share in shares.values()))
    names = ["orig." if name == ORIGINAL else name for name in variants]

    def draw(axes: Any, system: TrackerSystem, _: int) -> None:
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

    return draw_panels(group.systems, draw, 3.0)


_FLIPS = Plot(
    "flips",
    "Frames right under one wording and wrong under another",
    "The figures are in percent of all frames: the frames whose joint goal is right (scores 1) "
    "under the wording of the row and wrong under the wording of the column.",
    flips,
)


def learning_curves(group: SystemGroup[Any], _: Analyses) -> Any:
    """The loss and the score on dev over training, a panel for each system; None without logs."""
    systems = [system for system in group.systems if system.first.record.logs]
    if not systems:
        return None

    def draw(axes: Any, system: ScoredSystem[Any], _: int) -> None:
        logs = system.first.record.logs
        scores = axes.twinx()
        scores.spines["right"].set_visible(True)
        scores.set(ylim=(0, 100), ylabel="score on dev, %")
        axes.set(yscale="log", ylabel="loss")
        axes.set(xlabel="minutes of training" if has_times(logs) else "steps")
        axes.margins(x=0.2)
        axes.yaxis.set_major_locator(require("matplotlib.ticker").LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        for i, curve in enumerate(training_curves(logs)):
            colour = COLOURS[i % len(COLOURS)]
            heights = 100 * curve.dev_scores
            axes.plot(curve.loss_x, curve.losses, color=colour, linewidth=1)
            scores.plot(curve.dev_x, heights, "o--", color=colour, linewidth=0.8, markersize=4)
            if len(curve.losses):
                axes.annotate(
                    without_formulae(curve.sub_model), (curve.loss_x[-1], curve.losses[-1]), (3, 0),
                    color=colour, fontsize=7, va="center", textcoords="offset points",
                )  # fmt: skip
            elif len(heights):
                scores.annotate(
                    without_formulae(curve.sub_model or "joined"), (curve.dev_x[-1], heights[-1]),
                    (0, 5), color=colour, fontsize=7, ha="center", textcoords="offset points",
                )  # fmt: skip

    return draw_panels(systems, draw, 3.0)


# Of trackers as of generators.
LEARNING_CURVES = Plot(
    "learning_curves",
    "Learning curves",
    "The lines are the training loss, on the left scale. The points are the score on dev under "
    "the original schemas, on the right scale: joint goal accuracy for trackers, the F1 of their "
    "decisions for sub-models that decide, BLEU for generators. With several seeds this is the "
    "first run.",
    learning_curves,
)
PLOTS = (
    _JGA_BY_VARIANT,
    _DROP_BESIDE_FLIPS,
    _AUGMENTATION,
    _SERVICES,
    _TURNS,
    _FLIPS,
    WORDS_CHANGED,
    LEARNING_CURVES,
)
