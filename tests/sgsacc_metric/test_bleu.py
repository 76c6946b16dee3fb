"""BLEU from summed counts is sacreBLEU's, however it splits tokens."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU

from sgsacc_metric.bleu import TOKENIZERS, bleu_counts, bleu_signature, corpus_bleu

WORDS = ["a", "the", "Rome", "rome", "hotel", "$1,200.50", "don't", "stars.", "Ésè", "6:30", "pm?"]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_sums_of_counts_give_sacrebleu(tokenize: str, lowercase: bool) -> None:
    options: dict[str, Any] = {"tokenize": tokenize, "lowercase": lowercase}
    chance = random.Random(1)  # noqa: S311
    corpus, sentence = BLEU(**options), BLEU(**options, effective_order=True)
    for size in (1, 2, 8) * 8:
        said, gold = (
            [" ".join(chance.choices(WORDS, k=chance.randint(least, 9))) for _ in range(size)]
            for least in (0, 1)
        )
        counts, sentence_bleu = bleu_counts(said, gold, **options)
        expected = corpus.corpus_score(said, [gold]).score
        assert corpus_bleu(counts.sum(axis=0)) == pytest.approx(expected, abs=1e-9)
        alone = [sentence.sentence_score(*pair).score for pair in zip(said, zip(gold), strict=True)]
        assert sentence_bleu.tolist() == alone
    kept = f"nrefs:1|case:{'lc' if lowercase else 'mixed'}|eff:no|tok:{tokenize}|smooth:exp"
    assert bleu_signature(**options).rsplit("|version", 1)[0] == kept
