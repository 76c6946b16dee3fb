"""What a run would send, before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .functions import Json
from .oracle import right_call, right_state
from .plan import Plan, Request
from .usage import Usage

ENCODING = "o200k_base"
_PER_MESSAGE = 4  # tokens that mark a message's speaker and its end, about
Counter = Callable[[str], int]


@dataclass(frozen=True)
class Estimate:
    """What is expected of the requests about one wording.

    Attributes:
        name: The name of its predictions.
        requests: How many there are.
        repeated: How many of them are the same as another of the run, which is sent once.
        longest: Tokens of the longest.
        usage: Tokens of all that are sent, and of the right answers to them.
    """

    name: str
    requests: int
    repeated: int
    longest: int
    usage: Usage


def token_counter() -> tuple[Counter, str]:
    """A function that counts the tokens of a text, and what it counts by.

    That is ``tiktoken``, if it is installed and has its table of tokens; else a token is taken to
    have four characters.
    """
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(ENCODING)
    except Exception:  # it may be missing, or fail to get its table in any way
        return lru_cache(1 << 16)(lambda text: -(-len(text) // 4)), "characters / 4"
    return lru_cache(1 << 16)(lambda text: len(encoding.encode_ordinary(text))), ENCODING


def estimate(plan: Plan, count: Counter) -> list[Estimate]:
    """Count the requests of a plan and their tokens, one wording after the other."""
    seen: set[str] = set()
    return [_of_one(plan, name, count, seen) for name in plan.names]


def _of_one(plan: Plan, name: str, count: Counter, seen: set[str]) -> Estimate:
    requests = repeated = longest = sent = made = 0
    gold = plan.gold(name)
    for dialogue in plan.dialogues:
        for request in plan.requests_of(name, dialogue):
            requests += 1
            if request.keys[0] in seen:
                repeated += 1
                continue
            seen.add(request.keys[0])
            tokens = _tokens(request.bodies[0], count)
            longest = max(longest, tokens)
            sent += tokens
            made += count(json.dumps(_right(plan, request, gold), ensure_ascii=False))
    return Estimate(name, requests, repeated, longest, Usage(sent=sent, made=made))


def _tokens(body: Json, count: Counter) -> int:
    """Tokens of a request: of its messages and of its functions or JSON schema."""
    total = sum(count(one["content"]) + _PER_MESSAGE for one in body["messages"])
    for key in ("tools", "response_format"):
        if key in body:
            total += count(json.dumps(body[key], ensure_ascii=False))
    return total


def _right(plan: Plan, request: Request, gold: dict[str, Json]) -> Any:
    rows = [gold[row["frame_id"]] for row in request.rows]
    if plan.settings.task == "calls":
        return right_call(rows, request.services)
    return right_state(rows[0], request.services[0], plan.settings)
