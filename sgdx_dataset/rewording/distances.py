"""Distances between paraphrases and the original, by which the variants of SGD-X are sorted."""

from __future__ import annotations

import re
from functools import cache

from rapidfuzz.distance import Levenshtein

from ..io.extras import require

# The determiners. With these stop words, 419 of the 498 released descriptions are in order from v1
# to v5; with NLTK's list of stop words 163 are, and without stop words 262. So the paper's list
# cannot have been a long one.
STOP_WORDS = frozenset("a an the this that these those what which".split())


def name_distance(original: str, name: str) -> int:
    """Levenshtein distance: insertions, deletions and substitutions of characters."""
    # All 453 names of the released v1..v5 are in this order, and not in that of the normalised
    # distance that the paper's Table 1 reports.
    return int(Levenshtein.distance(original, name))


def description_distance(original: str, description: str) -> float:
    """Jaccard distance of the sets of lemmatised words that are no stop words, in [0, 1]."""
    first, second = _words(original), _words(description)
    union = first | second
    return 1 - len(first & second) / len(union) if union else 0.0


@cache
def _words(text: str) -> frozenset[str]:
    lemmatize = require("simplemma").lemmatize
    words = re.findall(r"\w+", text.lower())
    return frozenset(lemmatize(word, lang="en").lower() for word in words) - STOP_WORDS
