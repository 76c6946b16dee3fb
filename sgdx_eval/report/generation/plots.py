"""The report's plots of generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from sgdx_metric.variants import ORIGINAL

from ..pictures import COLOURS, MARKERS, Plot, new_figure, without_formulae
from ..plots import LEARNING_CURVES
from ..slots.breakage import Analyses
from ..systems import SystemGroup, original_first
from .runs import GeneratorRun


def faithfulness_by_variant(group: SystemGroup[GeneratorRun], _: Analyses) -> Any:
    """A panel for each of BLEU, SER and SGSAcc, and in it a line for each system.

    None where there is only one variant.
    """
    titles = {"bleu": "BLEU", "ser": "SER, %"}
    titles |= {"sgsacc": "SGSAcc, %"} if group.first.judged else {}
    variants = original_first(list(group.first.scores.variants))
    if len(variants) < 2:
        return None
    figure, (axes,) = new_figure(3.3 * len(titles), 3.2, 1, len(titles))
    names = ["orig." if name == ORIGINAL else name for name in variants]
    for panel, (key, title) in zip(axes, titles.items()):
        scale = 1 if key == "bleu" else 100
        for i, system in enumerate(group.systems):
            heights = [
                scale * np.mean([_score(run, variant, key) for run in system.runs])
                for variant in variants
            ]
            panel.plot(
                range(len(variants)), heights, color=COLOURS[i % len(COLOURS)], linewidth=1.4,
                marker=MARKERS[i % len(MARKERS)], markersize=5,
                label=without_formulae(system.label) if panel is axes[0] else None,
            )  # fmt: skip
        panel.set_xticks(range(len(variants)), names)
        panel.set_title(title)
        low, high = panel.get_ylim()
        panel.set_ylim(min(0.0, low), max(high, 1.0))
    figure.legend(loc="outside upper left", ncols=2, fontsize=8)
    return figure


def _score(run: GeneratorRun, variant: str, key: str) -> float:
    score = run.scores.variants.get(variant, {}).get("#ALL_SERVICES", {}).get(key)
    return np.nan if score is None else score


FAITHFULNESS_BY_VARIANT = Plot(
    "faithfulness_by_variant",
    "BLEU, slot error rate and SGSAcc by variant",
    "Of all turns. From v1 to v5 the words of the schemas are farther and farther from the "
    "original ones. A faithful generator may change its words under rewording, which BLEU shows, "
    "and yet keep what it says, which SER and SGSAcc show. Lower SER is better; higher BLEU and "
    "SGSAcc are better.",
    faithfulness_by_variant,
)
PLOTS = FAITHFULNESS_BY_VARIANT, LEARNING_CURVES._replace(name="learning_curves_of_generators")
