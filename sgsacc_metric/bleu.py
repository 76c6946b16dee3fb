"""Corpus BLEU of any set of turns, from sacreBLEU's counts of single ones.

BLEU of a set follows from the sums of its turns' counts (Papineni et al. 2002), which a resample of
dialogues weighs. The counts are sacreBLEU's (Post 2018, arXiv 1804.08771).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgdx_metric.columns import Floats, safe_divide

# sacreBLEU's tokenizers that need no other package; scores by different ones do not compare.
TOKENIZERS = ("13a", "intl", "char", "none")


def bleu_counts(
    utterances: Sequence[str],
    references: Sequence[str],
    tokenize: str = TOKENIZERS[0],
    lowercase: bool = False,
) -> tuple[Floats, Floats]:
    """Count the n-grams of utterances [turns], each against its one reference [turns].

    Returns the matching n-grams of orders 1 to 4, all n-grams of these orders, and the lengths of
    both in tokens [turns, 10]; and BLEU of each turn alone, from 0 to 100 and without orders for
    which the turn is too short (sacreBLEU's effective order) [turns].
    """
    from sacrebleu.metrics.bleu import BLEU  # Scores of states do without; it imports lxml.

    scorer = BLEU(tokenize=tokenize, lowercase=lowercase, effective_order=True)
    scores = [scorer.sentence_score(u, [r]) for u, r in zip(utterances, references, strict=True)]
    counts = [[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in scores]
    of_turns = np.array(counts, np.float64).reshape(-1, 10)
    return of_turns, np.array([s.score for s in scores], np.float64)


def corpus_bleu(counts: Floats) -> Floats:
    """Corpus BLEU, from 0 to 100, of sums of `bleu_counts` over sets of turns [10, ...].

    It is `BLEU.corpus_score` of sacreBLEU with its default smoothing `exp`: the n-th order without
    a match counts as if it had 1/2^n matches. It is 0 where nothing matches [...].
    """
    log_precision: Floats = np.zeros(counts.shape[1:])
    is_positive = np.any(counts[:4] > 0, axis=0)
    smoothing: Floats = np.ones(counts.shape[1:])  # halved at each order that has no match
    for matches, total in zip(counts[:4], counts[4:8]):
        smoothing = np.where((matches == 0) & (total > 0), smoothing / 2, smoothing)
        precision = safe_divide(np.where(matches == 0, smoothing, matches), total, otherwise=0.0)
        is_positive &= precision > 0
        log_precision += np.log(precision, out=np.zeros_like(precision), where=precision > 0) / 4
    # The logarithm of the brevity penalty: 0 for an output at least as long as the reference.
    penalty = np.minimum(0.0, 1.0 - safe_divide(counts[9], counts[8], otherwise=np.inf))
    return np.where(
        is_positive, 100.0 * np.exp(log_precision + np.where(is_positive, penalty, 0)), 0.0
    )


def bleu_signature(tokenize: str = TOKENIZERS[0], lowercase: bool = False) -> str:
    """sacreBLEU's own line, such as `nrefs:1|case:mixed|eff:no|tok:13a|...`."""
    from sacrebleu.metrics.bleu import BLEU  # Likewise.

    scorer = BLEU(tokenize=tokenize, lowercase=lowercase)
    scorer.corpus_score(["a"], [["a"]])  # Only then is the number of references known.
    return str(scorer.get_signature())
