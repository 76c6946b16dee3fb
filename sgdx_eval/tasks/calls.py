"""Calls: a call is right where function and arguments are, a task where all its calls are."""

from __future__ import annotations

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.calls import CALL, call_figures
from sgdx_metric.core import Figure, Over, Scores
from sgdx_metric.signature import Rules
from sgdx_metric.variants import ORIGINAL
from sgdx_metric.wording_figures import with_tasks

from ..task import Task


class Calls(Task):
    """The calls of SGD's services, in the frames after which one is made."""

    name = "calls"
    unit = "call"
    main = CALL
    title = "Accuracy of calls"
    deciding = (f"{CALL}.reworded",)

    def figures(self, scores: Scores) -> list[Figure]:
        """Those of each accuracy, which have keys such as `call_accuracy.drop`."""
        return call_figures(scores)

    def derived(self, scores: Scores, rules: Rules) -> Scores:
        """The same, and whether the task of each dialogue is a success."""
        return with_tasks(scores, (CALL,))

    def drawn(self, scores: Scores) -> list[Figure]:
        """The means over all wordings but the original, and over v1 to v5."""
        if len([name for name in scores.wordings if name != ORIGINAL]) < 2:
            raise SgdxError(
                f"found calls under {', '.join(scores.wordings)}, expected two or more wordings "
                "beside the original, because wordings are drawn"
            )
        return [figure for figure in self.figures(scores) if isinstance(figure.of, Over)]
