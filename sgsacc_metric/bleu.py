"""Corpus BLEU from the counts of single turns, so that it can be computed for any set of turns.

The counts are sacreBLEU's (Post 2018, arXiv 1804.08771). BLEU of a set of turns follows from the
sums of their counts (Papineni et al. 2002): a product of clipped n-gram precisions, and a penalty
for output that is shorter than the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from sgdx_metric.columns import Bools, Floats, safe_divide

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

# N-grams of 1 to 4 tokens are counted.
ORDERS = 4
# sacreBLEU's tokenizers that need no other package; scores by different ones do not compare.
TOKENIZERS = ("13a", "intl", "char", "none")


@dataclass(frozen=True)
class BleuCounts:
    """The n-gram counts of some turns, and BLEU of each turn alone."""

    # Matching n-grams of orders 1 to 4, all n-grams of these orders, the lengths of the turn and
    # of the reference in tokens [turns, 10].
    counts: Floats
    # From 0 to 100, without orders for which the turn is too short (sacreBLEU's effective order)
    # [turns].
    sentence_bleu: Floats


def bleu_counts(
    utterances: Sequence[str],
    references: Sequence[str],
    tokenize: str = TOKENIZERS[0],
    lowercase: bool = False,
) -> BleuCounts:
    """Count the n-grams of utterances [turns], each against its one reference [turns]."""
    scorer = _scorer(tokenize, lowercase)
    pairs = list(zip(utterances, references, strict=True))
    by_pair: dict[tuple[str, str], tuple[list[int], float]] = {}
    for utterance, reference in dict.fromkeys(pairs):
        score = scorer.sentence_score(utterance, [reference])
        counts = [*score.counts, *score.totals, score.sys_len, score.ref_len]
        by_pair[utterance, reference] = counts, score.score
    return BleuCounts(
        np.array([by_pair[pair][0] for pair in pairs], np.float64).reshape(-1, 2 * ORDERS + 2),
        np.array([by_pair[pair][1] for pair in pairs], np.float64),
    )


def corpus_bleu(counts: Floats) -> Floats:
    """Corpus BLEU, from 0 to 100, of sums of `BleuCounts.counts` over sets of turns [..., 10].

    It is `BLEU.corpus_score` of sacreBLEU with its default smoothing `exp`: the n-th order without
    a match counts as if it had 1/2^n matches. It is 0 where nothing matches [...].
    """
    matches, totals = counts[..., :ORDERS], counts[..., ORDERS : 2 * ORDERS]
    length, reference_length = counts[..., 2 * ORDERS], counts[..., 2 * ORDERS + 1]
    # How many orders up to this one have n-grams but no match [..., orders].
    unmatched_orders = np.cumsum((matches == 0) & (totals > 0), axis=-1)
    smoothed = np.where(matches == 0, 0.5**unmatched_orders, matches)
    precision = safe_divide(smoothed, totals, otherwise=0.0)
    is_positive: Bools = np.all(precision > 0, axis=-1) & np.any(matches > 0, axis=-1)
    logs = np.log(np.where(is_positive[..., None], precision, 1.0)).mean(axis=-1)
    # Logarithm of the brevity penalty: 0 for an output at least as long as the reference.
    penalty = np.minimum(0.0, 1.0 - safe_divide(reference_length, length, otherwise=np.inf))
    bleu = 100.0 * np.exp(logs + np.where(is_positive, penalty, 0.0))
    return np.where(is_positive, bleu, 0.0)


def bleu_signature(tokenize: str = TOKENIZERS[0], lowercase: bool = False) -> str:
    """sacreBLEU's own line, such as `nrefs:1|case:mixed|eff:no|tok:13a|...`."""
    from sacrebleu.metrics.bleu import BLEU  # Scores of states do without; it imports lxml.

    scorer = BLEU(tokenize=tokenize, lowercase=lowercase)
    scorer.corpus_score(["a"], [["a"]])  # Only then is the number of references known.
    return str(scorer.get_signature())


@cache
def _scorer(tokenize: str, lowercase: bool) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU  # Likewise.

    return BLEU(tokenize=tokenize, lowercase=lowercase, effective_order=True)
