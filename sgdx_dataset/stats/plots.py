"""Plots of the statistics as PNG files, drawn with matplotlib (extra ``report``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..io.extras import require
from ..io.files import staged

Statistics = dict[str, Any]
_COLOURS = {"train": "#0072B2", "validation": "#E69F00", "test": "#009E73"}  # Okabe and Ito's


def plot(figures: Statistics, folder: Path) -> list[Path]:
    """Write ``dialogue_lengths.png``, ``acts.png`` and, if there are variants, ``variants.png``.

    Args:
        figures: What ``statistics`` returned.
        folder: The folder to write to, which is made if need be.

    Returns:
        The files written.

    Raises:
        SgdxError: matplotlib is not installed, or a file cannot be written.
    """
    require("matplotlib").use("agg")
    plots = {
        "dialogue_lengths": _lengths(figures["dialogues"]["lengths"], figures["missing"]),
        "acts": _acts(figures["dialogues"]["acts"], figures["missing"]),
    }
    if rows := _variant_rows(figures["schemas"]["variants"]):
        plots["variants"] = _variants(rows, figures["published"])
    return [_save(figure, folder / f"{name}.png") for name, figure in plots.items()]


def _save(figure: Any, path: Path) -> Path:
    with staged(path) as staging:
        figure.savefig(staging, format="png", dpi=150)
    return path


def _lengths(lengths: Statistics, missing: str) -> Any:
    figure, axes = _axes()
    for split, counts in lengths.items():
        share = [100 * dialogues / sum(counts.values()) for dialogues in counts.values()]
        label = f"{split} ({sum(counts.values()):,})"
        axes.plot(list(counts), share, "o-", markersize=3, label=label, color=_COLOURS[split])
    axes.set(xlabel="turns", ylabel="% of the split's dialogues", title="Dialogue length")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    return _finish(figure, axes, missing)


def _acts(acts: Statistics, missing: str) -> Any:
    """Each act's share of a speaker's actions, with a bar for each split."""
    figure, all_axes = require("matplotlib.pyplot").subplots(
        1, 2, figsize=(9, 4.5), layout="constrained"
    )
    for speaker, axes in zip(("USER", "SYSTEM"), all_axes):
        by_split = {split: counts[speaker] for split, counts in acts.items()}
        names = sorted(
            {act for counts in by_split.values() for act in counts},
            key=lambda act: -sum(counts.get(act, 0) for counts in by_split.values()),
        )
        height = 0.8 / max(len(by_split), 1)
        for i, (split, counts) in enumerate(by_split.items()):
            share = [100 * counts.get(act, 0) / max(sum(counts.values()), 1) for act in names]
            places = [row + (i - (len(by_split) - 1) / 2) * height for row in range(len(names))]
            axes.barh(places, share, height, label=split, color=_COLOURS[split])
        axes.set_yticks(range(len(names)), [name.replace("_", " ").lower() for name in names])
        axes.invert_yaxis()
        axes.set(xlabel="% of actions", title=speaker.capitalize())
        _finish(figure, axes, missing)
    return figure


def _variant_rows(variants: Statistics) -> Statistics:
    return {name: row for name, row in variants.items() if name not in ("original", "average")}


def _variants(rows: Statistics, published: Statistics | None) -> Any:
    """The distance of names and the BLEU of descriptions of each variant, beside the paper's."""
    published_rows = published["schemas"]["variants"] if published else {}
    figure, all_axes = require("matplotlib.pyplot").subplots(
        1, 2, figsize=(9, 3.6), layout="constrained"
    )
    panels = (("name_distance", "Distance of names"), ("description_bleu", "BLEU of descriptions"))
    for axes, (key, title) in zip(all_axes, panels):
        places = range(len(rows))
        axes.bar(
            [x - 0.2 for x in places],
            [row[key] for row in rows.values()],
            0.4,
            label="these schemas",
            color="#0072B2",
        )
        if published_rows:
            paper = [published_rows.get(name, {}).get(key, 0) for name in rows]
            axes.bar([x + 0.2 for x in places], paper, 0.4, label="the paper", color="#BBBBBB")
        axes.set_xticks(places, list(rows))
        axes.set(title=title)
        _finish(figure, axes, "")
    return figure


def _axes() -> Any:
    return require("matplotlib.pyplot").subplots(figsize=(7, 4), layout="constrained")


def _finish(figure: Any, axes: Any, missing: str) -> Any:
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if missing:
        figure.supxlabel(f"Partial copy of SGD: {missing}", fontsize=7, color="#555555")
    return figure
