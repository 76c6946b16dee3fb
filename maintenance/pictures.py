"""Draw the pictures of the results, for light and for dark pages.

``python -m maintenance.pictures`` reads scores of ``models/`` and ``results/`` and writes, for each
of ``PICTURES``, ``docs/pictures/NAME-light.svg`` and ``docs/pictures/NAME-dark.svg``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sgdx_dataset.io.console import run
from sgdx_dataset.io.extras import require
from sgdx_eval.report.plots import own_style
from sgdx_eval.result import read_result
from sgdx_eval.show import main_metric
from sgdx_metric.result import Result
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
_VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
_WORST = len(_VARIANTS) + 0.35  # where the column of the worst case stands
_MARKERS = "os^D"
# So narrow, in inches, that a phone shrinks the picture little and its text stays legible.
_SIZE = (5.4, 4.6)


class Picture(NamedTuple):
    """What a picture shows.

    Attributes:
        systems: From the best: their names in it, and their files of scores.
        highest: Where the axis ends, in percent.
        title, items: What its figure is, and what is the same under all variants.
        names: Where the names stand, as matplotlib has places of legends.
        floor: Scores of the first system under edits that mean nothing, or nothing.
    """

    systems: Mapping[str, str]
    highest: float
    title: str = "Joint goal accuracy, in %"
    items: str = "the same dialogues, the schema in six variants"
    names: str | tuple[float, float] = "upper left"
    floor: str = ""


PICTURES = {
    "variants": Picture(
        {
            "onepass, shipped here": "models/onepass/scores.json",
            "SGP-DST, all of train": "results/sgp_dst-minilm_all/scores.json",
            "lexical baseline": "results/lexical/scores.json",
        },
        highest=90,
        names="lower left",
        floor="results/control/onepass-shipped/scores.json",
    ),
    "never-seen": Picture(
        {
            "onepass with MPNet": "results/many-onepass-base-no_acts/scores.json",
            "onepass, shipped here": "results/many-onepass-shipped-no_acts/scores.json",
            "lexical baseline": "results/many-lexical/scores.json",
            "onepass, of SGD alone": "results/many-onepass-10000_steps-no_acts/scores.json",
        },
        highest=60,
    ),
    "tool-search": Picture(
        {
            "38 tools, BM25": "results/tool-search/sgd.json",
            "38 tools, embeddings": "results/tool-search/sgd-minilm.json",
            "2,487 tools, BM25": "results/tool-search/sgd-and-bfcl.json",
            "2,487 tools, embeddings": "results/tool-search/sgd-and-bfcl-minilm.json",
        },
        highest=100,
        title="The right tool is among the first five, in %",
        items="the same cases, the tools in six variants",
        names=(0.02, 0.47),
    ),
    "language-models": Picture(
        {
            "1.5 billion, only calls": "results/calls/1.5b-constrained/scores.json",
            "0.5 billion, only calls": "results/calls/0.5b-constrained/scores.json",
            "1.5 billion, free": "results/calls/1.5b-free/scores.json",
            "0.5 billion, free": "results/calls/0.5b-free/scores.json",
        },
        highest=50,
        title="The whole call is exactly right, in %",
        items="the same calls, the functions in six variants",
    ),
}


class Theme(NamedTuple):
    """The colours of a picture: the ending of its file's name, text, faint lines, systems."""

    name: str
    ink: str
    faint: str
    systems: Sequence[str]


THEMES = (
    Theme("light", "#1f2328", "#d1d9e0", ("#0072B2", "#D55E00", "#59636e", "#007a5a")),
    Theme("dark", "#f0f6fc", "#3d444d", ("#56B4E9", "#F5A35C", "#9198a1", "#3fb68b")),
)


def estimates(result: Result, figures: Sequence[Any]) -> tuple[Any, Any]:
    """Heights of some figures in percent, and lengths of their intervals below and above."""
    rows = [(f.value, *f.interval) if f and f.interval else [np.nan] * 3 for f in figures]
    values, low, high = 100 * np.array(rows, dtype=float).T
    return values, (values - low, high - values)


def draw(picture: Picture, theme: Theme) -> bytes:
    """The picture as an SVG whose text stays text, the same bytes each time."""
    style = {
        "svg.fonttype": "none", "svg.hashsalt": "sgdx", "font.family": "sans-serif",
        "font.size": 11.5, "text.color": theme.ink, "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.ink, "xtick.color": theme.ink, "ytick.color": theme.ink,
    }  # fmt: skip
    results = [read_result(ROOT / path).result for path in picture.systems.values()]
    metric = main_metric(results[0]).name
    with own_style(style):
        figure = require("matplotlib.figure").Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        axes.set_ylim(0, picture.highest)
        lines = []
        labels: dict[float, list[Any]] = {-0.5: [], _WORST + 0.5: []}  # by place on the axis
        for result, colour, marker in zip(results, theme.systems, _MARKERS):
            means = result.by_variant(metric)
            line = {"color": colour, "marker": marker, "markersize": 6, "capsize": 3}
            line["elinewidth"] = 1
            values, ends = estimates(result, [means.get(name) for name in _VARIANTS])
            lines.append(axes.errorbar(range(len(_VARIANTS)), values, ends, linewidth=1.8, **line))
            worst, ends_of = estimates(result, [result.main(metric, "worst")])
            axes.errorbar([_WORST], worst, ends_of, linestyle="none", **line)
            labels[-0.5].append((values[0], colour, "bold"))
            labels[_WORST + 0.5].append((worst[0], colour, "bold"))
        if picture.floor:
            result = read_result(ROOT / picture.floor).result
            worst, ends = estimates(result, [result.figure(f"{metric}_worst_control")])
            line = {"color": theme.systems[0], "marker": _MARKERS[0], "fillstyle": "none"}
            lines.append(axes.errorbar([_WORST], worst, ends, linestyle="none", capsize=3, **line))
            labels[_WORST + 0.5].append((worst[0], theme.systems[0], "normal"))
        for place, column in labels.items():
            height = -np.inf  # labels stand apart, from the lowest up
            for value, colour, weight in sorted(column):
                height = max(value, height + picture.highest / 19)
                font = {"color": colour, "fontweight": weight, "ha": "center", "va": "center"}
                axes.text(place, height, f"{value:.0f}", **font)
        names = [
            *picture.systems,
            *["the first, five edits that mean nothing"] * bool(picture.floor),
        ]
        axes.legend([bars[0] for bars in lines], names, frameon=False, loc=picture.names)
        axes.set_xticks(
            [*range(len(_VARIANTS)), _WORST],
            ["original\nwords", *PAPER_VARIANTS, "worst of\nall six"],
        )
        axes.set_xlim(-0.9, _WORST + 0.85)
        axes.set_title(picture.title, loc="left", fontsize="medium")
        axes.set_xlabel(picture.items)
        axes.axvline(_WORST - 0.65, color=theme.faint, linewidth=1)
        axes.tick_params(length=0)
        axes.spines[["top", "right"]].set_visible(False)
        file = io.BytesIO()
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    return file.getvalue()


def main() -> int:
    """Write all pictures; returns the exit status."""

    def write() -> None:
        for name, picture in PICTURES.items():
            for theme in THEMES:
                (FOLDER / f"{name}-{theme.name}.svg").write_bytes(draw(picture, theme))

    return run("maintenance.pictures", write)


if __name__ == "__main__":
    sys.exit(main())
