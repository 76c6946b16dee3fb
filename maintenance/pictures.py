"""Draw the pictures of the results, for light and for dark pages.

``python -m maintenance.pictures`` reads scores of ``models/`` and ``results/`` and writes, for each
of ``PICTURES``, ``docs/pictures/NAME-light.svg`` and ``docs/pictures/NAME-dark.svg``.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sgdx_dataset.io.console import run
from sgdx_dataset.io.extras import require
from sgdx_dataset.io.files import write_bytes
from sgdx_eval.report.plots import own_style
from sgdx_eval.report.runs import group_runs, read_run
from sgdx_eval.result import read_result
from sgdx_eval.show import main_metric
from sgdx_metric.result import Figure, Result
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
_VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
_ALL_SIX = len(_VARIANTS) + 0.35  # where the column of the worst case stands
_MARKERS = "os^D"
# So narrow, in inches, that a phone shrinks the picture little and its text stays legible.
_SIZE = (5.4, 4.6)
_NAME_GAP = 0.03  # of the axis, between an interval's end and the middle of a name


class Estimate(NamedTuple):
    """A figure and its 95 % interval over dialogues."""

    value: float
    low: float
    high: float


class Picture(NamedTuple):
    """What a picture shows.

    Attributes:
        systems: From the best: their names in it, and their folders, or files of `tools search`.
        apart: Whether their lines are so far apart that names and figures can stand beside them.
        highest: Where the axis ends, in percent.
        title, items: What its figure is, and what is the same under all variants.
        names: Where the names stand if lines are not apart, as matplotlib has places of legends.
    """

    systems: Mapping[str, str]
    apart: bool
    highest: float
    title: str = "Joint goal accuracy, in %"
    items: str = "the same dialogues, the schema in six variants"
    names: str | tuple[float, float] = "upper left"


class System(NamedTuple):
    """The estimates of a system under each of the six variants, and under the worst of them."""

    by_variant: Sequence[Estimate]
    worst: Estimate


PICTURES = {
    "variants": Picture(
        {
            "onepass, shipped here": "models/onepass",
            "SGP-DST, all of train": "results/sgp_dst-minilm_all",
            "lexical baseline": "results/lexical",
        },
        apart=True,
        highest=85,
    ),
    "never-seen": Picture(
        {
            "onepass with MPNet": "results/many-onepass-base-no_acts",
            "onepass, shipped here": "results/many-onepass-shipped-no_acts",
            "lexical baseline": "results/many-lexical",
            "onepass, of SGD alone": "results/many-onepass-10000_steps-no_acts",
        },
        apart=False,
        highest=50,
    ),
    "tool-search": Picture(
        {
            "38 tools, BM25": "results/tool-search/sgd.json",
            "38 tools, embeddings": "results/tool-search/sgd-minilm.json",
            "2,487 tools, BM25": "results/tool-search/sgd-and-bfcl.json",
            "2,487 tools, embeddings": "results/tool-search/sgd-and-bfcl-minilm.json",
        },
        apart=False,
        highest=100,
        title="The right tool is among the first five, in %",
        items="the same cases, the tools in six variants",
        names=(0.02, 0.47),
    ),
    "language-models": Picture(
        {
            "1.5 billion, only calls": "results/calls/1.5b-constrained",
            "0.5 billion, only calls": "results/calls/0.5b-constrained",
            "1.5 billion, free": "results/calls/1.5b-free",
            "0.5 billion, free": "results/calls/0.5b-free",
        },
        apart=False,
        highest=50,
        title="The whole call is exactly right, in %",
        items="the same calls, the functions in six variants",
    ),
}


class Theme(NamedTuple):
    """The colours of a picture.

    Attributes:
        name: The ending of the file's name.
        ink, faint: Of text, and of lines that only guide the eye.
        systems: Of the systems, in their order.
    """

    name: str
    ink: str
    faint: str
    systems: Sequence[str]


THEMES = (
    Theme("light", "#1f2328", "#d1d9e0", ("#0072B2", "#D55E00", "#59636e", "#007a5a")),
    Theme("dark", "#f0f6fc", "#3d444d", ("#56B4E9", "#F5A35C", "#9198a1", "#3fb68b")),
)


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m maintenance.pictures", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=FOLDER,
        help="folder of the pictures; default: docs/pictures",
    )
    options = parser.parse_args()
    return run("maintenance.pictures", lambda: _write(options.output))


def _write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        systems = read_systems(picture)
        for theme in THEMES:
            path = folder / f"{name}-{theme.name}.svg"
            write_bytes(path, draw(picture, systems, theme))
            print(path)


def read_systems(picture: Picture) -> dict[str, System]:
    """The systems of a picture by their names in it; all are of the same frames or cases."""
    paths = {name: ROOT / path for name, path in picture.systems.items()}
    if all(path.suffix == ".json" for path in paths.values()):
        return {name: _system(read_result(path).result) for name, path in paths.items()}
    runs = [read_run(path) for path in paths.values()]
    (_,) = group_runs(runs)  # they compare
    systems = {}
    for name, run_ in zip(paths, runs):
        systems[name] = _system(run_.result.result)
    return systems


def _system(result: Result) -> System:
    """The headline metric under each variant, and in the worst case."""
    metric = main_metric(result).name
    means, worst = result.by_variant(metric), result.main(metric, "worst")
    return System([_estimate(means.get(name)) for name in _VARIANTS], _estimate(worst))


def _estimate(figure: Figure | None) -> Estimate:
    if figure is None or figure.value is None:
        return Estimate(np.nan, np.nan, np.nan)
    return Estimate(figure.value, *(figure.interval or (np.nan, np.nan)))


def draw(picture: Picture, systems: Mapping[str, System], theme: Theme) -> bytes:
    """The picture as an SVG whose text stays text, the same bytes each time.

    Args:
        picture: What it shows.
        systems: The systems by their names in the picture.
        theme: Its colours.
    """
    style = {
        "svg.fonttype": "none", "svg.hashsalt": "sgdx", "font.family": "sans-serif",
        "font.size": 11.5, "text.color": theme.ink, "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.ink, "xtick.color": theme.ink, "ytick.color": theme.ink,
    }  # fmt: skip
    with own_style(style):
        figure = require("matplotlib.figure").Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        axes.set_ylim(0, picture.highest)
        for system, colour, marker in zip(systems.values(), theme.systems, _MARKERS):
            _draw_system(axes, system, colour, marker, picture.apart)
        if picture.apart:
            _name_systems(axes, systems, theme.systems)
        else:
            lines = [bars[0] for bars in axes.containers[::2]]  # of each two: then the worst case
            axes.legend(lines, systems, frameon=False, loc=picture.names)
        _finish(axes, picture, theme)
        file = io.BytesIO()
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    return file.getvalue()


def _draw_system(axes: Any, system: System, colour: str, marker: str, apart: bool) -> None:
    line = {"color": colour, "marker": marker, "markersize": 6, "capsize": 3, "elinewidth": 1}
    axes.errorbar(range(len(_VARIANTS)), *_percent(system.by_variant), linewidth=1.8, **line)
    axes.errorbar([_ALL_SIX], *_percent([system.worst]), linestyle="none", **line)
    original, worst = 100 * system.by_variant[0].value, 100 * system.worst.value
    _label(axes, -0.2, original, f"{original:.0f}", colour, "right")
    if apart:
        _label(axes, _ALL_SIX + 0.25, worst, f"{worst:.0f}", colour, "left")


def _name_systems(axes: Any, systems: Mapping[str, System], colours: Sequence[str]) -> None:
    """Write the best system's name above its intervals, and each other one's below its own."""
    gap = _NAME_GAP * axes.get_ylim()[1]
    for number, (name, system) in enumerate(systems.items()):
        values, (downs, ups) = _percent(system.by_variant)
        height = (values + ups).max() + gap
        if number:
            height = (values - downs).min() - gap
        _label(axes, 0, height, name, colours[number], "left")


def _label(axes: Any, x: float, y: float, text: str, colour: str, side: str) -> None:
    axes.text(x, y, text, color=colour, fontweight="bold", ha=side, va="center")


def _percent(estimates: Sequence[Estimate]) -> tuple[Any, Any]:
    """Heights and lengths of the intervals below and above them, in percent."""
    values, low, high = 100 * np.array(estimates).T
    return values, (values - low, high - values)


def _finish(axes: Any, picture: Picture, theme: Theme) -> None:
    axes.set_xticks(
        [*range(len(_VARIANTS)), _ALL_SIX],
        ["original\nwords", *PAPER_VARIANTS, "worst of\nall six"],
    )
    axes.set_xlim(-0.9, _ALL_SIX + 0.85)
    axes.set_title(picture.title, loc="left", fontsize="medium")
    axes.set_xlabel(picture.items)
    axes.axvline(_ALL_SIX - 0.65, color=theme.faint, linewidth=1)
    axes.tick_params(length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    sys.exit(main())
