"""BLEU from summed counts is sacreBLEU's, however it splits tokens."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU

from sgsacc_metric.bleu import TOKENIZERS, bleu_counts, bleu_signature, corpus_bleu

WORDS = ["a", "the", "Rome", "rome", "hotel", "$1,200.50", "don't", "stars.", "Ésè", "6:30", "pm?"]


def sentences(chance: random.Random, count: int, least: int = 0) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(least, 9))) for _ in range(count)]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_sums_of_counts_give_sacrebleu(tokenize: str, lowercase: bool) -> None:
    options: dict[str, Any] = {"tokenize": tokenize, "lowercase": lowercase}
    chance = random.Random(1)  # noqa: S311
    for size in (1, 2, 8):
        for _ in range(8):
            said, gold = sentences(chance, size), sentences(chance, size, least=1)
            expected = BLEU(**options).corpus_score(said, [gold]).score
            counts, sentence_bleu = bleu_counts(said, gold, **options)
            assert corpus_bleu(counts.sum(axis=0)) == pytest.approx(expected, abs=1e-9)
            for i, sentence in enumerate(sentence_bleu):
                scorer = BLEU(**options, effective_order=True)
                assert sentence == scorer.sentence_score(said[i], [gold[i]]).score


def test_signatures_are_those_of_the_library() -> None:
    kept = [
        bleu_signature(*options).rsplit("|version", 1)[0]
        for options in (("13a", False), ("13a", True), ("intl", False))
    ]
    assert kept == [
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp",
        "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp",
        "nrefs:1|case:mixed|eff:no|tok:intl|smooth:exp",
    ]
