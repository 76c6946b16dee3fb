"""Corpus BLEU from the counts of single turns, so that it can be had for any set of turns.

The counts are sacreBLEU's (Post 2018, arXiv 1804.08771). BLEU of a set of turns follows from the
sums of their counts (Papineni et al. 2002): a product of clipped n-gram precisions, and a penalty
for what is too short.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from sgdx_metric.columns import Bools, Floats, over

ORDERS = 4
# Four conventions are in use; figures of different ones do not compare. The first is the headline.
CONVENTIONS: dict[str, dict[str, Any]] = {
    "13a": {"tokenize": "13a", "lowercase": False},
    "13a-lc": {"tokenize": "13a", "lowercase": True},
    "intl": {"tokenize": "intl", "lowercase": False},
    "none": {"tokenize": "none", "lowercase": False},
}
HEADLINE = "13a"


@dataclass(frozen=True)
class Counts:
    """What BLEU needs to know of some turns.

    Attributes:
        counts: For each turn its matching n-grams of orders 1 to 4, all its n-grams of these
            orders, its length and that of the reference, both in tokens [turns, 10].
        sentence: BLEU of each turn alone, from 0 to 100, in which orders that the turn is too
            short for do not count (sacreBLEU's effective order) [turns].
    """

    counts: Floats
    sentence: Floats


def bleu_counts(
    utterances: Sequence[str], references: Sequence[str], convention: str = HEADLINE
) -> Counts:
    """Count the n-grams of utterances, each against its one reference.

    Args:
        utterances: What was said [turns].
        references: What should have been said [turns].
        convention: One of CONVENTIONS.
    """
    scorer = _scorer(convention)
    found: dict[tuple[str, str], tuple[list[int], float]] = {}
    pairs = list(zip(utterances, references, strict=True))
    for utterance, reference in pairs:
        if (utterance, reference) not in found:
            score = scorer.sentence_score(utterance, [reference])
            counts = [*score.counts, *score.totals, score.sys_len, score.ref_len]
            found[utterance, reference] = counts, score.score
    return Counts(
        np.array([found[pair][0] for pair in pairs], dtype=np.float64).reshape(-1, 2 * ORDERS + 2),
        np.array([found[pair][1] for pair in pairs], dtype=np.float64),
    )


def corpus_bleu(counts: Floats) -> Floats:
    """Corpus BLEU, from 0 to 100, of sets of turns.

    It is `BLEU.corpus_score` of sacreBLEU with its default smoothing (`exp`: an order without a
    match has, instead of 0, half the matches of the order without a match before it, from 1/2 on).

    Args:
        counts: The sums of `Counts.counts` over each set [..., 10].

    Returns:
        BLEU [...]; 0 where nothing matches.
    """
    match, total = counts[..., :ORDERS], counts[..., ORDERS : 2 * ORDERS]
    length, wanted = counts[..., 2 * ORDERS], counts[..., 2 * ORDERS + 1]
    nothing = np.cumsum((match == 0) & (total > 0), axis=-1)
    matched = np.where(match == 0, 0.5**nothing, match)
    precision = over(matched, total, otherwise=0.0)
    some: Bools = np.all(precision > 0, axis=-1) & np.any(match > 0, axis=-1)
    logs = np.log(np.where(some[..., None], precision, 1.0)).mean(axis=-1)
    penalty = np.minimum(0.0, 1.0 - over(wanted, length, otherwise=np.inf))
    return np.where(some, 100.0 * np.exp(logs + np.where(some, penalty, 0.0)), 0.0)


def bleu_signature(convention: str = HEADLINE) -> str:
    """sacreBLEU's own line on a convention, such as `nrefs:1|case:mixed|eff:no|tok:13a|...`."""
    scorer = BLEU(**CONVENTIONS[convention])
    scorer.corpus_score(["a"], [["a"]])  # Only then is the number of references known.
    return str(scorer.get_signature())


@cache
def _scorer(convention: str) -> BLEU:
    return BLEU(**CONVENTIONS[convention], effective_order=True)
