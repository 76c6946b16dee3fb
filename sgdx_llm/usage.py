"""Tokens that answers report, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import msgspec

from sgdx_dataset import SgdxError


class Price(msgspec.Struct, frozen=True):
    """Prices of tokens, in any currency."""

    sent: float  # the price of a million tokens of requests
    cached: float  # the price of a million of those tokens where the server had them cached
    made: float  # the price of a million tokens of answers


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


@dataclass(frozen=True)
class Usage:
    """Numbers of tokens."""

    sent: int = 0  # tokens of requests
    cached: int = 0  # how many of those the server had cached
    made: int = 0  # tokens of answers
    reasoning: int = 0  # how many of those were the model's reasoning

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(sum, zip(astuple(self), astuple(other))))

    def cost(self, price: Price) -> float:
        """What the tokens cost, in the currency of the price."""
        fresh = self.sent - self.cached
        return (fresh * price.sent + self.cached * price.cached + self.made * price.made) / 1e6

    def facts(self) -> dict[str, int]:
        """The numbers under the names that the header of a prediction file has for them."""
        return {
            "in": self.sent,
            "cached": self.cached,
            "out": self.made,
            "reasoning": self.reasoning,
        }


def usage_of(answer: Any) -> Usage:
    """The numbers of tokens that an answer's body reports; 0 for those that it does not report."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    sent, made = _number(usage, "prompt_tokens"), _number(usage, "completion_tokens")
    cached = _number(_part(usage, "prompt_tokens_details"), "cached_tokens")
    reasoning = _number(_part(usage, "completion_tokens_details"), "reasoning_tokens")
    return Usage(sent, min(cached, sent), made, min(reasoning, made))


def _part(mapping: Any, name: str) -> Any:
    return mapping.get(name) if isinstance(mapping, Mapping) else None


def _number(mapping: Any, name: str) -> int:
    number = _part(mapping, name)
    return number if isinstance(number, int) and 0 <= number < 2**53 else 0
