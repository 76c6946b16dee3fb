"""Tokens that answers report, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from sgdx_dataset.io.errors import SgdxError

# Tokens of requests, how many of these the server had cached; tokens of answers, how many of these
# were the model's reasoning.
KINDS = ("in", "cached", "out", "reasoning")


class Price(msgspec.Struct, frozen=True):
    """Prices of a million tokens, in any currency."""

    sent: float  # of requests
    cached: float  # of requests, where the server had them cached
    made: float  # of answers

    def cost(self, tokens: Mapping[str, int]) -> float:
        """What tokens cost, which are counted by ``KINDS``."""
        cached, fresh = tokens.get("cached", 0), tokens.get("in", 0) - tokens.get("cached", 0)
        made = tokens.get("out", 0)
        return (fresh * self.sent + cached * self.cached + made * self.made) / 1e6


def read_price(text: str) -> Price:
    """Read ``IN,CACHED,OUT``, such as ``2.5,1.25,10``."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(0 <= number < float("inf") for number in numbers):
        raise SgdxError(
            f"--price {text}: expected IN,CACHED,OUT, three numbers such as 2.5,1.25,10"
        )
    return Price(*numbers)


def tokens_of(answer: Any) -> Counter[str]:
    """The tokens that an answer's body reports, by ``KINDS``; 0 for what it does not report."""
    counts = dict.fromkeys(KINDS, 0)
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    for kind, name, details, part in (
        ("in", "prompt_tokens", "prompt_tokens_details", "cached_tokens"),
        ("out", "completion_tokens", "completion_tokens_details", "reasoning_tokens"),
    ):
        known = usage if isinstance(usage, Mapping) else {}
        inner = known.get(details)
        numbers = known.get(name), inner.get(part) if isinstance(inner, Mapping) else None
        whole, share = (n if isinstance(n, int) and 0 <= n < 2**53 else 0 for n in numbers)
        counts[kind], counts["cached" if kind == "in" else "reasoning"] = whole, min(share, whole)
    return Counter(counts)
