"""Pictures of scores: joint goal accuracy by variant with intervals, and its drop by service."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_metric.core import Over, Sample
from sgdx_metric.report import JGA, frame_scores, joined
from sgdx_metric.scoring import FrameScores
from sgdx_metric.signature import Rules
from sgdx_metric.units import index_frames
from sgdx_metric.variants import ORIGINAL

try:
    from matplotlib.figure import Figure
except ImportError:
    raise SgdxError(
        "--plots: found no matplotlib, expected the extra: pip install 'sgdx[report]'"
    ) from None

_SEEN, _UNSEEN, _PLAIN = "#2563eb", "#ea580c", "#475569"


def write_plots(
    result: Mapping[str, Any], variants: Mapping[str, FrameScores], rules: Rules, folder: Path
) -> None:
    """Write `jga_by_variant.png` and, where there is something to drop, `drop_by_service.png`."""
    first = next(iter(variants.values()))
    seen_services = set(index_frames(first.frame_id, first.seen).service[first.seen])
    pictures = {
        "jga_by_variant.png": jga_by_variant(result, variants, rules),
        "drop_by_service.png": drop_by_service(result, seen_services),
    }
    for name, picture in pictures.items():
        if picture:
            with staged(folder / name) as path:
                picture.savefig(path, format="png")


def jga_by_variant(
    result: Mapping[str, Any], variants: Mapping[str, FrameScores], rules: Rules
) -> Figure:
    """Draw the joint goal accuracy under each variant, in %, with its 95 % bootstrap interval."""
    names = list(result["sgdx"]["by_variant"])
    means = np.array([100 * (result["sgdx"]["by_variant"][name] or 0) for name in names])
    scores = joined(frame_scores(variants, [JGA], rules), rules)
    intervals = Sample(scores, Over(names).each(JGA)).intervals()
    ends = 100 * np.array([intervals.get(name) or [0.0, 0.0] for name in names]).T
    figure = Figure(figsize=(max(4.5, 0.9 * len(names)), 4), layout="constrained", dpi=150)
    axes = figure.add_subplot()
    axes.bar(names, means, color=[_PLAIN if name == ORIGINAL else _SEEN for name in names])
    reach = np.abs(ends - means)
    axes.errorbar(names, means, yerr=reach, fmt="none", ecolor="black", capsize=4, elinewidth=1)
    for i, mean in enumerate(means):
        axes.annotate(
            f"{mean:.1f}", (i, ends[1, i]), (0, 3), textcoords="offset points", ha="center"
        )
    axes.set_ylim(0, min(105.0, 1.15 * max(1.0, float(ends[1].max()))))
    axes.set_ylabel("joint goal accuracy, %")
    axes.set_title("Joint goal accuracy by variant, with 95 % intervals", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def drop_by_service(result: Mapping[str, Any], seen: set[str]) -> Figure | None:
    """Draw how many points of joint goal accuracy each service loses from the original to v1..v5.

    None where the original or one of v1 to v5 was not given.
    """
    rows = [
        (100 * (figures["jga_v1-5"] - figures["jga_orig"]), name)
        for name, figures in result["sgdx"]["by_service"].items()
        if figures["jga_v1-5"] is not None and figures["jga_orig"] is not None
    ]
    if not rows:
        return None
    rows.sort(reverse=True)
    figure = Figure(figsize=(6.5, 1.2 + 0.24 * len(rows)), layout="constrained", dpi=150)
    axes = figure.add_subplot()
    for colour, kind in ((_SEEN, "seen in train"), (_UNSEEN, "not seen")):
        bars = [i for i, (_, name) in enumerate(rows) if (name in seen) == (colour == _SEEN)]
        axes.barh(bars, [rows[i][0] for i in bars], color=colour, label=kind)
    axes.set_yticks(range(len(rows)), [name for _, name in rows], fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("JGA_v1-5 less JGA_orig, percentage points")
    axes.set_title("Change of joint goal accuracy by service", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="best")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
