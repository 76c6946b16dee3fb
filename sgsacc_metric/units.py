"""Sums over the turns that a dialogue spends on a service: enough for all figures of all groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sgdx_metric.columns import Bools, Floats, Ints
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .figures import HEADLINES, across, figures_of
from .rows import Turn
from .scoring import TurnScores

ALL = "all"
GROUPS = (ALL, "seen", "unseen", "seen_domains", "unseen_domains")


@dataclass(frozen=True)
class Units:
    """A system's counts by dialogue and service, which are told apart by the evaluator's names.

    Attributes:
        dialogue: The dialogue's id [units].
        service: The service's name [units].
        seen, seen_domain: Whether service and domain are in the train split [units].
        by_variant: Sums of `TurnScores.counts`, by variant and name [units].
        across: Sums of what `figures.across` says of turns, by name [units].
    """

    dialogue: list[str]
    service: list[str]
    seen: Bools
    seen_domain: Bools
    by_variant: dict[str, dict[str, Floats]]
    across: dict[str, Floats]

    def groups(self) -> dict[str, Ints]:
        """The units of each of GROUPS."""
        member = (
            np.ones(len(self.seen), dtype=bool),
            self.seen,
            ~self.seen,
            self.seen_domain,
            ~self.seen_domain,
        )
        return {name: np.flatnonzero(of) for name, of in zip(GROUPS, member, strict=True)}

    def services(self) -> dict[str, Ints]:
        """The units of each service, sorted by its name."""
        names = np.array(self.service, dtype=object)
        return {name: np.flatnonzero(names == name) for name in sorted(set(self.service))}

    def domains(self) -> dict[str, Ints]:
        """The units of each domain, a service's name up to its first underscore, sorted."""
        names = np.array([name.partition("_")[0] for name in self.service], dtype=object)
        return {name: np.flatnonzero(names == name) for name in sorted(set(names))}

    def dialogue_sums(self, these: Ints) -> Floats:
        """Sums over some units by dialogue [dialogues, rows].

        The rows are the counts of each variant and then those across variants, in their order.
        """
        _, dialogue = np.unique(np.array(self.dialogue)[these], return_inverse=True)
        rows = [of[these] for counts in self.by_variant.values() for of in counts.values()]
        rows += [of[these] for of in self.across.values()]
        number = int(dialogue.max()) + 1 if len(these) else 0
        return np.stack([np.bincount(dialogue, row, number) for row in rows], axis=-1)

    def variant_sums(self, sums: Floats, variant: str) -> dict[str, Floats]:
        """The counts of one variant, by name [...], in sums of `dialogue_sums` [..., rows]."""
        start = 0
        for name, counts in self.by_variant.items():
            if name == variant:
                return {key: sums[..., start + i] for i, key in enumerate(counts)}
            start += len(counts)
        raise KeyError(variant)

    def figures(self, sums: Floats) -> dict[str, Floats]:
        """The figures that follow a system from the original to the reworded schemas.

        Args:
            sums: Sums of `dialogue_sums` over some dialogues [..., rows].

        Returns:
            By name [...]: `<figure>_orig`, and `<figure>_v1-5` (the mean of those under v1 to v5,
            where all are given), for each of HEADLINES; and the means over turns of what
            `figures.across` gives. What the variants do not give is left out.
        """
        of = {name: figures_of(self.variant_sums(sums, name)) for name in self.by_variant}
        found: dict[str, Floats] = {}
        for key in HEADLINES:
            if key in of.get(ORIGINAL, ()):
                found[f"{key}_orig"] = of[ORIGINAL][key]
            if all(key in of.get(name, ()) for name in PAPER_VARIANTS):
                found[f"{key}_v1-5"] = np.mean([of[name][key] for name in PAPER_VARIANTS], axis=0)
        first = next(iter(self.by_variant))
        turns = self.variant_sums(sums, first)["turns"]
        start = sums.shape[-1] - len(self.across)
        for i, name in enumerate(self.across):
            found[name] = sums[..., start + i] / np.maximum(turns, 1)
        return found


def units_of(turns: Sequence[Turn], scores: Mapping[str, TurnScores]) -> Units:
    """Add up the counts of turns by dialogue and service.

    Args:
        turns: The turns under the evaluator's wording [turns].
        scores: One system's scores of these turns, by variant.
    """
    places: dict[tuple[str, str], int] = {}
    unit = np.array(
        [places.setdefault((turn.dialogue_id, turn.service), len(places)) for turn in turns],
        dtype=np.int64,
    )
    number = len(places)
    first = np.unique(unit, return_index=True)[1]

    def summed(counts: Mapping[str, Floats]) -> dict[str, Floats]:
        return {name: np.bincount(unit, of, number).astype(float) for name, of in counts.items()}

    return Units(
        [dialogue for dialogue, _ in places],
        [service for _, service in places],
        np.array([turns[i].seen for i in first], dtype=bool),
        np.array([turns[i].seen_domain for i in first], dtype=bool),
        {name: summed(of.counts) for name, of in scores.items()},
        summed(across(scores)),
    )
