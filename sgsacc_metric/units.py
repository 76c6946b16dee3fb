"""Sums over the turns that a dialogue spends on a service: enough for all metrics of all groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sgdx_metric.columns import Bools, Floats, Ints
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .metrics import HEADLINES, compute_metrics
from .robustness import cross_variant_stats
from .rows import Turn
from .scoring import TurnScores

ALL = "all"
GROUPS = (ALL, "seen", "unseen", "seen_domains", "unseen_domains")


@dataclass(frozen=True)
class Units:
    """A system's counts by unit. A unit is the turns that one dialogue spends on one service.

    Attributes:
        dialogue: The dialogue's id [units].
        service: The service's name in the evaluator's wording [units].
        seen, seen_domain: Whether service and domain are in the train split [units].
        by_variant: Sums of `TurnScores.counts`, by variant and name [units].
        cross_variant: Sums of `cross_variant_stats`, by name [units].
    """

    dialogue: list[str]
    service: list[str]
    seen: Bools
    seen_domain: Bools
    by_variant: dict[str, dict[str, Floats]]
    cross_variant: dict[str, Floats]

    def groups(self) -> dict[str, Ints]:
        """The indices of the units of each of GROUPS."""
        masks = (
            np.ones(len(self.seen), dtype=bool),
            self.seen,
            ~self.seen,
            self.seen_domain,
            ~self.seen_domain,
        )
        return {name: np.flatnonzero(mask) for name, mask in zip(GROUPS, masks, strict=True)}

    def services(self) -> dict[str, Ints]:
        """The indices of the units of each service, sorted by its name."""
        names = np.array(self.service, dtype=object)
        return {name: np.flatnonzero(names == name) for name in sorted(set(self.service))}

    def domains(self) -> dict[str, Ints]:
        """The indices of the units of each domain, sorted by its name.

        A domain is a service's name up to its first underscore.
        """
        names = np.array([name.partition("_")[0] for name in self.service], dtype=object)
        return {name: np.flatnonzero(names == name) for name in sorted(set(names))}

    def turn_count(self, indices: Ints) -> int:
        """How many turns some units have."""
        return int(next(iter(self.by_variant.values()))["turns"][indices].sum())

    def dialogue_sums(self, indices: Ints) -> Floats:
        """Sums over some units by dialogue [dialogues, columns].

        The columns are the counts of each variant and then the cross-variant statistics, in their
        order.
        """
        _, dialogue = np.unique(np.array(self.dialogue)[indices], return_inverse=True)
        columns = [
            count[indices] for counts in self.by_variant.values() for count in counts.values()
        ]
        columns += [values[indices] for values in self.cross_variant.values()]
        number = int(dialogue.max()) + 1 if len(indices) else 0
        return np.stack([np.bincount(dialogue, column, number) for column in columns], axis=-1)

    def variant_sums(self, sums: Floats, variant: str) -> dict[str, Floats]:
        """The counts of one variant, by name [...], in sums of `dialogue_sums` [..., columns]."""
        start = 0
        for name, counts in self.by_variant.items():
            if name == variant:
                return {key: sums[..., start + i] for i, key in enumerate(counts)}
            start += len(counts)
        raise KeyError(variant)

    def robustness(self, sums: Floats) -> dict[str, Floats]:
        """The figures that follow a system from the original to the reworded schemas.

        Args:
            sums: Sums of `dialogue_sums` over some dialogues [..., columns].

        Returns:
            By name [...]: `<metric>_orig`, and `<metric>_v1-5` (the mean of those under v1 to v5,
            where all are given), for each of HEADLINES; and the means over turns of
            `cross_variant_stats`. A figure for which variants are lacking is left out.
        """
        metrics = {name: compute_metrics(self.variant_sums(sums, name)) for name in self.by_variant}
        figures: dict[str, Floats] = {}
        for metric in HEADLINES:
            if metric in metrics.get(ORIGINAL, ()):
                figures[f"{metric}_orig"] = metrics[ORIGINAL][metric]
            if all(metric in metrics.get(name, ()) for name in PAPER_VARIANTS):
                of_paper = [metrics[name][metric] for name in PAPER_VARIANTS]
                figures[f"{metric}_v1-5"] = np.mean(of_paper, axis=0)
        first_variant = next(iter(self.by_variant))
        turns = self.variant_sums(sums, first_variant)["turns"]
        start = sums.shape[-1] - len(self.cross_variant)
        for i, name in enumerate(self.cross_variant):
            figures[name] = sums[..., start + i] / np.maximum(turns, 1)
        return figures


def sum_units(turns: Sequence[Turn], scores: Mapping[str, TurnScores]) -> Units:
    """Add up the counts of turns by dialogue and service.

    Args:
        turns: The turns under the evaluator's wording [turns].
        scores: One system's scores of these turns, by variant.
    """
    # Units are numbered in the order in which they are met.
    number_of: dict[tuple[str, str], int] = {}
    unit = np.array(
        [number_of.setdefault((turn.dialogue_id, turn.service), len(number_of)) for turn in turns],
        dtype=np.int64,
    )
    first_turn = np.unique(unit, return_index=True)[1]

    def summed(counts: Mapping[str, Floats]) -> dict[str, Floats]:
        return {
            name: np.bincount(unit, count, len(number_of)).astype(float)
            for name, count in counts.items()
        }

    return Units(
        [dialogue for dialogue, _ in number_of],
        [service for _, service in number_of],
        np.array([turns[i].seen for i in first_turn], dtype=bool),
        np.array([turns[i].seen_domain for i in first_turn], dtype=bool),
        {variant: summed(turn_scores.counts) for variant, turn_scores in scores.items()},
        summed(cross_variant_stats(scores)),
    )
