"""A comparison of words in place of a model of entailment: for demonstrations and tests.

It knows no language, so scores that it gives do not measure how faithful a system is.
"""

import re
from collections.abc import Sequence

import numpy as np

from sgdx_metric.columns import Floats

from .nli import Pair, Probabilities

_WORD = re.compile(r"[^\W_]+(?:[.:'][^\W_]+)*")
_FUNCTION_WORDS = set(
    "a an the of for to in on at by with is are was be does do did has have had it its this that"
    " there you your i me my we our they whether or and any what which where when how who else if"
    " can could would will request please not no yes need help"
    .split()
)  # fmt: skip
_NEGATIONS = {"no", "not", "none", "never", "without", "cannot", "isn't", "aren't", "doesn't",
              "don't", "hasn't", "haven't", "can't", "won't", "unfortunately"}  # fmt: skip
# The sentences of GOODBYE and REQ_MORE have no content words; any of these words stands for them.
_GOODBYE = {"good", "great", "nice", "day", "bye", "goodbye", "see", "later", "enjoy", "farewell"}
_MORE = {"else", "anything", "more", "another", "further"}


class LexicalNli:
    """Entailment by words: the share of a sentence's content words that the premise has."""

    # Of `<something> is <value>` only the value's words count, and a `Yes.` or `No.` has to agree
    # with whether the premise negates something.
    name = "lexical (no model)"

    def __call__(self, pairs: Sequence[Pair]) -> Floats:
        """The probabilities of entailment, neutral and contradiction [pairs, 3]."""
        return np.array([_probabilities(*pair) for pair in pairs], np.float64).reshape(-1, 3)


def _probabilities(premise: str, hypothesis: str) -> Probabilities:
    premise_words, words = set(_words(premise)), set(_words(hypothesis))
    for act_words in (_GOODBYE, _MORE):
        if words & act_words and words <= act_words | _FUNCTION_WORDS:
            return (0.8, 0.15, 0.05) if premise_words & act_words else (0.1, 0.8, 0.1)
    content = [word for word in _words(_stated_value(hypothesis)) if word not in _FUNCTION_WORDS]
    share = sum(word in premise_words for word in content) / len(content) if content else 0.0
    if hypothesis.endswith(("? Yes.", "? No.")) and share >= 0.5:
        agrees = bool(_NEGATIONS & premise_words) == hypothesis.endswith("No.")
        return (0.96, 0.03, 0.01) if agrees else (0.1, 0.2, 0.7)
    return 0.05 + 0.9 * share**2, 0.9 - 0.85 * share**2, 0.05 - 0.05 * share**2


def _stated_value(hypothesis: str) -> str:
    """The value that a sentence states, or the whole sentence where it states none."""
    text = re.sub(r"\? (Yes|No)\.$", "", hypothesis)
    value = re.search(r".*\b(?:is|are) (?!not\b)(.+)", text)
    return value.group(1) if value and text == hypothesis else text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
