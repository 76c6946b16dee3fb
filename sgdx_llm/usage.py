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


# The fields of ``usage`` that report tokens, of chat completions, Responses and Anthropic, and
# Bedrock; where several are there, the largest is right. What a cache had is beside Anthropic's.
_FIELDS = {
    "in": ("prompt_tokens", "input_tokens", "inputTokens"),
    "out": ("completion_tokens", "output_tokens", "outputTokens"),
}
_TOTAL, _BESIDE = ("total_tokens", "totalTokens"), (
    "cache_read_input_tokens", "cache_creation_input_tokens",
)  # fmt: skip


def tokens_of(answer: Any) -> Counter[str]:
    """The tokens that an answer's body reports, by ``KINDS``; 0 for what it does not report.

    Some servers leave a model's thinking out of an answer's tokens, but not out of the total.
    """
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    known = usage if isinstance(usage, Mapping) else {}

    def number(record: Any, *keys: str) -> int:
        found = [record.get(key) for key in keys] if isinstance(record, Mapping) else []
        return max((n for n in found if type(n) is int and 0 <= n < 2**53), default=0)

    details = [
        number(known.get(f"{name}_details"), part)
        for part, name in (
            ("cached_tokens", "prompt_tokens"),
            ("cached_tokens", "input_tokens"),
            ("reasoning_tokens", "completion_tokens"),
            ("reasoning_tokens", "output_tokens"),
        )
    ]
    sent = number(known, *_FIELDS["in"]) + sum(number(known, key) for key in _BESIDE)
    made = max(number(known, *_FIELDS["out"]), number(known, *_TOTAL) - sent)
    cached = max(*details[:2], number(known, _BESIDE[0]))
    return Counter(
        {"in": sent, "cached": min(cached, sent), "out": made}
        | {"reasoning": min(max(details[2:]), made)}
    )
