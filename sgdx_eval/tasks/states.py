"""Dialogue states: a frame is right where every slot of its state is."""

from __future__ import annotations

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.core import Figure, Sample, Scores
from sgdx_metric.report import JGA, RELATIVE, headline, joined, state_figures, wordings_drawn
from sgdx_metric.signature import Rules
from sgdx_metric.variants import PAPER_VARIANTS

from ..task import Task


class States(Task):
    """The states that trackers predict, frame by frame."""

    name = "state"
    unit = "frame"
    main = JGA
    title = "Joint goal accuracy"
    deciding = ("jga_v1-5",)

    def figures(self, scores: Scores) -> list[Figure]:
        """Those of scores.json, which have keys such as `jga_orig`."""
        return state_figures(scores)

    def derived(self, scores: Scores, rules: Rules) -> Scores:
        """Joint accuracies of turns, where the rules say so."""
        return joined(scores, rules)

    def drawn(self, scores: Scores) -> list[Figure]:
        """The means over v1 to v5, and over all wordings where there are others."""
        if not set(PAPER_VARIANTS) <= set(scores.wordings):
            raise SgdxError(
                f"found scores under {', '.join(scores.wordings)}, expected v1 to v5 among them, "
                "because wordings are drawn"
            )
        return wordings_drawn(scores)

    def alone(self, scores: Scores) -> dict[str, float | None]:
        """The figures, and the relative difference of two of them."""
        values = headline(Sample(scores, [*self.figures(scores), RELATIVE]))
        return {key: value for key, value in values.items() if key != "drop"}
