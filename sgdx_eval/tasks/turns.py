"""Generated turns: a turn is right where it says all that it should."""

from __future__ import annotations

from sgdx_metric.core import Figure, Over, Scores
from sgsacc_metric.figures import SETS, headline_metrics, turn_figures, under
from sgsacc_metric.report import turn_count

from ..task import Task


class Turns(Task):
    """What generators say. An item is what a dialogue spends on a service: sums over its turns."""

    name = "turns"
    unit = "turn"
    main = "turns"
    title = "SGSAcc, or SER"
    deciding = ("sgsacc_v1-5", "ser_v1-5")
    counted = "turns"
    sets = SETS

    def figures(self, scores: Scores) -> list[Figure]:
        """Those of scores.json, which have keys such as `bleu_orig`."""
        return turn_figures(scores)

    def by_wording(self, scores: Scores) -> list[Figure]:
        """SGSAcc under each wording; without a model of entailment, SER."""
        known = [figure.key for figure in headline_metrics(scores)]
        metric = next(name for name in ("sgsacc", "ser") if name in known)
        return Over(scores.wordings, under(metric)).each("turns")

    def count(self, scores: Scores) -> int:
        """How many turns the items have."""
        return turn_count(scores)

    def place(self, item: str) -> tuple[str, str, str]:
        """An id is DIALOGUE/SERVICE."""
        dialogue, _, service = item.rpartition("/")
        if not dialogue:
            raise ValueError(f"unit id is '{item}', expected DIALOGUE/SERVICE")
        return dialogue, item, service
