"""The official scorer's similarity of two free-form values, computed for many pairs at once.

The rule is fuzzywuzzy 0.18's `token_sort_ratio` with its C backend (python-Levenshtein), which the
scorer of the Schema-Guided Dialogue task uses (Rastogi et al. 2020, arXiv 1909.05855).
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cpdist

from .columns import Floats, Ints

_NOT_WORD = re.compile(r"\W")
# Only these characters are dropped: 'é' (U+00E9) is, 'ł' (U+0142) is not.
_DROPPED = dict.fromkeys(range(0x80, 0x100))


@lru_cache(maxsize=2**16)  # The variants of a schema have most values in common.
def sorted_tokens(text: str) -> str:
    """The text as it is compared: U+0080..U+00FF dropped, words in lower case and sorted."""
    words = _NOT_WORD.sub(" ", text.translate(_DROPPED)).lower()
    return " ".join(sorted(words.split()))


def fuzzy_score(left: str, right: str) -> float:
    """Similarity of two values, as of `fuzzy_scores`: a whole hundredth in [0, 1]."""
    ratio = Indel.normalized_similarity(sorted_tokens(left), sorted_tokens(right))
    return round(100 * ratio) / 100


def fuzzy_scores(vocabulary: Sequence[str], left: Ints, right: Ints) -> Floats:
    """Similarity of the texts of two codes, in whole hundredths; each pair once [pairs]."""
    if not len(left):
        return np.zeros(0)
    pairs, inverse = np.unique(left * len(vocabulary) + right, return_inverse=True)
    left_code, right_code = np.divmod(pairs, len(vocabulary))
    used = np.union1d(left_code, right_code)
    tokens = {code: sorted_tokens(vocabulary[code]) for code in used.tolist()}
    ratio = cpdist(
        [tokens[code] for code in left_code.tolist()],
        [tokens[code] for code in right_code.tolist()],
        scorer=Indel.normalized_similarity,
        dtype=np.float64,
    )
    # `rint` rounds halves to even numbers as Python's `round` does. The ratio of two empty strings
    # is 1, and that of an empty string and another is 0, as it should be.
    return np.asarray((np.rint(100 * ratio) / 100)[inverse], dtype=np.float64)
